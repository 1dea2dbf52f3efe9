/** The last rounds of a PLONK proof: the polynomials' values at the challenge, and the two opening polynomials. */
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { power, reduce } from "../../field/prime-field.js";
import { PlonkTranscript } from "../../plonk/transcript.js";
import { lagrangeValues } from "../../plonk/lagrange.js";
import { vectorBytes } from "../ntt/domain.js";
import { EXTRA_POWERS } from "./resident-circuit.js";
import { EVALUATIONS } from "./plonk-layout.js";
import { writeCoefficientPowers } from "./plonk-context.js";
import type { PlonkContext } from "./plonk-context.js";

/** A vector of coefficients with the factor that it has in a sum. */
interface Part {
  readonly vector: number;
  readonly factor: bigint;
}

/** Additions to single coefficients, by the coefficient's number. */
type Corrections = Map<number, bigint>;

/** The tasks of the steps that open the polynomials. */
export class PlonkOpenings {
  readonly valueCount = EVALUATIONS.length;
  readonly #context: PlonkContext;
  readonly #transcript: PlonkTranscript;

  constructor(context: PlonkContext) {
    this.#context = context;
    this.#transcript = new PlonkTranscript(context.kernels.curve);
  }

  /** Sets xi, and writes the powers by which polynomials are evaluated. */
  writePowers(): void {
    const { kernels, key, layout, memory } = this.#context;
    const xi = this.#transcript.xi(memory.challenges.get("alpha"), {
      t1: memory.points.get("t1"),
      t2: memory.points.get("t2"),
      t3: memory.points.get("t3"),
    });
    memory.challenges.set("xi", xi);
    writeCoefficientPowers(this.#context, layout.powers.xi, xi);
    const root = rootOfUnity(kernels.curve, key.domainPower);
    writeCoefficientPowers(this.#context, layout.powers.xiOmega, xi * root);
  }

  /** Evaluates one polynomial of EVALUATIONS. */
  evaluate(task: number): void {
    const { kernels, key, layout, memory, scratch } = this.#context;
    const name = EVALUATIONS[task];
    if (name === undefined) throw new RangeError("there is no such value");
    const polynomial = name === "zOmega" ? "z" : name;
    const isFixed = polynomial === "s1" || polynomial === "s2";
    const vector = isFixed ? key.fixed[polynomial] : layout.coefficients[polynomial];
    const powers = name === "zOmega" ? layout.powers.xiOmega : layout.powers.xi;
    const value = scratch.scoped(() => {
      const element = scratch.take(kernels.fr.elementBytes);
      kernels.call("fr_inner_product", element, vector, powers, this.#blocks);
      return memory.scalars.readElements(element, 1)[0] ?? 0n;
    });
    const point = name === "zOmega" ? this.#xiOmega : memory.challenges.get("xi");
    const blinding = isFixed ? 0n : valueAt(memory.blinding(polynomial), point, kernels.curve.r);
    memory.evaluations.set(name, value + blinding * (this.#xiToN - 1n));
  }

  /** Computes the opening polynomial of xi (task 0) or of xi times the root (task 1), and its scalars. */
  open(task: number): void {
    const { kernels, layout, memory } = this.#context;
    const opening = task === 0 ? this.#openingAtXi() : this.#openingOfZ();
    const point = task === 0 ? memory.challenges.get("xi") : this.#xiOmega;
    const size = 2 ** this.#context.key.domainPower + EXTRA_POWERS;
    const { scratch } = this.#context;
    scratch.scoped(() => {
      const coefficients = scratch.take(size * kernels.fr.elementBytes);
      this.#writeCoefficients(coefficients, opening);
      memory.scalars.withElement(point, (root) => {
        // The remainder is the value that the verifier subtracts.
        const rest = scratch.take(kernels.fr.elementBytes);
        kernels.call("fr_divide_linear", coefficients, size, kernels.fr.elementBytes, root, rest);
      });
      kernels.call("fr_export_plain", layout.sums[task] ?? 0, coefficients, size);
      kernels.bytes(coefficients, size * kernels.fr.elementBytes).fill(0);
    });
  }

  /** The linearisation polynomial and, by powers of v, the polynomials that are opened with it. */
  #openingAtXi(): { parts: Part[]; corrections: Corrections } {
    const { kernels, key, layout, memory } = this.#context;
    const order = kernels.curve.r;
    const [a, b, c] = [memory.evaluations.get("a"), memory.evaluations.get("b"), memory.evaluations.get("c")];
    const v = this.#transcript.v(memory.challenges.get("xi"), {
      a,
      b,
      c,
      s1: memory.evaluations.get("s1"),
      s2: memory.evaluations.get("s2"),
      zOmega: memory.evaluations.get("zOmega"),
    });
    const powersOfV = [1, 2, 3, 4, 5].map((exponent) => power(v, BigInt(exponent), order));
    const [va = 0n, vb = 0n, vc = 0n, vs1 = 0n, vs2 = 0n] = powersOfV;
    const { zFactor, s3Factor } = this.#permutationFactors();
    const xiToN = this.#xiToN;
    const quotientFactors = [1n, xiToN, xiToN * xiToN].map((each) => reduce(-(xiToN - 1n) * each, order));
    const parts = [
      { vector: key.fixed.m, factor: a * b },
      { vector: key.fixed.l, factor: a },
      { vector: key.fixed.r, factor: b },
      { vector: key.fixed.o, factor: c },
      { vector: key.fixed.k, factor: 1n },
      { vector: layout.coefficients.z, factor: zFactor },
      { vector: key.fixed.s3, factor: s3Factor },
      ...quotientFactors.map((factor, part) => ({ vector: layout.quotient[part] ?? 0, factor })),
      { vector: layout.coefficients.a, factor: va },
      { vector: layout.coefficients.b, factor: vb },
      { vector: layout.coefficients.c, factor: vc },
      { vector: key.fixed.s1, factor: vs1 },
      { vector: key.fixed.s2, factor: vs2 },
    ];
    const corrections: Corrections = new Map();
    for (const [name, factor] of [
      ["a", va],
      ["b", vb],
      ["c", vc],
      ["z", zFactor],
    ] as const)
      this.#addBlinding(corrections, memory.blinding(name), factor);
    const size = 2 ** key.domainPower;
    for (const [part, factor] of quotientFactors.entries())
      for (const [i, value] of memory.tail(part).entries()) addTo(corrections, size + i, factor * value);
    return { parts, corrections };
  }

  #openingOfZ(): { parts: Part[]; corrections: Corrections } {
    const { layout, memory } = this.#context;
    const corrections: Corrections = new Map();
    this.#addBlinding(corrections, memory.blinding("z"), 1n);
    return { parts: [{ vector: layout.coefficients.z, factor: 1n }], corrections };
  }

  /** The factors of z and of the third permutation column in the linearisation polynomial. */
  #permutationFactors(): { zFactor: bigint; s3Factor: bigint } {
    const { kernels, key, memory } = this.#context;
    const order = kernels.curve.r;
    const [a, b, c] = [memory.evaluations.get("a"), memory.evaluations.get("b"), memory.evaluations.get("c")];
    const [s1, s2] = [memory.evaluations.get("s1"), memory.evaluations.get("s2")];
    const [beta, gamma, alpha] = [
      memory.challenges.get("beta"),
      memory.challenges.get("gamma"),
      memory.challenges.get("alpha"),
    ];
    const xi = memory.challenges.get("xi");
    const { k1, k2 } = key.verifyingKey;
    const size = BigInt(2 ** key.domainPower);
    const root = rootOfUnity(kernels.curve, key.domainPower);
    const [firstLagrange = 0n] = lagrangeValues({ xi, xiToN: this.#xiToN, root, size, order }, 1);
    const identity = (a + beta * xi + gamma) * (b + beta * k1 * xi + gamma) * (c + beta * k2 * xi + gamma);
    const permuted = (a + beta * s1 + gamma) * (b + beta * s2 + gamma) * beta * memory.evaluations.get("zOmega");
    return {
      zFactor: reduce(alpha * identity + alpha * alpha * firstLagrange, order),
      s3Factor: reduce(-alpha * permuted, order),
    };
  }

  /** Adds factor * B (X^n - 1). */
  #addBlinding(corrections: Corrections, blinding: readonly bigint[], factor: bigint): void {
    const size = 2 ** this.#context.key.domainPower;
    for (const [i, scalar] of blinding.entries()) {
      addTo(corrections, i, -factor * scalar);
      addTo(corrections, size + i, factor * scalar);
    }
  }

  /** Writes a polynomial's coefficients, lowest first, as neighbouring elements. */
  #writeCoefficients(
    target: number,
    { parts, corrections }: { readonly parts: readonly Part[]; readonly corrections: Corrections },
  ): void {
    const { kernels, key, memory, scratch } = this.#context;
    const size = 2 ** key.domainPower;
    const { elementBytes } = kernels.fr;
    scratch.scoped(() => {
      const bytes = vectorBytes(kernels, key.domainPower);
      const sum = scratch.take(bytes);
      kernels.bytes(sum, bytes).fill(0);
      for (const { vector, factor } of parts) {
        memory.scalars.withElement(factor, (element) => {
          kernels.call("fr_add_scaled", sum, vector, this.#blocks, element);
        });
      }
      kernels.call("fr_order_elements", target, sum, key.places, size, elementBytes);
    });
    kernels.bytes(target + size * elementBytes, EXTRA_POWERS * elementBytes).fill(0);
    for (const [coefficient, value] of corrections) {
      const address = target + coefficient * elementBytes;
      const [before = 0n] = memory.scalars.readElements(address, 1);
      memory.scalars.writeElements(address, [before + value]);
    }
  }

  get #xiToN(): bigint {
    const { kernels, key, memory } = this.#context;
    return power(memory.challenges.get("xi"), 2n ** BigInt(key.domainPower), kernels.curve.r);
  }

  get #xiOmega(): bigint {
    const { kernels, key, memory } = this.#context;
    return reduce(memory.challenges.get("xi") * rootOfUnity(kernels.curve, key.domainPower), kernels.curve.r);
  }

  get #blocks(): number {
    return 2 ** this.#context.key.domainPower / this.#context.kernels.fr.lanes;
  }
}

function addTo(corrections: Corrections, coefficient: number, value: bigint): void {
  corrections.set(coefficient, (corrections.get(coefficient) ?? 0n) + value);
}

/** Returns the value of a polynomial, lowest coefficient first. */
function valueAt(coefficients: readonly bigint[], point: bigint, order: bigint): bigint {
  return coefficients.reduceRight((value, coefficient) => (value * point + coefficient) % order, 0n);
}
