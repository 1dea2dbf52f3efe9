/**
 * Values of wires that are found constraint by constraint: each with one unknown says its value, a known sum says its
 * bits. Every step can be taken back. Whether all constraints hold in the end is checked elsewhere, anew.
 */
import { inverse, reduce } from "../field/prime-field.js";
import { signed } from "./bound-rules.js";
import { isLinear, wiresOf, type ConstraintSystem, type LinearForm, type Row } from "./constraint-system.js";
import { rootsOf, type Polynomial } from "./quadratic.js";

export interface AssignmentOptions {
  /** Which wires are 0 or 1 by a constraint of their own. */
  readonly isBit: (wire: number) => boolean;
  /** Preferred where a constraint has two roots, such as the values of a known witness. */
  readonly preferred: readonly (bigint | undefined)[];
}

/** Sums of more unknown bits are no digits below any prime of 255 bits. */
const DIGITS_MAX = 256;

export class Assignment {
  readonly system: ConstraintSystem;
  readonly values: (bigint | undefined)[];
  readonly #options: AssignmentOptions;
  /** Wires in the order of their values. */
  readonly #trail: number[] = [];
  readonly #open: Int32Array;
  #ready: number[] = [];
  #sums: number[] = [];
  /** Rows that were looked at, for bounds on time. */
  steps = 0;

