/**
 * Part of the reference (reference-arena.ts): sums of a few multiples (Straus' interleaving with 4-bit windows) and the
 * subgroup test of G2, as verification needs them; batches would not pay there.
 */
import { powerFq2 } from "../field/prime-field.js";
import { writeBigIntLE } from "../field/bytes.js";
import type { ReferenceArena, GroupOperations } from "./reference-arena.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { SCALAR_BYTES } from "./signed-digits.js";

const WINDOW_BITS = 4;
const ENTRIES = 2 ** WINDOW_BITS - 1;

export interface PointerTerm {
  /** Pointer of an affine point, not infinity. */
  readonly point: number;
  /** 32 bytes little-endian. */
  readonly scalar: Uint8Array;
}

/** Writes the sum of scalar_i * point_i as a Jacobian point at the pointer `result`. */
export function sumMultiples(
  arena: ReferenceArena,
  group: GroupOperations,
  terms: readonly PointerTerm[],
  result: number,
): void {
  const { jacobianBytes, add, addMixed, double, toJacobian, zero } = group;
  arena.scoped(() => {
    const tables = terms.map(({ point }) => {
      const table = arena.alloc(ENTRIES * jacobianBytes);
      toJacobian(point, table);
      for (let i = 1; i < ENTRIES; i += 1) addMixed(table + (i - 1) * jacobianBytes, point, table + i * jacobianBytes);
      return table;
    });
    zero(result);
    for (let nibble = 2 * SCALAR_BYTES - 1; nibble >= 0; nibble -= 1) {
      for (let i = 0; i < WINDOW_BITS; i += 1) double(result, result);
      for (let k = 0; k < tables.length; k += 1) {
        const pair = (terms[k] as PointerTerm).scalar[nibble >> 1] as number;
        const digit = (nibble & 1) === 1 ? pair >> 4 : pair & 15;
        if (digit !== 0) add(result, (tables[k] as number) + (digit - 1) * jacobianBytes, result);
      }
    }
  });
}

/** Tells whether a multiple of an affine point, given by its pointer, is infinity. */
export function hasOrder(arena: ReferenceArena, group: GroupOperations, point: number, multiple: bigint): boolean {
  const bytes = new Uint8Array(Math.ceil(multiple.toString(16).length / 2));
  writeBigIntLE(multiple, bytes, 0, bytes.length);
  return arena.scoped(() => {
    const product = arena.alloc(group.jacobianBytes);
    group.timesScalarAffine(point, arena.put(bytes), bytes.length, product);
    return group.isZero(product) === 1;
  });
}

/**
 * Membership test for the subgroup of order r of the twist. On BLS12 curves it multiplies by r. On BN curves it tests
 * whether [x+1]Q + psi([x]Q) + psi^2([x]Q) = psi^3([2x]Q), where psi is the untwist-Frobenius-twist map and x the
 * curve's seed (Dai, Lin, Zhao, Zhou, "Fast subgroup membership testings for G1, G2 and GT on pairing-friendly curves",
 * eprint 2022/348, section 5), for a quarter of that.
 */
export class SubgroupTest {
  readonly #curve: CurveParameters;
  readonly #seedBytes: Uint8Array;
  readonly #seedLength: number;
  readonly #factors: { readonly x: Uint8Array; readonly y: Uint8Array };

  constructor(curve: CurveParameters) {
    this.#curve = curve;
    const seed = curve.seed < 0n ? -curve.seed : curve.seed;
    this.#seedLength = Math.ceil(seed.toString(2).length / 8);
    this.#seedBytes = new Uint8Array(this.#seedLength);
    writeBigIntLE(seed, this.#seedBytes, 0, this.#seedLength);
    const encode = (exponent: bigint): Uint8Array => {
      const factor = powerFq2(curve.nonResidue, exponent, curve.q);
      const bytes = new Uint8Array(2 * curve.fqBytes);
      const radix = 1n << BigInt(8 * curve.fqBytes);
      writeBigIntLE((factor.c0 * radix) % curve.q, bytes, 0, curve.fqBytes);
      writeBigIntLE((factor.c1 * radix) % curve.q, bytes, curve.fqBytes, curve.fqBytes);
      return bytes;
    };
    this.#factors = { x: encode((curve.q - 1n) / 3n), y: encode((curve.q - 1n) / 2n) };
  }

  /**
   * Tells whether a point is in the subgroup.
   * @param point pointer of an affine point on the twist, not infinity.
   */
  isMember(arena: ReferenceArena, point: number): boolean {
    if (this.#curve.family === "BLS12") return hasOrder(arena, arena.g2, point, this.#curve.r);
    const { add, addMixed, double, eq, field, jacobianBytes, timesScalarAffine } = arena.g2;
    return arena.scoped(() => {
      const factors = { x: arena.put(this.#factors.x), y: arena.put(this.#factors.y) };
      const [multiple, image, sum] = [
        arena.alloc(jacobianBytes),
        arena.alloc(jacobianBytes),
        arena.alloc(jacobianBytes),
      ];
      const applyPsi = (target: number): void => {
        const [x, y, z] = [target, target + field.bytes, target + 2 * field.bytes];
        for (const coordinate of [x, y, z]) arena.conjugateFq2(coordinate, coordinate);
        field.mul(x, factors.x, x);
        field.mul(y, factors.y, y);
      };
      timesScalarAffine(point, arena.put(this.#seedBytes), this.#seedLength, multiple);
      addMixed(multiple, point, sum);
      arena.bytes.copyWithin(image, multiple, multiple + jacobianBytes);
      applyPsi(image);
      add(sum, image, sum);
      applyPsi(image);
      add(sum, image, sum);
      double(multiple, multiple);
      for (let i = 0; i < 3; i += 1) applyPsi(multiple);
      return eq(sum, multiple) === 1;
    });
  }
}
