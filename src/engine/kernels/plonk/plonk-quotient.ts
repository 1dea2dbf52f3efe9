/** The quotient polynomial of a PLONK proof: on four cosets, then joined and cut into three parts. */
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { inverse, power } from "../../field/prime-field.js";
import { vectorBytes } from "../ntt/domain.js";
import { CONSTRAINT_CONSTANTS, QUOTIENT_VECTORS } from "./constraints.js";
import { EXTRA_POWERS } from "./plonk-key.js";
import type { PlonkCoset } from "./plonk-key.js";
import type { BlindedPolynomial } from "./plonk-memory.js";
import { identityBlock } from "./plonk-context.js";
import type { PlonkContext } from "./plonk-context.js";

const TRANSFORMED = ["a", "b", "c", "z", "publicInputs"] as const;

/** The tasks of the quotient's steps. */
export class PlonkQuotient {
  readonly #context: PlonkContext;

  constructor(context: PlonkContext) {
    this.#context = context;
  }

  /** Computes the residue of the quotient modulo X^n minus the coset's constant. */
  computeOnCoset(number: number): void {
    const { kernels, key, layout, scratch, domain } = this.#context;
    const coset = key.cosets[number];
    const target = layout.quotient[number];
    if (coset === undefined || target === undefined) throw new RangeError("there is no such coset");
    scratch.scoped(() => {
      const [a, b, c, z, publicInputs] = TRANSFORMED.map((name) => this.#valuesOnCoset(name, coset)) as [
        ...[number, number, number, number, number],
      ];
      const zOmega = this.#takeVector();
      kernels.call("fr_rotate_blocks", zOmega, z, this.#blocks);
      const vectors = scratch.take(4 * QUOTIENT_VECTORS.length);
      const { m, l, r, o, k, s1, s2, s3 } = coset.fixed;
      kernels
        .words(vectors, QUOTIENT_VECTORS.length)
        .set([a, b, c, z, zOmega, publicInputs, m, l, r, o, k, s1, s2, s3, coset.firstLagrange]);
      const { constants, identity } = this.#constantsOf(coset);
      kernels.call("fr_plonk_quotient", target, vectors, this.#blocks, constants, identity);
    });
    domain.forward(target);
    kernels.call("fr_mul_blocks", target, target, coset.inverseScale, this.#blocks);
  }

  /** Joins the residues of `count` blocks from `first` on into the parts of the quotient. */
  join(first: number, count: number): void {
    const { kernels, key, layout } = this.#context;
    const offset = first * kernels.fr.lanes * kernels.fr.elementBytes;
    const [t0, t1, t2, t3] = layout.quotient;
    kernels.call("fr_join_cosets", t0 + offset, t1 + offset, t2 + offset, t3 + offset, count, key.joinFactors);
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
      kernels.call("fr_export_blocks", sum, layout.quotient[part] ?? 0, this.#blocks);
      memory.scalars.writeIntegers(sum + size * bytes, memory.tail(part));
    }
  }

  #valuesOnCoset(name: (typeof TRANSFORMED)[number], coset: PlonkCoset): number {
    const { kernels, layout, domain } = this.#context;
    const values = this.#takeVector();
    kernels.call("fr_mul_blocks", values, layout.coefficients[name], coset.scale, this.#blocks);
    if (name !== "publicInputs") this.#addBlinding(values, name, coset);
    domain.backward(values);
    return values;
  }

  /** On the coset B (X^n - 1) is a constant times B. */
  #addBlinding(values: number, name: BlindedPolynomial, { shift }: PlonkCoset): void {
    const { kernels, key, memory } = this.#context;
    const order = kernels.curve.r;
    const places = kernels.words(key.places, EXTRA_POWERS);
    let factor = power(shift, 2n ** BigInt(key.domainPower), order) - 1n;
    for (const [i, scalar] of memory.blinding(name).entries()) {
      memory.scalars.addAt(values, places[i] ?? 0, factor * scalar);
      factor = (factor * shift) % order;
    }
  }

  #constantsOf({ shift }: PlonkCoset): { constants: number; identity: number } {
    const { kernels, key, memory, scratch } = this.#context;
    const order = kernels.curve.r;
    const [beta, gamma, alpha] = [memory.challenge("beta"), memory.challenge("gamma"), memory.challenge("alpha")];
    // The way back visits the coset against the powers of the root.
    const ratio = inverse(rootOfUnity(kernels.curve, key.domainPower), order);
    const first = (beta * shift) % order;
    const { k1, k2 } = key.verifyingKey;
    const values: Record<(typeof CONSTRAINT_CONSTANTS)[number], bigint> = {
      beta,
      gamma,
      k1,
      k2,
      step: power(ratio, BigInt(kernels.fr.lanes), order),
      alpha,
      alphaSquared: alpha * alpha,
      vanishing: inverse(power(shift, 2n ** BigInt(key.domainPower), order) - 1n, order),
    };
    const constants = scratch.take(CONSTRAINT_CONSTANTS.length * kernels.fr.elementBytes);
    memory.scalars.writeElements(
      constants,
      CONSTRAINT_CONSTANTS.map((name) => values[name]),
    );
    return { constants, identity: identityBlock(this.#context, [first, (first * ratio) % order]) };
  }

  #takeVector(): number {
    return this.#context.scratch.take(vectorBytes(this.#context.kernels, this.#context.key.domainPower));
  }

  get #blocks(): number {
    return 2 ** this.#context.key.domainPower / this.#context.kernels.fr.lanes;
  }
}
