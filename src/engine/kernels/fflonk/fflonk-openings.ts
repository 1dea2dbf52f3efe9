/**
 * The last rounds of an FFLONK proof: the values at xi and xi w, which are the remainders of C0, C1 and C2 where they
 * are opened, and the two opening polynomials. Eprint 2021/1167, section 7, rounds 3 to 5.
 */
import { CIRCUIT_POLYNOMIALS } from "../../fflonk/fflonk-values.js";
import type { Evaluation } from "../../fflonk/fflonk-values.js";
import { joiningFactors } from "../../fflonk/opening.js";
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { reduce } from "../../field/prime-field.js";
import type { FflonkContext } from "./fflonk-context.js";
import { COMMITMENT_SIZES } from "./fflonk-key.js";

/** Degrees of the polynomials that vanish where C0 and C1 are opened, and of each of the two of C2. */
const DEGREES = { c0: 8, c1: 4, c2: 3 } as const;

/** A polynomial that is added, times a factor, to another from the same place on. */
interface Addend {
  readonly source: number;
  readonly count: number;
  readonly factor: bigint;
}

/** Some neighbouring coefficients. */
interface Share {
  readonly first: number;
  readonly count: number;
}

/** The tasks of the steps that open the polynomials. */
export class FflonkOpenings {
  readonly #context: FflonkContext;

  constructor(context: FflonkContext) {
    this.#context = context;
  }

  /** Number of coefficients of W, and of what W' divides. */
  get sizes(): { readonly w1: number; readonly w2: number } {
    const size = this.#sizeOf("c2");
    return { w1: size - 2 * DEGREES.c2, w2: size };
  }

  /** Divides C0 (task 0), C1 or C2 by the polynomial that vanishes where it is opened, and keeps the remainders. */
  divide(task: number): void {
    const { key, layout } = this.#context;
    if (task === 0) this.#divideOnce("c0", key.c0, [...CIRCUIT_POLYNOMIALS]);
    else if (task === 1) this.#divideOnce("c1", layout.c1, ["a", "b", "c"]);
    else this.#divideTwice();
  }

  /** Computes one share of W, the quotients' sum by powers of alpha, and writes its scalars. */
  combineW(share: Share): void {
    const { layout, challenges } = this.#context;
    const { alpha } = challenges;
    const [c0, c1] = layout.opened;
    const degree0 = this.#sizeOf("c0") - DEGREES.c0;
    const degree1 = this.#sizeOf("c1") - DEGREES.c1;
    this.#combine(this.#w, share, alpha * alpha, [
      { source: this.#at(c1, DEGREES.c1), count: degree1, factor: alpha },
      { source: this.#at(c0, DEGREES.c0), count: degree0, factor: 1n },
    ]);
    this.writeScalars(this.#w, share);
  }

  /**
   * Computes, in the place of C2, one share of C0 + f1 C1 + f2 C2 - Z0(y) W: with the right constant it vanishes at y,
   * and that falls into the remainder.
   */
  combineAtY(share: Share): void {
    const { key, layout, challenges } = this.#context;
    const factors = joiningFactors(challenges.points, challenges.alpha);
    this.#combine(layout.c2, share, factors.c2, [
      { source: layout.c1, count: this.#sizeOf("c1"), factor: factors.c1 },
      { source: key.c0, count: this.#sizeOf("c0"), factor: 1n },
      { source: this.#w, count: this.sizes.w1, factor: -challenges.points.zeros0 },
    ]);
  }

  /** Divides that by X - y. */
  divideAtY(): void {
    const { kernels, layout, memory, scratch, challenges } = this.#context;
    const { elementBytes } = kernels.fr;
    scratch.scoped(() => {
      const rest = scratch.take(elementBytes);
      memory.scalars.withElement(challenges.points.y, (root) => {
        kernels.call("fr_divide_linear", layout.c2, this.sizes.w2, elementBytes, root, rest);
      });
    });
  }

  /** Writes the canonical scalars of one share of a polynomial. */
  writeScalars(polynomial: number, { first, count }: Share): void {
    const { kernels, layout } = this.#context;
    kernels.call("fr_export_plain", layout.sum + first * kernels.fr.bytes, this.#at(polynomial, first), count);
  }

  #divideOnce(name: "c0" | "c1", source: number, values: readonly Evaluation[]): void {
    const { layout, memory, challenges } = this.#context;
    const target = layout.opened[name === "c0" ? 0 : 1];
    this.#copy(target, source, name);
    this.#dividePower(target, { count: this.#sizeOf(name), degree: DEGREES[name], root: challenges.xi });
    const remainder = memory.scalars.readElements(target, values.length);
    for (const [i, value] of values.entries()) memory.evaluations.set(value, remainder[i] ?? 0n);
  }

  /** C2 by X^3 - xi, and the quotient by X^3 - xi w: what is left of C2 there follows from both remainders. */
  #divideTwice(): void {
    const { kernels, key, layout, memory, challenges } = this.#context;
    const order = kernels.curve.r;
    const target = layout.opened[2];
    this.#copy(target, layout.c2, "c2");
    const { xi } = challenges;
    const xiOmega = reduce(xi * rootOfUnity(kernels.curve, key.domainPower), order);
    const degree = DEGREES.c2;
    const count = this.#sizeOf("c2");
    this.#dividePower(target, { count, degree, root: xi });
    this.#dividePower(this.#at(target, degree), { count: count - degree, degree, root: xiOmega });
    const atXi = memory.scalars.readElements(target, degree);
    const next = memory.scalars.readElements(this.#at(target, degree), degree);
    memory.evaluations.set("z", atXi[0] ?? 0n);
    for (const [i, name] of (["zOmega", "t1Omega", "t2Omega"] as const).entries())
      memory.evaluations.set(name, (atXi[i] ?? 0n) + (xiOmega - xi) * (next[i] ?? 0n));
  }

  #dividePower(data: number, by: { readonly count: number; readonly degree: number; readonly root: bigint }): void {
    const { kernels, memory } = this.#context;
    memory.scalars.withElement(by.root, (root) => {
      kernels.call("fr_divide_power", data, by.count, by.degree, root);
    });
  }

  #copy(target: number, source: number, name: keyof typeof COMMITMENT_SIZES): void {
    const { kernels } = this.#context;
    const bytes = this.#sizeOf(name) * kernels.fr.elementBytes;
    kernels.bytes(target, bytes).set(kernels.bytes(source, bytes));
  }

  /** target := factor target + the addends, in one share. */
  #combine(target: number, { first, count }: Share, factor: bigint, addends: readonly Addend[]): void {
    const { kernels, memory } = this.#context;
    const to = this.#at(target, first);
    memory.scalars.withElement(factor, (element) => {
      kernels.call("fr_scale_elements", to, to, count, element);
    });
    for (const addend of addends) {
      const rest = Math.min(count, addend.count - first);
      if (rest <= 0) continue;
      memory.scalars.withElement(addend.factor, (element) => {
        kernels.call("fr_add_scaled_elements", to, this.#at(addend.source, first), rest, element);
      });
    }
  }

  /** W stands where C2 was divided, behind the two remainders. */
  get #w(): number {
    return this.#at(this.#context.layout.opened[2], 2 * DEGREES.c2);
  }

  #at(polynomial: number, coefficient: number): number {
    return polynomial + coefficient * this.#context.kernels.fr.elementBytes;
  }

  #sizeOf(name: keyof typeof COMMITMENT_SIZES): number {
    return COMMITMENT_SIZES[name] * 2 ** this.#context.key.domainPower;
  }
}
