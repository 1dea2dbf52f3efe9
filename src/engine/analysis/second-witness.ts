/**
 * Looks for a second witness of the same inputs: changes one wire that propagation left open, follows the consequences
 * and keeps the old values of the rest. What it returns satisfies every constraint.
 */
import { randomNonZero } from "../field/bytes.js";
import { reduce } from "../field/prime-field.js";
import { Assignment } from "./assignment.js";
import { firstBroken, isLinear, rowsWith, type ConstraintSystem, type Row } from "./constraint-system.js";
import { UNIQUE, type Knowledge } from "./knowledge.js";

export interface SearchOptions {
  readonly knowledge: Knowledge;
  /** Of the circuit alone, without rows that the analysis added. */
  readonly rows: readonly Row[];
  readonly isOutput: (wire: number) => boolean;
  /** Wires behind denominators, in the order of the computation. */
  readonly guarded: readonly number[];
  /** Wires to be tried first. */
  readonly first: readonly number[];
  /** Wires whose difference is of no interest. */
  readonly isIgnored: (wire: number) => boolean;
  readonly isOver: () => boolean;
}

export interface SecondWitness {
  readonly values: readonly bigint[];
  readonly differsInOutput: boolean;
}

interface Candidate {
  readonly wire: number;
  /** Undefined when the values that were tried first contradict the constraints. */
  readonly value: bigint | undefined;
  /** Wires that have a value afterwards; more for an output. */
  readonly size: number;
}

const CANDIDATES_MAX = 240;
/** Of the candidates, those that are tried with many values. */
const TRIED_MAX = 48;
const WIDTHS_MAX = 6;
/** Choices of a completion that may fail before it is given up. */
const RETRIES_MAX = 48;

/**
 * Searches from a witness that satisfies the circuit.
 * @param witness one value a wire, those of added wires included
 */
export function findSecondWitness(
  system: ConstraintSystem,
  witness: readonly bigint[],
  options: SearchOptions,
): SecondWitness | undefined {
  return new Search(system, witness, options).run();
}

class Search {
  readonly #system: ConstraintSystem;
  readonly #witness: readonly bigint[];
  readonly #options: SearchOptions;
  readonly #assignment: Assignment;
  /** Open wires in the order in which they keep their old values: what is computed from others comes later. */
  readonly #open: readonly number[];
  readonly #base: number;
  #internal: SecondWitness | undefined;

