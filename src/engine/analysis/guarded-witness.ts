/**
 * Looks for inputs where a denominator is zero and its numerator too, so that the wire that they guard is free: solves
 * the circuit with both as constraints, from no values at all.
 */
import { randomNonZero } from "../field/bytes.js";
import { inverse, reduce } from "../field/prime-field.js";
import { Assignment } from "./assignment.js";
import {
  coefficientOf,
  EMPTY_FORM,
  evaluate,
  firstBroken,
  isLinear,
  rowsWith,
  systemOf,
  type ConstraintSystem,
  type Row,
} from "./constraint-system.js";
import type { Guard } from "./factor-rules.js";
import type { Knowledge } from "./knowledge.js";
import { rootsOf } from "./quadratic.js";

export interface SolveOptions {
  readonly knowledge: Knowledge;
  readonly inputs: readonly number[];
  /** Wires behind denominators, in the order of the computation. */
  readonly guarded: readonly number[];
  /** Of the circuit alone. */
  readonly rows: readonly Row[];
  readonly isOver: () => boolean;
}

type Pattern = "random" | "zeros" | "ones";
const PATTERNS: readonly { readonly pattern: Pattern; readonly isReversed: boolean }[] = [
  { pattern: "random", isReversed: false },
  { pattern: "random", isReversed: true },
  { pattern: "zeros", isReversed: false },
  { pattern: "ones", isReversed: true },
];
/** Looks for a pair of unknowns in a linear and a quadratic constraint only so often: it reads all constraints. */
const PAIR_LOOKS_MAX = 4;

/**
 * Returns a witness of the circuit at which the guard is zero; undefined when none was found.
 * @param guard without it, any witness
 */
export function solveFromNothing(
  system: ConstraintSystem,
  guard: Guard | undefined,
  options: SolveOptions,
): bigint[] | undefined {
  const zero = (c: Row["c"]): Row => ({ a: EMPTY_FORM, b: EMPTY_FORM, c });
  const rows = guard === undefined ? [] : [zero(guard.denominator), zero(guard.numerator)];
  const extended = systemOf([...system.rows, ...rows], system.wireCount, system.prime);
  const free = guard === undefined ? options.guarded : [guard.wire, ...options.guarded];
  for (const { pattern, isReversed } of PATTERNS) {
    if (options.isOver()) return undefined;
    const solver = new Solver(extended, pattern, options);
    const inputs = isReversed ? options.inputs.toReversed() : options.inputs;
    const values = solver.run(inputs, free);
    if (values !== undefined && firstBroken(options.rows, values, system.prime) === undefined) return values;
  }
  return undefined;
}

class Solver {
  readonly #assignment: Assignment;
  readonly #pattern: Pattern;
  readonly #options: SolveOptions;
  #looks = 0;

  constructor(system: ConstraintSystem, pattern: Pattern, options: SolveOptions) {
    const isBit = (wire: number): boolean => options.knowledge.bounds[wire] === 1n;
    this.#assignment = new Assignment(system, { isBit, preferred: [] });
    this.#pattern = pattern;
    this.#options = options;
  }

  /** @param free wires that are chosen after the inputs and before all others: those follow from them */
  run(inputs: readonly number[], free: readonly number[]): bigint[] | undefined {
    const assignment = this.#assignment;
    if (!assignment.follow()) return undefined;
    for (const wire of inputs) {
      if (!this.#solvePair()) return undefined;
      if (assignment.values[wire] === undefined && !this.#choose(wire)) return undefined;
      if (this.#options.isOver()) return undefined;
    }
    for (const wire of free) if (assignment.values[wire] === undefined && !this.#choose(wire)) return undefined;
    for (let wire = 1; wire < assignment.system.wireCount; wire += 1)
      if (assignment.values[wire] === undefined && !this.#choose(wire)) return undefined;
    return assignment.values.map((value) => value ?? 0n);
  }

  #choose(wire: number): boolean {
    const assignment = this.#assignment;
    for (const value of this.#valuesFor(wire)) {
      const size = assignment.size;
      if (assignment.assume(wire, value)) return true;
      assignment.undo(size);
    }
    return false;
  }

  #valuesFor(wire: number): bigint[] {
    const random = randomNonZero(this.#assignment.system.prime);
    const bit = random & 1n;
    if (this.#options.knowledge.bounds[wire] === 1n) {
      const first = this.#pattern === "random" ? bit : this.#pattern === "zeros" ? 0n : 1n;
      return [first, 1n - first];
    }
    const small = random & 0xffffn;
    if (this.#pattern === "random") return [random, small, 1n, 0n];
    return this.#pattern === "zeros" ? [0n, 1n, small] : [1n, 0n, small];
  }

  /** Substitutes a linear constraint of two unknowns into a quadratic one of the same; false on a contradiction. */
  #solvePair(): boolean {
    if (this.#looks >= PAIR_LOOKS_MAX) return true;
    this.#looks += 1;
    const assignment = this.#assignment;
    const { rows } = assignment.system;
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index];
      if (row === undefined || assignment.openOf(index) !== 2 || !isLinear(row)) continue;
      const [left, right] = assignment.unknownOf(index);
      if (left === undefined || right === undefined) continue;
      for (const other of rowsWith(assignment.system, left)) {
        const quadratic = rows[other];
        if (other === index || quadratic === undefined || isLinear(quadratic)) continue;
        const unknown = assignment.unknownOf(other);
        if (unknown.length > 2 || unknown.some((wire) => wire !== left && wire !== right)) continue;
        return this.#substitute(row, quadratic, [left, right]);
      }
    }
    return true;
  }

  #substitute(linear: Row, quadratic: Row, [left, right]: readonly [number, number]): boolean {
    const assignment = this.#assignment;
    const { prime } = assignment.system;
    const scale = inverse(coefficientOf(linear.c, left), prime);
    // The value of the quadratic row where `right` has a value and `left` follows.
    const valueAt = (value: bigint): bigint => {
      const values = assignment.values.slice();
      values[right] = value;
      values[left] = reduce(-evaluate(linear.c, values, prime) * scale, prime);
      const product = evaluate(quadratic.a, values, prime) * evaluate(quadratic.b, values, prime);
      return reduce(product - evaluate(quadratic.c, values, prime), prime);
    };
    const [at0, at1, atMinus1] = [valueAt(0n), valueAt(1n), valueAt(prime - 1n)];
    const half = inverse(2n, prime);
    const x2 = reduce((at1 + atMinus1 - 2n * at0) * half, prime);
    const x1 = reduce((at1 - atMinus1) * half, prime);
    if (x2 === 0n && x1 === 0n) return at0 === 0n;
    for (const root of rootsOf({ x2, x1, x0: at0 }, prime)) {
      const size = assignment.size;
      if (assignment.assume(right, root)) return true;
      assignment.undo(size);
    }
    return false;
  }
}
