/**
 * The arithmetic of fma-arithmetic.ts for primes 2^(51 n) - c with a small c, such as 2^255 - 19: what lies above the
 * highest limb comes back below times c, so that n^2 products of limbs and n by c do what Montgomery's reduction takes
 * 2 n^2 for. No Montgomery form.
 *
 * Limbs may exceed half a limb by a little: all carries of a result are taken at once, each from what its neighbour had
 * before.
 */
import { at, c, FmaArithmetic, HALF_LIMB, INVERSE_LIMB, LIMB_BITS, must } from "./fma-arithmetic.js";
import { f64x2 } from "../wasm/wasm-ops.js";
import type { BoundedLimb, Column, FmaElement, FmaFactor } from "./fma-arithmetic.js";
import type { Product } from "./field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";

/**
 * Larger ones would carry more than the bounds below have room for; the emitter would refuse to write such products.
 */
const FOLD_MAX = 1n << 10n;
const LIMB_MAX = HALF_LIMB + (1n << 12n);

export class PseudoMersenneArithmetic extends FmaArithmetic {
  /** c. */
  private readonly fold: bigint;

  constructor(prime: bigint) {
    super(prime, { limbCount: prime.toString(2).length / LIMB_BITS, radix: 1n, limbMax: LIMB_MAX });
    this.fold = (1n << BigInt(LIMB_BITS * this.limbCount)) - prime;
  }

  /** Whether the prime is of the form. */
  static fits(prime: bigint): boolean {
    const bits = prime.toString(2).length;
    return bits % LIMB_BITS === 0 && (1n << BigInt(bits)) - prime <= FOLD_MAX;
  }

  /** Modulo the prime: the carry of the highest limb joins the lowest. */
  override normalize(f: FunctionBuilder, a: FmaElement): FmaElement {
    const limbs = this.carried(f, a.limbs, true);
    if (limbs.some(({ max }) => max > LIMB_MAX)) throw new Error("the carries of a value are too large for one round");
    return this.stored(
      limbs.map(({ local }) => local),
      this.reducedMax,
    );
  }

  override sumOfProducts(f: FunctionBuilder, products: readonly Product<FmaFactor>[]): FmaElement {
    const n = this.limbCount;
    const upper = this.columns(f, products, { from: n, to: 2 * n - 1 });
    const above = this.carried(f, [...upper.limbs, upper.carry], false);
    const lower = this.columns(f, products, { from: 0, to: n, folded: above });
    const [first, second, ...others] = lower.limbs;
    const lowest = this.foldInto(f, { low: must(first), chains: [], carries: [] }, lower.carry);
    this.closeChains(f, lowest);
    const next: Column = { low: must(second), chains: [], carries: [] };
    for (const carry of lowest.carries) this.addCarry(f, next, carry);
    return this.normalize(f, { limbs: [must(lowest.low), must(next.low), ...others], max: this.reducedMax });
  }

  override square(f: FunctionBuilder, a: FmaElement): FmaElement {
    return this.sumOfProducts(f, [{ a, b: a }]);
  }

  /**
   * Sums of products by column, with what the column below carried, and what the last one carries on; `folded` comes
   * back times c.
   */
  private columns(
    f: FunctionBuilder,
    products: readonly Product<FmaFactor>[],
    { from, to, folded }: { readonly from: number; readonly to: number; readonly folded?: readonly BoundedLimb[] },
  ): { readonly limbs: BoundedLimb[]; readonly carry: BoundedLimb } {
    const n = this.limbCount;
    const limbs: BoundedLimb[] = [];
    let incoming: Column["carries"] = [];
    for (let k = from; k < to; k += 1) {
      const column: Column = { low: undefined, chains: [], carries: [] };
      for (const { a, b, negate } of products) {
        for (let i = Math.max(0, k - n + 1); i <= Math.min(k, n - 1); i += 1)
          this.multiplyInto(f, column, at(a.limbs, i), at(b.limbs, k - i), negate === true);
      }
      if (folded !== undefined) this.foldInto(f, column, at(folded, k));
      this.closeChains(f, column);
      for (const carry of incoming) this.addCarry(f, column, carry);
      limbs.push(must(column.low));
      incoming = column.carries;
    }
    return { limbs, carry: this.sumOfCarries(f, incoming) };
  }

  private foldInto(f: FunctionBuilder, column: Column, limb: BoundedLimb): Column {
    this.multiplyInto(f, column, limb, { local: c(f, Number(this.fold)), max: this.fold }, false);
    return column;
  }

  /** Takes each limb's carry to the next; that of the highest to the lowest, times c, or nowhere: it stays. */
  private carried(f: FunctionBuilder, limbs: readonly BoundedLimb[], wraps: boolean): BoundedLimb[] {
    const parts = limbs.map((limb, i) =>
      wraps || i < limbs.length - 1 ? this.split(f, limb) : ([limb, undefined] as const),
    );
    return parts.map(([low], i) => {
      const [, carry] = at(parts, i === 0 ? limbs.length - 1 : i - 1);
      if (carry === undefined) return low;
      const weight = i === 0 ? this.fold : 1n;
      const max = low.max + (carry.max >> BigInt(LIMB_BITS)) * weight;
      return this.exact({
        local: f.let(f64x2.relaxedMadd(carry.local, c(f, INVERSE_LIMB * Number(weight)), low.local)),
        max,
      });
    });
  }
}