  constructor(system: ConstraintSystem, witness: readonly bigint[], options: SearchOptions) {
    const { states, bounds } = options.knowledge;
    const isBit = (wire: number): boolean => bounds[wire] === 1n;
    this.#system = system;
    this.#witness = witness;
    this.#options = options;
    this.#assignment = new Assignment(system, { isBit, preferred: witness });
    const open: number[] = [];
    for (let wire = 1; wire < system.wireCount; wire += 1)
      if (states[wire] === UNIQUE) this.#assignment.set(wire, witness[wire] ?? 0n);
      else open.push(wire);
    this.#assignment.settle();
    this.#base = this.#assignment.size;
    const { isOutput, guarded } = options;
    const inner = open.filter((wire) => !isOutput(wire));
    const isOpen = new Set(open);
    this.#open = [
      ...new Set([
        ...guarded.filter((wire) => isOpen.has(wire)),
        ...inner.filter((wire) => !isBit(wire)),
        ...inner.filter(isBit),
        ...open,
      ]),
    ];
  }

  run(): SecondWitness | undefined {
    for (const { wire, value } of this.#rankedCandidates()) {
      for (const tried of [...(value === undefined ? [] : [value]), ...this.#valuesFor(wire)]) {
        if (this.#options.isOver()) return this.#internal;
        const found = this.#try(() => this.#assignment.assume(wire, tried));
        if (found?.differsInOutput === true) return found;
        // One difference inside is enough; the next wire may reach an output.
        if (found !== undefined) break;
      }
    }
    return this.#aliased() ?? this.#internal;
  }

  /** The wires after which most others follow, first, each with a value that contradicts nothing at once. */
  #rankedCandidates(): Candidate[] {
    const ranked: Candidate[] = [];
    for (const wire of this.#candidates()) {
      if (this.#options.isOver()) break;
      const old = this.#witness[wire] ?? 0n;
      let best: Candidate = { wire, value: undefined, size: 0 };
      for (const value of [this.#otherValue(wire), reduce(old + 1n, this.#system.prime)]) {
        if (value === undefined || value === old) continue;
        const holds = this.#assignment.assume(wire, value);
        const size = this.#assignment.size;
        this.#assignment.undo(this.#base);
        if (!holds) continue;
        best = { wire, value, size: this.#options.isOutput(wire) ? size + 0.5 : size };
        break;
      }
      ranked.push(best);
    }
    return ranked.sort((left, right) => right.size - left.size).slice(0, TRIED_MAX);
  }

  #candidates(): ReadonlySet<number> {
    const { first, isOutput } = this.#options;
    const isOpen = new Set(this.#open);
    const chosen = new Set(first.filter((wire) => isOpen.has(wire)).slice(0, CANDIDATES_MAX / 2));
    for (const wire of this.#open) if (isOutput(wire) && chosen.size < CANDIDATES_MAX) chosen.add(wire);
    const step = Math.max(1, Math.floor(this.#open.length / CANDIDATES_MAX));
    for (let at = 0; at < this.#open.length && chosen.size < CANDIDATES_MAX; at += step)
      chosen.add(this.#open[at] ?? 0);
    chosen.delete(0);
    return chosen;
  }

  /** The other bit, the other root of a constraint in which the wire is squared, or a random value. */
  #otherValue(wire: number): bigint | undefined {
    const { prime, rows } = this.#system;
    const old = this.#witness[wire] ?? 0n;
    if (this.#options.knowledge.bounds[wire] === 1n) return 1n - old;
    for (const index of rowsWith(this.#system, wire).subarray(0, 16)) {
      const row = rows[index];
      if (row === undefined || isLinear(row) || this.#assignment.openOf(index) !== 1) continue;
      const { x2, x1 } = this.#assignment.polynomial(row, wire);
      // The sum of the roots is -x1 / x2; x2 is one in nearly every circuit, or minus one.
      if (x2 === 1n) return reduce(-x1 - old, prime);
      if (x2 === prime - 1n) return reduce(x1 - old, prime);
    }
    return randomNonZero(prime);
  }

  #valuesFor(wire: number): bigint[] {
    const { prime } = this.#system;
    const old = this.#witness[wire] ?? 0n;
    if (this.#options.knowledge.bounds[wire] === 1n) return [];
    const steps = [1n, 2n, ...this.#widths().map((bits) => 1n << BigInt(bits))];
    const values = [0n, 1n, -old, randomNonZero(prime), ...steps.flatMap((step) => [old + step, old - step])];
    return [...new Set(values.map((value) => reduce(value, prime)))].filter((value) => value !== old);
  }

  #widthsFound: number[] | undefined;

  /** Numbers of bits of the sums in the circuit. */
  #widths(): number[] {
    if (this.#widthsFound !== undefined) return this.#widthsFound;
    const widths = new Set<number>();
    for (const row of this.#system.rows) {
      if (widths.size === WIDTHS_MAX) break;
      const bits = row.c.wires.filter((wire) => wire !== 0 && this.#options.knowledge.bounds[wire] === 1n).length;
      if (isLinear(row) && bits > 1) widths.add(bits);
    }
    this.#widthsFound = [...widths];
    return this.#widthsFound;
  }

  /** Bits of a sum that reaches the prime may stand for the sum plus the prime. */
  #aliased(): SecondWitness | undefined {
    const { prime, rows } = this.#system;
    const isWide = (row: Row): boolean => row.c.wires.length >= prime.toString(2).length;
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index];
      if (row === undefined || !isWide(row) || this.#assignment.openOf(index) < 2) continue;
      if (this.#options.isOver()) return undefined;
      const found = this.#try(() => this.#assignment.decompose(index, prime) && this.#assignment.follow());
      if (found?.differsInOutput === true) return found;
    }
    return undefined;
  }

  /** Makes a change and completes it; always takes it back. */
  #try(change: () => boolean): SecondWitness | undefined {
    const values = change() && this.#complete() ? this.#assignment.values.map((value) => value ?? 0n) : undefined;
    this.#assignment.undo(this.#base);
    if (values === undefined) return undefined;
    const { rows, isOutput, isIgnored } = this.#options;
    const differing = this.#open.filter((wire) => values[wire] !== this.#witness[wire] && !isIgnored(wire));
    if (differing.length === 0 || firstBroken(rows, values, this.#system.prime) !== undefined) return undefined;
    const found = { values, differsInOutput: differing.some(isOutput) };
    this.#internal ??= found;
    return found;
  }

  /** Gives every wire that is still open its old value, or another one where that contradicts. */
  #complete(): boolean {
    let retries = 0;
    for (const wire of this.#open) {
      if (this.#assignment.values[wire] !== undefined) continue;
      const size = this.#assignment.size;
      const old = this.#witness[wire] ?? 0n;
      if (this.#assignment.assume(wire, old)) continue;
      this.#assignment.undo(size);
      retries += 1;
      if (retries > RETRIES_MAX || this.#options.isOver()) return false;
      const other = this.#otherValue(wire);
      if (other === undefined || !this.#assignment.assume(wire, other)) return false;
    }
    return true;
  }
}
