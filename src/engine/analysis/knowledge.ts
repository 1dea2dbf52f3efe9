/**
 * What propagation knows of each wire: whether the inputs fix it, and a bound of its value. Counts what is unknown in
 * each constraint, and keeps the lines of constraints that may have something new to say.
 */
import {
  rowsWith,
  SIDE_A,
  SIDE_B,
  SIDE_C,
  wiresOf,
  type ConstraintSystem,
  type LinearForm,
} from "./constraint-system.js";

/** `conditional`: fixed unless a denominator is zero. */
export const OPEN = 0;
export const UNIQUE = 1;
export const CONDITIONAL = 2;
export type Level = typeof UNIQUE | typeof CONDITIONAL;

/** The rule that fixed a wire. */
export type Rule =
  "input" | "linear" | "roots" | "radix" | "case" | "one_hot" | "linear_system" | "contract" | "guarded";

/** Each row is in a line once at most. */
class RowLine {
  readonly #waiting: Uint8Array;
  #rows: number[] = [];
  #next = 0;

  constructor(rowCount: number) {
    this.#waiting = new Uint8Array(rowCount);
  }

  push(row: number): void {
    if (this.#waiting[row] === 1) return;
    this.#waiting[row] = 1;
    this.#rows.push(row);
  }

  shift(): number | undefined {
    const row = this.#rows[this.#next];
    if (row === undefined) {
      this.#rows = [];
      this.#next = 0;
      return undefined;
    }
    this.#next += 1;
    this.#waiting[row] = 0;
    return row;
  }
}

/** More unknowns than digits of base 2 below any prime of 255 bits: radix and one-hot need not look. */
const WIDE_UNKNOWNS_MAX = 255;

export class Knowledge {
  readonly system: ConstraintSystem;
  /** OPEN, UNIQUE or CONDITIONAL by wire. */
  readonly states: Uint8Array;
  readonly rules = new Map<number, Rule>();
  /** Each wire is in 0 .. bound. */
  readonly bounds: (bigint | undefined)[];
  /** Unknown wires of each row: on its sides, and in all. */
  readonly openA: Int32Array;
  readonly openB: Int32Array;
  readonly openC: Int32Array;
  readonly openAll: Int32Array;
  /** Rows with one unknown; rows with several in C alone, or with a new bound; rows with a known factor. */
  readonly single: RowLine;
  readonly wide: RowLine;
  readonly factored: RowLine;
  /** The level that a wire gets which is fixed now. */
  level: Level = UNIQUE;
  /** Counts what was learned. */
  changes = 0;

  constructor(system: ConstraintSystem) {
    const { rows, wireCount } = system;
    this.system = system;
    this.states = new Uint8Array(wireCount);
    this.bounds = new Array<bigint | undefined>(wireCount).fill(undefined);
    this.states[0] = UNIQUE;
    this.bounds[0] = 1n;
    const count = (side: "a" | "b" | "c"): Int32Array =>
      Int32Array.from(rows, (row) => row[side].wires.length - (row[side].wires[0] === 0 ? 1 : 0));
    this.openA = count("a");
    this.openB = count("b");
    this.openC = count("c");
    this.openAll = Int32Array.from(rows, (row) => wiresOf(row).length);
    this.single = new RowLine(rows.length);
    this.wide = new RowLine(rows.length);
    this.factored = new RowLine(rows.length);
    rows.forEach((_, row) => {
      this.#offer(row);
      this.wide.push(row);
    });
  }

  /** Whether the wire is fixed, or fixed unless a denominator is zero. */
  isKnown(wire: number): boolean {
    return this.states[wire] !== OPEN;
  }

  /** Records that a wire is fixed, at the present level. */
  fix(wire: number, rule: Rule): void {
    if (this.isKnown(wire)) return;
    this.states[wire] = this.level;
    this.rules.set(wire, rule);
    this.changes += 1;
    const { columnOffsets, rowsOfWire, sidesOfWire } = this.system;
    const end = columnOffsets[wire + 1] ?? 0;
    for (let at = columnOffsets[wire] ?? 0; at < end; at += 1) {
      const row = rowsOfWire[at] ?? 0;
      const sides = sidesOfWire[at] ?? 0;
      if ((sides & SIDE_A) !== 0) lower(this.openA, row);
      if ((sides & SIDE_B) !== 0) lower(this.openB, row);
      if ((sides & SIDE_C) !== 0) lower(this.openC, row);
      lower(this.openAll, row);
      this.#offer(row);
    }
  }

  /** Records a bound of a wire that had none. */
  bind(wire: number, bound: bigint): void {
    if (this.bounds[wire] !== undefined) return;
    this.bounds[wire] = bound;
    for (const row of rowsWith(this.system, wire)) this.wide.push(row);
  }

  /** Returns the unknown wires of a form with their coefficients. */
  unknownsOf({ wires, coefficients }: LinearForm): { readonly wire: number; readonly coefficient: bigint }[] {
    const found = [];
    for (let i = 0; i < wires.length; i += 1) {
      const wire = wires[i] ?? 0;
      if (!this.isKnown(wire)) found.push({ wire, coefficient: coefficients[i] ?? 0n });
    }
    return found;
  }

  /** Returns the unknown wires of a row. */
  unknownWires(row: number): number[] {
    const found = this.system.rows[row];
    return found === undefined ? [] : wiresOf(found).filter((wire) => !this.isKnown(wire));
  }

  #offer(row: number): void {
    const open = this.openAll[row] ?? 0;
    if (open === 0) return;
    const knowsA = this.openA[row] === 0;
    const knowsB = this.openB[row] === 0;
    if (open === 1) this.single.push(row);
    else if (open <= WIDE_UNKNOWNS_MAX && knowsA && knowsB) this.wide.push(row);
    if (knowsA !== knowsB || (knowsA && (this.system.rows[row]?.a.wires.length ?? 0) > 0)) this.factored.push(row);
  }
}

function lower(counts: Int32Array, at: number): void {
  counts[at] = (counts[at] ?? 0) - 1;
}