  constructor(system: ConstraintSystem, options: AssignmentOptions) {
    this.system = system;
    this.#options = options;
    this.values = new Array<bigint | undefined>(system.wireCount).fill(undefined);
    this.values[0] = 1n;
    this.#open = Int32Array.from(system.rows, (row) => wiresOf(row).length);
    this.#open.forEach((count, row) => {
      if (count <= 1) this.#ready.push(row);
      else if (count <= DIGITS_MAX) this.#sums.push(row);
    });
  }

  /** How many wires have a value. */
  get size(): number {
    return this.#trail.length;
  }

  /** Unknown wires of a row. */
  openOf(row: number): number {
    return this.#open[row] ?? 0;
  }

  /** Takes back all values after the first `size`. */
  undo(size: number): void {
    while (this.#trail.length > size) {
      const wire = this.#trail.pop() ?? 0;
      this.values[wire] = undefined;
      this.#eachRow(wire, (row) => {
        this.#open[row] = (this.#open[row] ?? 0) + 1;
      });
    }
    this.#ready = [];
    this.#sums = [];
  }

  /** Gives a wire its value, without consequences. */
  set(wire: number, value: bigint): void {
    if (this.values[wire] !== undefined) return;
    this.values[wire] = value;
    this.#trail.push(wire);
    this.#eachRow(wire, (row) => {
      const open = (this.#open[row] ?? 0) - 1;
      this.#open[row] = open;
      if (open <= 1) this.#ready.push(row);
      else if (open <= DIGITS_MAX) this.#sums.push(row);
    });
  }

  /** Forgets what waits, when all constraints so far are known to hold. */
  settle(): void {
    this.#ready = [];
    this.#sums = [];
  }

  /** Gives a wire its value with all consequences; false on a contradiction, which the caller takes back. */
  assume(wire: number, value: bigint): boolean {
    const known = this.values[wire];
    if (known !== undefined) return known === value;
    this.set(wire, value);
    return this.follow();
  }

  /** Follows all consequences; false on a contradiction. */
  follow(): boolean {
    for (;;) {
      const row = this.#ready.pop();
      if (row !== undefined) {
        if (!this.#solve(row)) return false;
        continue;
      }
      const sum = this.#sums.pop();
      if (sum === undefined) return true;
      if (this.openOf(sum) > 1 && !this.decompose(sum)) return false;
    }
  }

  /**
   * Gives the unknown bits of a known sum their values; false when there are none. With `plus` the bits stand for the
   * sum and so much more, which is another choice of bits where the sum is only known modulo the prime.
   */
  decompose(index: number, plus = 0n): boolean {
    const row = this.system.rows[index];
    if (row === undefined) return true;
    const { prime } = this.system;
    if (!isLinear(row) && (!this.#isKnown(row.a) || !this.#isKnown(row.b))) return true;
    const digits: { readonly wire: number; readonly coefficient: bigint }[] = [];
    for (let i = 0; i < row.c.wires.length; i += 1) {
      const wire = row.c.wires[i] ?? 0;
      if (this.values[wire] !== undefined) continue;
      if (!this.#options.isBit(wire)) return true;
      digits.push({ wire, coefficient: row.c.coefficients[i] ?? 0n });
    }
    const rest = reduce(this.#partial(row.a) * this.#partial(row.b) - this.#partial(row.c), prime);
    const scaled = scaledDigits(digits, prime);
    if (scaled === undefined) return plus === 0n;
    let left = ((rest * scaled.scale) % prime) + plus;
    for (const { wire, weight } of scaled.digits) {
      const bit = left >= weight ? 1n : 0n;
      left -= bit * weight;
      this.set(wire, bit);
    }
    return left === 0n;
  }

  /** The polynomial of a row in one wire, with the values of all others. */
  polynomial(row: Row, wire: number): Polynomial {
    const { prime } = this.system;
    const [a0, b0, c0] = [this.#partial(row.a), this.#partial(row.b), this.#partial(row.c)];
    const [a1, b1, c1] = [coefficient(row.a, wire), coefficient(row.b, wire), coefficient(row.c, wire)];
    return { x2: (a1 * b1) % prime, x1: reduce(a1 * b0 + a0 * b1 - c1, prime), x0: reduce(a0 * b0 - c0, prime) };
  }

  /** The unknown wires of a row. */
  unknownOf(index: number): number[] {
    const row = this.system.rows[index];
    return row === undefined ? [] : wiresOf(row).filter((wire) => this.values[wire] === undefined);
  }

  #solve(index: number): boolean {
    this.steps += 1;
    const row = this.system.rows[index];
    if (row === undefined) return true;
    const wire = this.openOf(index) === 0 ? undefined : this.unknownOf(index)[0];
    const { prime } = this.system;
    if (wire === undefined) return (this.#partial(row.a) * this.#partial(row.b) - this.#partial(row.c)) % prime === 0n;
    const polynomial = this.polynomial(row, wire);
    const { x2, x1, x0 } = polynomial;
    // The row holds whatever the wire is, or never.
    if (x2 === 0n && x1 === 0n) return x0 === 0n;
    const preferred = this.#options.preferred[wire];
    if (x2 !== 0n && preferred !== undefined && ((x2 * preferred + x1) * preferred + x0) % prime === 0n) {
      this.set(wire, preferred);
      return true;
    }
    const [root] = rootsOf(polynomial, prime);
    if (root === undefined) return false;
    this.set(wire, root);
    return true;
  }

  /** The value of the known part of a form. */
  #partial({ wires, coefficients }: LinearForm): bigint {
    let sum = 0n;
    for (let i = 0; i < wires.length; i += 1) {
      const value = this.values[wires[i] ?? 0];
      if (value !== undefined && value !== 0n) sum += value * (coefficients[i] ?? 0n);
    }
    return sum % this.system.prime;
  }

  #isKnown({ wires }: LinearForm): boolean {
    return wires.every((wire) => this.values[wire] !== undefined);
  }

  #eachRow(wire: number, visit: (row: number) => void): void {
    const { columnOffsets, rowsOfWire } = this.system;
    const end = columnOffsets[wire + 1] ?? 0;
    for (let at = columnOffsets[wire] ?? 0; at < end; at += 1) visit(rowsOfWire[at] ?? 0);
  }
}

function coefficient({ wires, coefficients }: LinearForm, wire: number): bigint {
  const at = wires.indexOf(wire);
  return at < 0 ? 0n : (coefficients[at] ?? 0n);
}

/** Terms by weight, largest first, for a scale that makes each exceed the sum of the smaller ones. */
function scaledDigits(
  digits: readonly { readonly wire: number; readonly coefficient: bigint }[],
  prime: bigint,
):
  | { readonly scale: bigint; readonly digits: readonly { readonly wire: number; readonly weight: bigint }[] }
  | undefined {
  const ends = [digits[0], digits.at(-1)].flatMap((digit) => (digit === undefined ? [] : [digit.coefficient]));
  const isUnit = ends.some((end) => end === 1n || end === prime - 1n);
  for (const candidate of isUnit ? [1n, prime - 1n] : ends.map((end) => inverse(end, prime))) {
    const scaled = digits.map(({ wire, coefficient: c }) => ({ wire, weight: signed((c * candidate) % prime, prime) }));
    if (scaled.some(({ weight }) => weight < 0n)) continue;
    scaled.sort((left, right) => (left.weight > right.weight ? -1 : left.weight < right.weight ? 1 : 0));
    let sum = 0n;
    let isIncreasing = true;
    for (const { weight } of scaled.toReversed()) {
      isIncreasing &&= weight > sum;
      sum += weight;
    }
    if (isIncreasing) return { scale: candidate, digits: scaled };
  }
  return undefined;
}
