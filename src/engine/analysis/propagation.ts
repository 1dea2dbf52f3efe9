/**
 * Proves of wires that the inputs fix them, by rules that hold on one constraint system for every witness, repeated
 * until nothing follows any more. What is not proved is not wrong: it is what the other parts of the analysis look at.
 *
 * The rules are known from Ecne (0xPARC) and Picus (Veridise, eprint 2023/512): one unknown in a linear constraint,
 * two roots, digits of a known sum, bounds, one-hot choices, linear systems; the case split over a shared factor covers
 * zero tests.
 */
import { BelowPrimeIndex, boundLast, fixDigits, limitToRoots, type BelowPrime } from "./bound-rules.js";
import { coefficientOf, isLinear, type ConstraintSystem } from "./constraint-system.js";
import { FactorRules, type Guard } from "./factor-rules.js";
import { CONDITIONAL, Knowledge } from "./knowledge.js";
import { randomNullVector, type SparseRow } from "./null-vector.js";

export interface PropagationOptions {
  readonly inputs: readonly number[];
  readonly belowPrime: BelowPrime;
  /** Asked now and then; true ends the work. */
  readonly isOver: () => boolean;
}

export interface Propagated {
  readonly knowledge: Knowledge;
  /** What the conditional wires depend on, in the order of finding. */
  readonly guards: readonly Guard[];
  /** False when the time ended first. */
  readonly isComplete: boolean;
}

/** Open constraints of a linear system that is solved as a whole. */
const SYSTEM_ROWS_MAX = 20_000;
const SYSTEM_STEPS_MAX = 20_000_000;
const ASK_EVERY = 256;

/** Runs all rules to their end. Cost: about 10 s for 125,000 constraints. */
export function propagate(system: ConstraintSystem, options: PropagationOptions): Propagated {
  const knowledge = new Knowledge(system);
  for (const wire of options.inputs) knowledge.fix(wire, "input");
  limitToRoots(knowledge);
  const run = new Propagation(knowledge, options);
  const isComplete = run.run();
  return { knowledge, guards: run.guards, isComplete };
}

class Propagation {
  readonly guards: Guard[] = [];
  readonly #knowledge: Knowledge;
  readonly #factors: FactorRules;
  readonly #belowPrime: BelowPrimeIndex;
  readonly #isOver: () => boolean;
  /** Rows that fix a wire unless a denominator is zero, for when nothing else is left. */
  #guarded: number[] = [];
  #steps = 0;

  constructor(knowledge: Knowledge, { belowPrime, isOver }: PropagationOptions) {
    this.#knowledge = knowledge;
    this.#factors = new FactorRules(knowledge);
    this.#isOver = isOver;
    const rootOf = belowPrime.length === 0 ? (wire: number) => wire : equalWires(knowledge.system);
    this.#belowPrime = new BelowPrimeIndex(belowPrime, rootOf);
  }

  run(): boolean {
    for (;;) {
      if (!this.#settle()) return false;
      const before = this.#knowledge.changes;
      if (this.#knowledge.level === CONDITIONAL && this.#followGuard()) continue;
      this.#solveLinear();
      if (this.#knowledge.changes > before) continue;
      if (this.#knowledge.level === CONDITIONAL) return true;
      this.#knowledge.level = CONDITIONAL;
    }
  }

  /** Applies the cheap rules until none applies; false when the time is over. */
  #settle(): boolean {
    const { single, wide, factored } = this.#knowledge;
    for (;;) {
      this.#steps += 1;
      if (this.#steps % ASK_EVERY === 0 && this.#isOver()) return false;
      const one = single.shift();
      if (one !== undefined) {
        this.#fixSingle(one);
        continue;
      }
      const sum = wide.shift();
      if (sum !== undefined) {
        this.#fixSum(sum);
        continue;
      }
      const product = factored.shift();
      if (product === undefined) return true;
      this.#factors.split(product);
    }
  }

  #fixSingle(index: number): void {
    const knowledge = this.#knowledge;
    const row = knowledge.system.rows[index];
    const wire = knowledge.unknownWires(index)[0];
    if (row === undefined || wire === undefined) return;
    const isFactor = coefficientOf(row.a, wire) !== 0n || coefficientOf(row.b, wire) !== 0n;
    if (!isFactor) knowledge.fix(wire, "linear");
    else if (!this.#factors.fixNonZero(index)) this.#guarded.push(index);
  }

  #fixSum(index: number): void {
    const knowledge = this.#knowledge;
    const row = knowledge.system.rows[index];
    if (row === undefined) return;
    boundLast(row, knowledge);
    const open = knowledge.openC[index] ?? 0;
    const isKnownSum = isLinear(row) || (knowledge.openA[index] === 0 && knowledge.openB[index] === 0);
    if (!isKnownSum || open < 2) return;
    if (!fixDigits(row, knowledge, this.#belowPrime)) this.#factors.fixOneHot(row);
  }

  #followGuard(): boolean {
    for (let index = this.#guarded.shift(); index !== undefined; index = this.#guarded.shift()) {
      const guard = this.#factors.guardOf(index);
      if (guard === undefined) continue;
      this.guards.push(guard);
      this.#knowledge.fix(guard.wire, "guarded");
      return true;
    }
    return false;
  }

  /** Solves what is linear in the unknown wires as one system. */
  #solveLinear(): void {
    const knowledge = this.#knowledge;
    const { rows, prime } = knowledge.system;
    const open: SparseRow[] = [];
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index];
      if (row === undefined || (knowledge.openC[index] ?? 0) < 2) continue;
      if (!isLinear(row) && (knowledge.openA[index] !== 0 || knowledge.openB[index] !== 0)) continue;
      if (open.length === SYSTEM_ROWS_MAX) return;
      open.push(new Map(knowledge.unknownsOf(row.c).map(({ wire, coefficient }) => [wire, coefficient])));
    }
    if (open.length < 2) return;
    const vector = randomNullVector(open, prime, SYSTEM_STEPS_MAX);
    for (const [wire, value] of vector ?? []) if (value === 0n) knowledge.fix(wire, "linear_system");
  }
}

/** Returns one name for each set of wires that linear constraints make equal. */
function equalWires({ rows, wireCount, prime }: ConstraintSystem): (wire: number) => number {
  const parents = Int32Array.from({ length: wireCount }, (_, wire) => wire);
  const rootOf = (wire: number): number => {
    let root = wire;
    while (parents[root] !== root) {
      const above = parents[root] ?? root;
      parents[root] = parents[above] ?? above;
      root = above;
    }
    return root;
  };
  for (const row of rows) {
    const [left, right] = row.c.wires;
    if (!isLinear(row) || row.c.wires.length !== 2 || left === undefined || right === undefined || left === 0) continue;
    if ((row.c.coefficients[0] ?? 0n) + (row.c.coefficients[1] ?? 0n) === prime) parents[rootOf(left)] = rootOf(right);
  }
  return rootOf;
}
