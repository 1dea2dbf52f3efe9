/**
 * The roots of BN254's scalar field that FFLONK opens polynomials at. The challenge xi is the 24th power of a seed, so
 * that its 8th, 4th and 3rd roots are the powers 3, 6 and 8 of the seed, times roots of unity. The numbers are those of
 * snarkjs' files; any others of the same orders would give the same openings.
 */
import { BN254 } from "../curves/bn254.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import { power } from "../field/prime-field.js";

/** A cube root of unity: 31624^((r - 1) / 18). */
const THIRD_ROOT = 21888242871839275217838484774961031246154997185409878258781734729429964517155n;
/** A cube root of the root of unity of order 2^28. */
const CUBE_ROOT = 467799165886069610036046866799264026481344299079011762026774533774345988080n;

/** Roots of unity of orders 3, 4, 8 and of the domain, and a cube root of the domain's. */
export interface FflonkRoots {
  readonly w: bigint;
  readonly w3: bigint;
  readonly w4: bigint;
  readonly w8: bigint;
  readonly wr: bigint;
}

/** Returns the roots for a domain of 2^domainPower gates. */
export function fflonkRoots(domainPower: number): FflonkRoots {
  return {
    w: rootOfUnity(BN254, domainPower),
    w3: THIRD_ROOT,
    w4: rootOfUnity(BN254, 2),
    w8: rootOfUnity(BN254, 3),
    wr: power(CUBE_ROOT, 2n ** BigInt(BN254.twoAdicity - domainPower), BN254.r),
  };
}
