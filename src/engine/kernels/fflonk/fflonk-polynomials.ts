/**
 * The polynomials of an FFLONK proof up to its second commitment: the quotients T0 of the gates and T1 and T2 of the
 * permutation, and C1 and C2, in which they are interleaved with the columns and with z. Eprint 2021/1167, section 7,
 * rounds 1 and 2.
 *
 * z stands without its blinding; where it is used, the few coefficients that it adds are added to the result.
 */
import { inverse, power } from "../../field/prime-field.js";
import {
  COLUMNS,
  computePermutationProduct,
  computeWires,
  interpolate,
  interpolatePublicSignals,
} from "../plonk/columns.js";
import { GATE_VECTORS, PERMUTATION_VECTORS } from "../plonk/constraints.js";
import { cosetConstants, joinResidues, residueOf, rotated, takeVector, valuesOnCoset } from "../plonk/coset-values.js";
import { blocksOf } from "../plonk/resident-circuit.js";
import type { FflonkContext } from "./fflonk-context.js";
import { COMMITMENT_SIZES } from "./fflonk-key.js";
import { WIRE_BLINDING_COUNT } from "./fflonk-layout.js";

/** Parts of T0 and of T2, of as many coefficients as the domain has points. */
const GATE_PARTS = 2;
const PERMUTATION_PARTS = 3;

/** The tasks of the steps up to C2. */
export class FflonkPolynomials {
  /** Tasks of `interpolateColumn`, `combineC1` and `combineC2`. */
  readonly columnTasks = COLUMNS.length + 2;
  readonly c1Tasks = COLUMNS.length + GATE_PARTS;
  readonly c2Tasks = 2 + PERMUTATION_PARTS;
  readonly #context: FflonkContext;

  constructor(context: FflonkContext) {
    this.#context = context;
  }

