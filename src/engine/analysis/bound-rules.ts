/**
 * The rules of propagation that reason with integers: wires that are one of two values, sums of bounded wires, and
 * digits of a known sum.
 */
import { inverse, reduce } from "../field/prime-field.js";
import { coefficientOf, isLinear, wiresOf, type LinearForm, type Row } from "./constraint-system.js";
import type { Knowledge } from "./knowledge.js";
import { rootsOf, type Polynomial } from "./quadratic.js";

export interface Interval {
  readonly low: bigint;
  readonly high: bigint;
}

/** Bits, lowest first, that some library template holds below the prime as an integer. */
export type BelowPrime = readonly (readonly number[])[];

/** Returns the value in (-prime / 2, prime / 2). */
export function signed(value: bigint, prime: bigint): bigint {
  return 2n * value > prime ? value - prime : value;
}

/** Returns the polynomial of a row whose only wire is `wire`: it is zero where the row holds. */
export function polynomialOf({ a, b, c }: Row, wire: number, prime: bigint): Polynomial {
  const [a1, b1, c1] = [coefficientOf(a, wire), coefficientOf(b, wire), coefficientOf(c, wire)];
  const [a0, b0, c0] = [coefficientOf(a, 0), coefficientOf(b, 0), coefficientOf(c, 0)];
  return {
    x2: (a1 * b1) % prime,
    x1: reduce(a1 * b0 + a0 * b1 - c1, prime),
    x0: reduce(a0 * b0 - c0, prime),
  };
}

/** Finds wires that one constraint alone limits to two values, or to one. */
export function limitToRoots(knowledge: Knowledge): void {
  const { rows, prime } = knowledge.system;
  for (const row of rows) {
    if (row.a.wires.length > 2 || row.b.wires.length > 2 || row.c.wires.length > 2) continue;
    const [wire, ...others] = wiresOf(row);
    if (wire === undefined || others.length > 0) continue;
    const polynomial = polynomialOf(row, wire, prime);
    if (polynomial.x2 === 0n) continue;
    const [first, second = first] = rootsOf(polynomial, prime);
    if (first === undefined || second === undefined) continue;
    knowledge.bind(wire, first > second ? first : second);
    if (first === second) knowledge.fix(wire, "roots");
  }
}

/** Returns the least and greatest value of a form as an integer; undefined when one of its wires has no bound. */
export function intervalOf({ wires, coefficients }: LinearForm, knowledge: Knowledge): Interval | undefined {
  const { prime } = knowledge.system;
  let [low, high] = [0n, 0n];
  for (let i = 0; i < wires.length; i += 1) {
    const wire = wires[i] ?? 0;
    const bound = knowledge.bounds[wire];
    if (bound === undefined) return undefined;
    const coefficient = signed(coefficients[i] ?? 0n, prime);
    if (wire === 0) {
      low += coefficient;
      high += coefficient;
    } else if (coefficient > 0n) high += coefficient * bound;
    else low += coefficient * bound;
  }
  return { low, high };
}

/** Bounds the one wire of a constraint that has no bound: the rest of the constraint says its value. */
export function boundLast(row: Row, knowledge: Knowledge): void {
  const { prime } = knowledge.system;
  const unbounded = row.c.wires.filter((wire) => knowledge.bounds[wire] === undefined);
  const [wire] = unbounded;
  if (wire === undefined || unbounded.length > 1) return;
  const product = isLinear(row) ? { low: 0n, high: 0n } : productInterval(row, knowledge);
  if (product === undefined) return;
  // wire = (A * B - rest) / coefficient
  const scale = inverse(coefficientOf(row.c, wire), prime);
  const factor = signed(scale, prime);
  let low = factor > 0n ? factor * product.low : factor * product.high;
  let high = factor > 0n ? factor * product.high : factor * product.low;
  const rest = row.c.wires.flatMap((other, i) =>
    other === wire ? [] : [[other, reduce(-(row.c.coefficients[i] ?? 0n) * scale, prime)] as const],
  );
  const interval = intervalOf({ wires: rest.map(([other]) => other), coefficients: rest.map(([, c]) => c) }, knowledge);
  if (interval === undefined) return;
  low += interval.low;
  high += interval.high;
  if (low >= 0n && high < prime) knowledge.bind(wire, high);
}

