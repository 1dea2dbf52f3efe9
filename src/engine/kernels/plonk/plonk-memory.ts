/** The named scalars and points of a PLONK proof in its shared workspace. */
import type { Kernels } from "../kernels.js";
import type { Arena } from "../wasm/arena.js";
import { BLINDING_COUNTS, CHALLENGES, COMMITMENTS, EVALUATIONS } from "./plonk-layout.js";
import type { Challenge, Commitment, Evaluation, PlonkLayout } from "./plonk-layout.js";
import { NamedPoints, NamedScalars } from "./named-memory.js";
import { EXTRA_POWERS } from "./resident-circuit.js";
import { ScalarMemory } from "./scalar-memory.js";

/** Reads and writes what the steps of a proof hand to each other. */
export class PlonkMemory {
  readonly scalars: ScalarMemory;
  readonly challenges: NamedScalars<Challenge>;
  readonly evaluations: NamedScalars<Evaluation>;
  readonly points: NamedPoints<Commitment>;
  readonly #kernels: Kernels;
  readonly #layout: PlonkLayout;

  constructor(kernels: Kernels, layout: PlonkLayout, scratch: Arena) {
    this.scalars = new ScalarMemory(kernels, scratch);
    this.#kernels = kernels;
    this.#layout = layout;
    this.challenges = new NamedScalars(kernels, this.scalars, { names: CHALLENGES, address: layout.challenges });
    this.evaluations = new NamedScalars(kernels, this.scalars, { names: EVALUATIONS, address: layout.evaluations });
    this.points = new NamedPoints(kernels, this.scalars, { names: COMMITMENTS, address: layout.points });
  }

  /** Returns the first `count` public signals. */
  publicSignals(count: number): bigint[] {
    return this.scalars.readIntegers(this.#layout.scalars + this.#kernels.fr.bytes, count);
  }

  /**
   * Returns the coefficients, lowest first, of the polynomial whose product with X^n - 1 is added to a polynomial, or
   * the two scalars that the quotient's parts exchange.
   */
  blinding(name: keyof typeof BLINDING_COUNTS): bigint[] {
    let first = 0;
    for (const [other, count] of Object.entries(BLINDING_COUNTS)) {
      if (other === name) break;
      first += count;
    }
    const { bytes } = this.#kernels.fr;
    return this.scalars.readIntegers(this.#layout.blinding + first * bytes, BLINDING_COUNTS[name]);
  }

  /** Returns the coefficients beyond the domain of the quotient's part 0, 1 or 2. */
  tail(part: number): bigint[] {
    return this.scalars.readIntegers(this.#integer(this.#layout.tails, part * EXTRA_POWERS), EXTRA_POWERS);
  }

  /** Sets the coefficients beyond the domain of one of the quotient's parts. */
  setTail(part: number, values: readonly bigint[]): void {
    this.scalars.writeIntegers(this.#integer(this.#layout.tails, part * EXTRA_POWERS), values);
  }

  #integer(base: number, index: number): number {
    return base + index * this.#kernels.fr.bytes;
  }
}
