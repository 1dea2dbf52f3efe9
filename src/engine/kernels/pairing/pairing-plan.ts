/**
 * How each curve's pairing is computed: the steps of the Miller loop over a point Q of the twist, the test of
 * membership that its end gives for nothing, and the twist on which it runs.
 *
 * Emitted code knows one kind of twist: the D-type y^2 = x^3 + b / xi for the xi = n + u over which Fq12 is built. The
 * M-type twist y^2 = x^3 + b xi' is a D-type one as well, over any n + u that is xi'^-1 times a sixth power k^6: (x, y)
 * goes to (x / k^2, y / k^3). So a point is moved there once, and no step has a second form. The value is the same
 * element of Fq12, written in another basis.
 *
 * - BN curves (F. Vercauteren, "Optimal pairings", eprint 2008/096): the loop ends at T = [6x + 2]Q + psi(Q) - psi^2(Q)
 *   for the curve's seed x, and Q has order r exactly when T = -psi^3(Q). For psi satisfies psi^2 - t psi + q = 0, so
 *   the order of a Q with that property divides the norm of 6x + 2 + z - z^2 + z^3 in Z[z] / (z^2 - t z + q), whose
 *   greatest common divisor with the order of the twist is r. The method is that of Y. Dai, K. Lin, C.-A. Zhao, Z.
 *   Zhou, eprint 2022/348.
 * - BLS12 curves (P. Barreto, B. Lynn, M. Scott, eprint 2002/088): the loop ends at T = [|x|]Q, and Q has order r
 *   exactly when psi(Q) = [x]Q. By the same equation the order of such a Q divides x^2 - t x + q = q - x = h r with the
 *   cofactor h of G1, which has no divisor in common with the twist's (M. Scott, eprint 2021/1130).
 */
import { BLS12_381 } from "../../curves/bls12-381.js";
import { BN254 } from "../../curves/bn254.js";
import type { CurveName, CurveParameters } from "../../curves/curve-parameters.js";
import { multiplyFq2, powerFq2 } from "../../field/prime-field.js";
import type { Fq2 } from "../../field/prime-field.js";

/** A step of the loop on the running point; each gives a line. */
export type Step = "double" | AddedPoint;
/** What a step adds: Q, -Q, psi(Q) or -psi^2(Q). */
export type AddedPoint = "point" | "negative" | "psi" | "minus_psi_2";

export interface PairingPlan {
  readonly curve: CurveParameters;
  /** The n + u over which the kernels build Fq12, and b of the D-type twist over it. */
  readonly nonResidue: Fq2;
  readonly twistB: Fq2;
  /** Factors of x and y that move a point of the curve's twist to that one; undefined where both are the same. */
  readonly move: { readonly x: Fq2; readonly y: Fq2 } | undefined;
  /** The loop, whose first step is a doubling. */
  readonly steps: readonly Step[];
  /** The end of the loop is -psi^k(Q) for points of order r. */
  readonly endPower: 1 | 3;
  /** |x| as signed digits, and their width: odd digits up to 2^(width - 1). */
  readonly seedDigits: readonly number[];
  readonly seedWidth: number;
}

/**
 * BLS12-381 on the twist over 2 + u: 1 / ((2 + u)(1 + u)) is the cube of the first and the square of the second factor.
 */
const BLS12_381_MOVE = {
  nonResidue: { c0: 2n, c1: 1n },
  x: {
    c0: 0x1439a5f7b2f992a4631b029e415aadd89935fa2465200bcb7d93f36b1ad16a50d7821f02def4ebe94cf27ec28ce69d26n,
    c1: 0x11766c57cee74729b2ccdbccdb823331671d72ced1cc6bb6345c3dd041576e9df8b63b4b3dbacce6ca431f0ba36548bcn,
  },
  y: {
    c0: 0x105a1723b154faf3af3e8cb667ac682d064450cb6389bf22bcad44ee0629c04facc75f24b5b3d546f76d1a9c5dd8ab62n,
    c1: 0x133bd76f62bb2df3577a7ca06003e415050460e7670edd6a181b994fe780bfdef29e746be204369838f70d8a765b6ca3n,
  },
} as const;

const plans: Readonly<Record<CurveName, () => PairingPlan>> = { BN254: planOfBn254, BLS12_381: planOfBls12 };

/** Returns the plan of a curve. */
export function pairingPlanOf(curve: CurveParameters): PairingPlan {
  return plans[curve.name]();
}

/**
 * Returns the digits of a positive number to the base 2, the highest first: each is 0 or odd and below 2^(width - 1) in
 * size, and of any `width` neighbours at most one is not 0. Width 2 gives -1, 0 and 1.
 */
export function nonAdjacentForm(value: bigint, width: number): number[] {
  const digits: number[] = [];
  for (let rest = value; rest > 0n; rest >>= 1n) {
    const digit = (rest & 1n) === 0n ? 0 : Number(BigInt.asIntN(width, rest));
    rest -= BigInt(digit);
    digits.push(digit);
  }
  return digits.reverse();
}

function planOfBn254(): PairingPlan {
  const { nonResidue, twistB, seed } = BN254;
  // Odd digits up to 7 take 16 products in all, digits of 1 take 23. A wider table costs as much as it saves.
  const seedWidth = 4;
  return {
    curve: BN254,
    nonResidue,
    twistB,
    move: undefined,
    steps: [...loopSteps(6n * seed + 2n), "psi", "minus_psi_2"],
    endPower: 3,
    seedDigits: nonAdjacentForm(seed, seedWidth),
    seedWidth,
  };
}

function planOfBls12(): PairingPlan {
  const { q, seed, twistB } = BLS12_381;
  const { nonResidue, x, y } = BLS12_381_MOVE;
  // The seed was chosen with six digits that are not 0: no table of odd powers pays.
  const seedWidth = 2;
  return {
    curve: BLS12_381,
    nonResidue,
    twistB: multiplyFq2(twistB, powerFq2(x, 3n, q), q),
    move: { x, y },
    steps: loopSteps(-seed),
    endPower: 1,
    seedDigits: nonAdjacentForm(-seed, seedWidth),
    seedWidth,
  };
}

/** Doublings and additions of a loop of this length, below its highest digit. */
function loopSteps(length: bigint): Step[] {
  return nonAdjacentForm(length, 2)
    .slice(1)
    .flatMap((digit): Step[] => (digit === 0 ? ["double"] : ["double", digit > 0 ? "point" : "negative"]));
}
