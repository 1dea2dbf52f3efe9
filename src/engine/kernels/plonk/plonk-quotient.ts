/** The quotient polynomial of a PLONK proof: on four cosets, then joined and cut into three parts. */
import { QUOTIENT_VECTORS } from "./constraints.js";
import { cosetConstants, cosetIdentity, joinResidues, residueOf, rotated, valuesOnCoset } from "./coset-values.js";
import type { PlonkContext } from "./plonk-context.js";
import { EXTRA_POWERS, blocksOf } from "./resident-circuit.js";
import type { VectorPlace } from "./resident-circuit.js";
import { forEachPiece } from "./sections.js";
import type { Piece } from "./sections.js";

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
      const places: Readonly<Record<(typeof QUOTIENT_VECTORS)[number], VectorPlace>> = {
        ...values,
        zOmega: rotated(this.#context, values.z),
        publicInputs: valuesOnCoset(this.#context, coset, coefficients.publicInputs),
        ...coset.fixed,
        firstLagrange: coset.firstLagrange,
      };
      const vectors = scratch.take(4 * QUOTIENT_VECTORS.length);
      const blockBytes = kernels.fr.lanes * kernels.fr.elementBytes;
      const beta = memory.challenges.get("beta");
      const { constants } = cosetConstants(this.#context, coset, {
        beta,
        gamma: memory.challenges.get("gamma"),
        alpha: memory.challenges.get("alpha"),
      });
      let first: bigint | undefined;
      forEachPiece(
        this.#context,
        QUOTIENT_VECTORS.map((name) => places[name]),
        (piece) => {
          kernels.words(vectors, piece.addresses.length).set(piece.addresses);
          const identity = cosetIdentity(this.#context, coset, { beta, block: piece.first });
          const isWhole = piece.count === blocksOf(this.#context);
          const to = isWhole ? target : scratch.take(piece.count * blockBytes);
          kernels.call("fr_plonk_quotient", to, vectors, piece.count, constants, identity);
          if (isWhole) return;
          first ??= memory.scalars.readAt(to, 0);
          this.#placePiece(to, target, piece);
        },
      );
      if (first !== undefined) memory.scalars.writeAt(target, 0, first);
    });
    residueOf(this.#context, coset, target);
  }

  /**
   * Puts the quotient on a piece, which stands in reversed order but for its first value, where it belongs in the
   * reversed order of the whole. The place before it then has a wrong value: it is that of the next piece's first.
   */
  #placePiece(from: number, target: number, { first, count }: Pick<Piece, "first" | "count">): void {
    const { kernels, memory } = this.#context;
    const { lanes, elementBytes } = kernels.fr;
    const end = blocksOf(this.#context) - first;
    const bytes = count * lanes * elementBytes;
    const value = memory.scalars.readAt(from, 0);
    kernels.bytes(target + (end - count) * lanes * elementBytes, bytes).set(kernels.bytes(from, bytes));
    if (first > 0) memory.scalars.writeAt(target, end * lanes, value);
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