/** Fixes the unknown wires of a known sum, if they are the digits of a number below the prime. */
export function fixDigits(row: Row, knowledge: Knowledge, belowPrime: BelowPrimeIndex): boolean {
  const { prime } = knowledge.system;
  const unknown = knowledge.unknownsOf(row.c);
  const digits: { readonly wire: number; readonly coefficient: bigint; readonly bound: bigint }[] = [];
  for (const { wire, coefficient } of unknown) {
    const bound = knowledge.bounds[wire];
    if (bound === undefined) return false;
    digits.push({ wire, coefficient, bound });
  }
  const ends = [digits[0], digits.at(-1)].flatMap((digit) => (digit === undefined ? [] : [digit.coefficient]));
  const scales = [1n, ...ends.map((end) => (end === 1n || end === prime - 1n ? 1n : inverse(end, prime)))];
  const isFixed = [...new Set(scales)].some((scale) => areDigits(digits, scale, prime));
  if (isFixed) for (const { wire } of digits) knowledge.fix(wire, "radix");
  else if (digits.every(({ bound }) => bound === 1n) && belowPrime.holds(unknown, prime))
    for (const { wire } of digits) knowledge.fix(wire, "contract");
  else return false;
  return true;
}

/** Looks up whether the terms of a sum are all the bits of a number that is held below the prime. */
export class BelowPrimeIndex {
  readonly #places = new Map<number, { readonly list: number; readonly bit: number }>();
  readonly #lists: BelowPrime;
  readonly #rootOf: (wire: number) => number;

  /** @param rootOf one name for all wires that are equal */
  constructor(lists: BelowPrime, rootOf: (wire: number) => number) {
    this.#lists = lists;
    this.#rootOf = rootOf;
    lists.forEach((wires, list) => {
      wires.forEach((wire, bit) => this.#places.set(rootOf(wire), { list, bit }));
    });
  }

  /** Whether the terms are coefficient * (bit 0 + 2 * bit 1 + 4 * bit 2 ...), with each bit of one such number. */
  holds(terms: readonly { readonly wire: number; readonly coefficient: bigint }[], prime: bigint): boolean {
    const [first] = terms;
    const place = first === undefined ? undefined : this.#places.get(this.#rootOf(first.wire));
    if (first === undefined || place === undefined || this.#lists[place.list]?.length !== terms.length) return false;
    const unit = reduce(first.coefficient * inverse(1n << BigInt(place.bit), prime), prime);
    const bits = new Set<number>();
    return terms.every(({ wire, coefficient }) => {
      const at = this.#places.get(this.#rootOf(wire));
      if (at?.list !== place.list || bits.has(at.bit)) return false;
      bits.add(at.bit);
      return coefficient === reduce(unit << BigInt(at.bit), prime);
    });
  }
}

/**
 * Two different choices of the digits would differ by a sum of coefficients times differences that is zero modulo the
 * prime; it is not zero when each coefficient exceeds all that the smaller ones can add, and all stay below the prime.
 */
function areDigits(
  digits: readonly { readonly coefficient: bigint; readonly bound: bigint }[],
  scale: bigint,
  prime: bigint,
): boolean {
  const scaled = digits.map(({ coefficient, bound }) => {
    const value = signed(scale === 1n ? coefficient : (coefficient * scale) % prime, prime);
    return { weight: value < 0n ? -value : value, bound };
  });
  scaled.sort((left, right) => (left.weight < right.weight ? -1 : left.weight > right.weight ? 1 : 0));
  let sum = 0n;
  for (const { weight, bound } of scaled) {
    if (weight <= sum) return false;
    sum += weight * bound;
    if (sum >= prime) return false;
  }
  return true;
}

function productInterval({ a, b }: Row, knowledge: Knowledge): Interval | undefined {
  const left = intervalOf(a, knowledge);
  const right = left === undefined ? undefined : intervalOf(b, knowledge);
  if (left === undefined || right === undefined || left.low < 0n || right.low < 0n) return undefined;
  return { low: left.low * right.low, high: left.high * right.high };
}