  /** Computes the wires, and puts the scalars that blind the columns behind them. */
  computeWires(): void {
    const { kernels, key, layout, memory } = this.#context;
    computeWires(this.#context, layout);
    const blinding = memory.blinding(0).slice(0, WIRE_BLINDING_COUNT);
    memory.scalars.writeElements(layout.wires + key.wireCount * kernels.fr.elementBytes, blinding);
  }

  /** Gathers a column's values and interpolates it; then come the public signals, and room for C1 and C2. */
  interpolateColumn(task: number): void {
    const { kernels, key, layout, memory } = this.#context;
    const name = COLUMNS[task];
    if (name !== undefined) {
      kernels.call("fr_gather_elements", layout.values[name], key.maps[name], blocksOf(this.#context), layout.wires);
      interpolate(this.#context, layout.values[name], layout.coefficients[name]);
    } else if (task === COLUMNS.length) {
      const signals = memory.publicSignals(key.publicCount);
      interpolatePublicSignals(this.#context, layout.coefficients.publicInputs, signals);
    } else {
      const bytes = 2 ** key.domainPower * kernels.fr.elementBytes;
      kernels.bytes(layout.c1, COMMITMENT_SIZES.c1 * bytes).fill(0);
      kernels.bytes(layout.c2, COMMITMENT_SIZES.c2 * bytes).fill(0);
    }
  }

  /** Computes the residue of T0 modulo X^n minus one of two constants of opposite signs. */
  divideGates(task: number): void {
    const { kernels, key, layout, scratch } = this.#context;
    const coset = key.gateCosets[task];
    const target = layout.quotient[task];
    if (coset === undefined || target === undefined) throw new RangeError("there is no such coset");
    const { coefficients } = layout;
    const onCoset = (name: keyof typeof coefficients): number =>
      valuesOnCoset(this.#context, coset, coefficients[name]);
    scratch.scoped(() => {
      const places: Readonly<Record<(typeof GATE_VECTORS)[number], number>> = {
        a: onCoset("a"),
        b: onCoset("b"),
        c: onCoset("c"),
        publicInputs: onCoset("publicInputs"),
        ...coset.fixed,
      };
      const vectors = scratch.take(4 * GATE_VECTORS.length);
      kernels.words(vectors, GATE_VECTORS.length).set(GATE_VECTORS.map((name) => places[name]));
      const { constants, identity } = cosetConstants(this.#context, coset, { beta: 0n, gamma: 0n, alpha: 0n });
      kernels.call("fr_gate_quotient", target, vectors, blocksOf(this.#context), constants, identity);
    });
    residueOf(this.#context, coset, target);
  }

  /** Puts one of the columns, or one part of T0, into C1. */
  combineC1(task: number): void {
    const { key, layout } = this.#context;
    const name = COLUMNS[task];
    if (name !== undefined) {
      this.#place(layout.coefficients[name], layout.c1, { at: task, degree: 4 });
      return;
    }
    const part = task - COLUMNS.length;
    const size = 2 ** key.domainPower;
    this.#context.scratch.scoped(() => {
      const coefficients = this.#gatePart(part);
      this.#place(coefficients, layout.c1, { at: COLUMNS.length + 4 * size * part, degree: 4 });
    });
  }

  /** Computes z and its coefficients. */
  computeZ(): void {
    const { layout, challenges } = this.#context;
    const { values } = layout;
    const [first, second, third] = layout.quotient;
    const places = { columns: values, target: values.z, spare: [first, second, third] as const };
    computePermutationProduct(this.#context, places, challenges.permutation);
    interpolate(this.#context, values.z, layout.coefficients.z);
  }

  /** Computes the residue of T2 on one of four cosets. */
  dividePermutation(task: number): void {
    const { kernels, key, layout, memory, scratch, challenges } = this.#context;
    const coset = key.cosets[task];
    const target = layout.quotient[task];
    if (coset === undefined || target === undefined) throw new RangeError("there is no such coset");
    const { coefficients } = layout;
    scratch.scoped(() => {
      const z = valuesOnCoset(this.#context, coset, coefficients.z, memory.blinding(WIRE_BLINDING_COUNT));
      const places: Readonly<Record<(typeof PERMUTATION_VECTORS)[number], number>> = {
        a: valuesOnCoset(this.#context, coset, coefficients.a),
        b: valuesOnCoset(this.#context, coset, coefficients.b),
        c: valuesOnCoset(this.#context, coset, coefficients.c),
        z,
        zOmega: rotated(this.#context, z),
        ...coset.fixed,
      };
      const vectors = scratch.take(4 * PERMUTATION_VECTORS.length);
      kernels.words(vectors, PERMUTATION_VECTORS.length).set(PERMUTATION_VECTORS.map((name) => places[name]));
      const { constants, identity } = cosetConstants(this.#context, coset, { ...challenges.permutation, alpha: 0n });
      kernels.call("fr_permutation_quotient", target, vectors, blocksOf(this.#context), constants, identity);
    });
    residueOf(this.#context, coset, target);
  }

  /** Joins one task's share of the residues into the parts of T2. */
  join(task: number): void {
    joinResidues(this.#context, this.#context.layout.quotient, task);
  }

  /** Puts z, T1 or one part of T2 into C2. The fourth part of T2 is 0 for every true statement. */
  combineC2(task: number): void {
    const { key, layout } = this.#context;
    if (task === 0) this.#placeZ(0, 1n, layout.coefficients.z);
    else if (task === 1) this.#placeFirstValue();
    else {
      const part = task - 2;
      const at = 2 + 3 * 2 ** key.domainPower * part;
      this.#place(layout.quotient[part] ?? 0, layout.c2, { at, degree: 3 });
    }
  }

  /** T1 = (z - 1) L1 / (X^n - 1) = (z - 1) / (n (X - 1)): the constant falls into the remainder. */
  #placeFirstValue(): void {
    const { kernels, key, layout, memory, scratch } = this.#context;
    const { elementBytes } = kernels.fr;
    const size = 2 ** key.domainPower;
    scratch.scoped(() => {
      const scaled = takeVector(this.#context);
      kernels.call("fr_scale_blocks", scaled, layout.coefficients.z, blocksOf(this.#context), key.inverseSize);
      this.#placeZ(1, inverse(BigInt(size), kernels.curve.r), scaled);
      const rest = scratch.take(elementBytes);
      const count = size + memory.blinding(WIRE_BLINDING_COUNT).length;
      memory.scalars.withElement(1n, (root) => {
        kernels.call("fr_divide_linear", layout.c2 + elementBytes, count, 3 * elementBytes, root, rest);
      });
    });
  }

  /** Puts z times a factor, given without its blinding, into C2, and adds B (X^n - 1) times the factor. */
  #placeZ(at: number, factor: bigint, coefficients: number): void {
    const { kernels, key, layout, memory } = this.#context;
    const { elementBytes } = kernels.fr;
    const size = 2 ** key.domainPower;
    this.#place(coefficients, layout.c2, { at, degree: 3 });
    for (const [i, scalar] of memory.blinding(WIRE_BLINDING_COUNT).entries()) {
      const low = layout.c2 + (at + 3 * i) * elementBytes;
      const high = low + 3 * size * elementBytes;
      const [before = 0n] = memory.scalars.readElements(low, 1);
      memory.scalars.writeElements(low, [before - factor * scalar]);
      memory.scalars.writeElements(high, [factor * scalar]);
    }
  }

  /** Returns, in scratch, t0 = (u + v) / 2 or t1 = (u - v) / (2 c) from the residues u and v modulo X^n -+ c. */
  #gatePart(part: number): number {
    const { kernels, key, layout, memory } = this.#context;
    const order = kernels.curve.r;
    const [coset] = key.gateCosets;
    if (coset === undefined) throw new RangeError("there is no such coset");
    const constant = part === 0 ? 1n : power(coset.shift, 2n ** BigInt(key.domainPower), order);
    const factor = inverse(2n * constant, order);
    const target = takeVector(this.#context);
    const [u, v] = layout.quotient;
    memory.scalars.withElement(factor, (element) => {
      kernels.call("fr_scale_blocks", target, u, blocksOf(this.#context), element);
    });
    memory.scalars.withElement(part === 0 ? factor : -factor, (element) => {
      kernels.call("fr_add_scaled", target, v, blocksOf(this.#context), element);
    });
    return target;
  }

  /** Writes a vector's coefficients, lowest first, to every `degree`-th place of a polynomial from place `at` on. */
  #place(
    coefficients: number,
    polynomial: number,
    { at, degree }: { readonly at: number; readonly degree: number },
  ): void {
    const { kernels, key } = this.#context;
    const { elementBytes } = kernels.fr;
    const target = polynomial + at * elementBytes;
    const stride = degree * elementBytes;
    kernels.call("fr_order_elements", target, coefficients, key.places, 2 ** key.domainPower, stride);
  }
}
