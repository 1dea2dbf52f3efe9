/** The quotient polynomial of a PLONK proof: on four cosets, then joined and cut into three parts. */
import { QUOTIENT_VECTORS } from "./constraints.js";
import { cosetConstants, joinResidues, residueOf, rotated, valuesOnCoset } from "./coset-values.js";
import type { PlonkContext } from "./plonk-context.js";
import { EXTRA_POWERS, blocksOf } from "./resident-circuit.js";

/** The tasks of the quotient's steps. */
export class PlonkQuotient {
  readonly #context: PlonkContext;

  constructor(context: PlonkContext) {
    this.#context = context;
  }

  /** Computes the residue of the quotient modulo X^n minus the coset's constant. */
  computeOnCoset(number: number): void {
    const { kernels, key, layout, memory, scratch } = this.#context;
    const coset = key.cosets[number];
    const target = layout.quotient[number];
    if (coset === undefined || target === undefined) throw new RangeError("there is no such coset");
    const { coefficients } = layout;
    const blinded = (name: "a" | "b" | "c" | "z"): number =>
      valuesOnCoset(this.#context, coset, coefficients[name], memory.blinding(name));
    scratch.scoped(() => {
      const values = { a: blinded("a"), b: blinded("b"), c: blinded("c"), z: blinded("z") };
      const places: Readonly<Record<(typeof QUOTIENT_VECTORS)[number], number>> = {
        ...values,
        zOmega: rotated(this.#context, values.z),
        publicInputs: valuesOnCoset(this.#context, coset, coefficients.publicInputs),
        ...coset.fixed,
        firstLagrange: coset.firstLagrange,
      };
      const vectors = scratch.take(4 * QUOTIENT_VECTORS.length);
      kernels.words(vectors, QUOTIENT_VECTORS.length).set(QUOTIENT_VECTORS.map((name) => places[name]));
      const { constants, identity } = cosetConstants(this.#context, coset, {
        beta: memory.challenges.get("beta"),
        gamma: memory.challenges.get("gamma"),
        alpha: memory.challenges.get("alpha"),
      });
      kernels.call("fr_plonk_quotient", target, vectors, blocksOf(this.#context), constants, identity);
    });
    residueOf(this.#context, coset, target);
  }

  /** Joins one task's share of the residues into the parts of the quotient. */
  join(task: number): void {
    joinResidues(this.#context, this.#context.layout.quotient, task);
  }

  /**
   * Blinds the three parts, which take the fourth's few coefficients, so that their commitments say nothing about the
   * witness and their sum stays, and writes the scalars of the commitments.
   */
  split(): void {
    const { kernels, key, layout, memory } = this.#context;
    const { bytes } = kernels.fr;
    const size = 2 ** key.domainPower;
    const places = kernels.words(key.places, EXTRA_POWERS);
    const [first = 0n, second = 0n] = memory.blinding("t");
    const beyond = [...places].map((place) => memory.scalars.readAt(layout.quotient[3], place));
    const zeros = Array.from({ length: EXTRA_POWERS - 1 }, () => 0n);
    memory.setTail(0, [first, ...zeros]);
    memory.setTail(1, [second, ...zeros]);
    memory.setTail(2, beyond);
    memory.scalars.addAt(layout.quotient[1], places[0] ?? 0, -first);
    memory.scalars.addAt(layout.quotient[2], places[0] ?? 0, -second);
    for (const [part, sum] of layout.sums.entries()) {
      kernels.call("fr_export_blocks", sum, layout.quotient[part] ?? 0, blocksOf(this.#context));
      memory.scalars.writeIntegers(sum + size * bytes, memory.tail(part));
    }
  }
}
