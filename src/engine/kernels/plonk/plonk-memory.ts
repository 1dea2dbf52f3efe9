/** The named scalars and points of a PLONK proof in its shared workspace. */
import type { G1Point } from "../../curves/points.js";
import type { Kernels } from "../kernels.js";
import type { Arena } from "../wasm/arena.js";
import { BLINDING_COUNTS, CHALLENGES, COMMITMENTS, EVALUATIONS } from "./plonk-layout.js";
import type { Challenge, Commitment, Evaluation, PlonkLayout } from "./plonk-layout.js";
import { EXTRA_POWERS } from "./plonk-key.js";
import { ScalarMemory } from "./scalar-memory.js";

/** The polynomials that are blinded by a multiple of the vanishing polynomial. */
export type BlindedPolynomial = "a" | "b" | "c" | "z";

/** Reads and writes what the steps of a proof hand to each other. */
export class PlonkMemory {
  readonly scalars: ScalarMemory;
  readonly #kernels: Kernels;
  readonly #layout: PlonkLayout;

  constructor(kernels: Kernels, layout: PlonkLayout, scratch: Arena) {
    this.scalars = new ScalarMemory(kernels, scratch);
    this.#kernels = kernels;
    this.#layout = layout;
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

  /** Returns a challenge that an earlier step has set. */
  challenge(name: Challenge): bigint {
    return this.scalars.readIntegers(this.#integer(this.#layout.challenges, CHALLENGES.indexOf(name)), 1)[0] ?? 0n;
  }

  /** Sets a challenge. */
  setChallenge(name: Challenge, value: bigint): void {
    this.scalars.writeIntegers(this.#integer(this.#layout.challenges, CHALLENGES.indexOf(name)), [value]);
  }

  /** Returns a polynomial's value that an earlier step has set. */
  evaluation(name: Evaluation): bigint {
    return this.scalars.readIntegers(this.#integer(this.#layout.evaluations, EVALUATIONS.indexOf(name)), 1)[0] ?? 0n;
  }

  /** Sets a polynomial's value. */
  setEvaluation(name: Evaluation, value: bigint): void {
    this.scalars.writeIntegers(this.#integer(this.#layout.evaluations, EVALUATIONS.indexOf(name)), [value]);
  }

  /** Returns the coefficients beyond the domain of the quotient's part 0, 1 or 2. */
  tail(part: number): bigint[] {
    return this.scalars.readIntegers(this.#integer(this.#layout.tails, part * EXTRA_POWERS), EXTRA_POWERS);
  }

  /** Sets the coefficients beyond the domain of one of the quotient's parts. */
  setTail(part: number, values: readonly bigint[]): void {
    this.scalars.writeIntegers(this.#integer(this.#layout.tails, part * EXTRA_POWERS), values);
  }

  /** Returns the address of a commitment. */
  pointAddress(name: Commitment): number {
    return this.#layout.points + COMMITMENTS.indexOf(name) * this.#kernels.g1.pointBytes;
  }

  /**
   * Returns a commitment that an earlier step has computed.
   * @throws Error when it is infinity: the setup is degenerate.
   */
  point(name: Commitment): G1Point {
    const point = this.scalars.readPoint(this.pointAddress(name));
    if (point === undefined) throw new Error("a commitment is the point at infinity: the setup is degenerate");
    return point;
  }

  #integer(base: number, index: number): number {
    return base + index * this.#kernels.fr.bytes;
  }
}
