/**
 * Numbers a + b w, where w is a cube root of one, in base 2. A curve y^2 = x^3 + b multiplies its points by w for one
 * product, and by -1 and w^2 for none, so that of six digits that differ by a root of one only one takes a row in a
 * table, and both halves of a scalar (pairing/scalar-halves.ts) are one number with half as many digits. The digits are
 * those of the non-adjacent form of width 3: eight numbers with their products by roots of one for the 48 odd residues
 * modulo 8 (R. Avanzi, C. Heuberger, H. Prodinger, "Redundant tau-adic expansions I", Designs, Codes and Cryptography,
 * 2011, treat such digits). Among all forms that they allow a search finds one that costs least.
 */

/** a + b w. */
export type EisensteinNumber = readonly [bigint, bigint];

/** One digit: w^turn times a number of the table, or minus that. */
export interface EisensteinDigit {
  /** Index in `DIGIT_ROWS`. */
  readonly row: number;
  readonly turn: 0 | 1 | 2;
  readonly isNegative: boolean;
}

/** A number of the table: that of the row `left`, or twice the first row's, plus a digit. */
export interface DigitRow {
  readonly left: number | "twice";
  readonly right: EisensteinDigit;
}

/** How the rows of the table after the first, which is 1, follow from those before. */
export const DIGIT_ROWS: readonly DigitRow[] = [
  // 2 + w, 2 - w, 2 - w^2 and 3.
  { left: "twice", right: { row: 0, turn: 1, isNegative: false } },
  { left: "twice", right: { row: 0, turn: 1, isNegative: true } },
  { left: "twice", right: { row: 0, turn: 2, isNegative: true } },
  { left: "twice", right: { row: 0, turn: 0, isNegative: false } },
  // 3 - w, 3 - w^2 and 5 + 2 w.
  { left: 4, right: { row: 0, turn: 1, isNegative: true } },
  { left: 4, right: { row: 0, turn: 2, isNegative: true } },
  { left: 3, right: { row: 1, turn: 0, isNegative: false } },
];

type Small = readonly [number, number];

/** The numbers of the table. */
const ROW_VALUES: readonly Small[] = rowValues();

interface ValuedDigit extends EisensteinDigit {
  readonly value: Small;
}

const DIGITS: readonly ValuedDigit[] = ROW_VALUES.flatMap((value, row) =>
  ([0, 1, 2] as const).flatMap((turn) =>
    [false, true].map((isNegative) => ({ row, turn, isNegative, value: rotated(value, { turn, isNegative }) })),
  ),
);
/** What is carried has coordinates of at most this, as digits' are of at most 5: (1 + 6 + 5) / 2. */
const CARRY_MAX = 6;
const CARRY_SPAN = 2 * CARRY_MAX + 1;
const CARRIES: readonly Small[] = Array.from({ length: CARRY_SPAN ** 2 }, (_, i) => [
  Math.floor(i / CARRY_SPAN) - CARRY_MAX,
  (i % CARRY_SPAN) - CARRY_MAX,
]);
const NO_CARRY = carryIndex(0, 0);
const NO_DIGIT = -1;
/**
 * A way that costs more than the cheapest one to the same position by so many digits is not followed: of 500 random
 * numbers none had a cheaper form by such a way.
 */
const DIGITS_BEHIND_MAX = 2;
/**
 * Where each of a number's bits, a + 2 b, and each carry lead: pairs of a digit and the carry after it. Flat, as this
 * is run through once, before the engine has optimised it.
 */
const MOVES: readonly (readonly Int16Array[])[] = [0, 1, 2, 3].map((bits) =>
  CARRIES.map(([a, b]) => movesFrom([a + (bits & 1), b + (bits >> 1)])),
);

/** What a form costs: each of its positions above the lowest, and each digit below the highest, in addition. */
export interface DigitCosts {
  readonly position: number;
  readonly digit: number;
}

/** Digits from the highest, which is one of the table, downwards; undefined where there is none. */
export interface DigitForm {
  readonly cost: number;
  readonly digits: readonly (EisensteinDigit | undefined)[];
}

/** Returns the value of a digit. */
export function digitValue({ row, turn, isNegative }: EisensteinDigit): EisensteinNumber {
  const [a, b] = rotated(ROW_VALUES[row] ?? [0, 0], { turn, isNegative });
  return [BigInt(a), BigInt(b)];
}

/** Returns a form of a number other than 0 that costs least: position by position, the cheapest way to each carry. */
export function cheapestForm([a, b]: EisensteinNumber, costs: DigitCosts): DigitForm {
  const length = Math.max(bitLength(a), bitLength(b)) + CARRY_MAX;
  const search = new FormSearch(costs, length);
  let best: { cost: number; position: number; digit: number; carry: number } | undefined;
  for (let position = 0; position < length; position += 1) {
    const rest: EisensteinNumber = [a >> BigInt(position), b >> BigInt(position)];
    const end =
      isSmall(rest[0]) && isSmall(rest[1]) ? search.cheapestEnd([Number(rest[0]), Number(rest[1])]) : undefined;
    if (end !== undefined && (best === undefined || end.cost < best.cost)) best = { ...end, position };
    search.advance(position, Number(rest[0] & 1n) + 2 * Number(rest[1] & 1n));
  }
  if (best === undefined) throw new Error("a number other than 0 has a highest digit");
  return { cost: best.cost, digits: [DIGITS[best.digit], ...search.digitsBelow(best.position, best.carry)] };
}

/** The cheapest ways to each carry, from the lowest position upwards. */
class FormSearch {
  readonly #costs: DigitCosts;
  /** Of each position and the carry that leaves it: the digit there. */
  readonly #digits: Int8Array;
  /** Of each position, a + 2 b. */
  readonly #bits: number[] = [];
  #best: Float64Array<ArrayBuffer> = new Float64Array(CARRIES.length).fill(Infinity);
  #next: Float64Array<ArrayBuffer> = new Float64Array(CARRIES.length);

  constructor(costs: DigitCosts, length: number) {
    this.#costs = costs;
    this.#digits = new Int8Array(length * CARRIES.length).fill(NO_DIGIT);
    this.#best[NO_CARRY] = 0;
  }

  /** Goes up by one position, given the number's bits there. */
  advance(position: number, bits: number): void {
    this.#bits.push(bits);
    const [best, next, digits] = [this.#best, this.#next, this.#digits];
    const perDigit = this.#costs.digit;
    let limit = Infinity;
    for (const cost of best) limit = Math.min(limit, cost + DIGITS_BEHIND_MAX * perDigit);
    next.fill(Infinity);
    for (let from = 0; from < best.length; from += 1) {
      const cost = best[from] ?? Infinity;
      const moves = MOVES[bits]?.[from];
      if (cost > limit || moves === undefined) continue;
      for (let i = 0; i < moves.length; i += 2) {
        const digit = moves[i] ?? NO_DIGIT;
        const to = moves[i + 1] ?? 0;
        const reached = cost + this.#costs.position + (digit === NO_DIGIT ? 0 : perDigit);
        if (reached >= (next[to] ?? 0)) continue;
        next[to] = reached;
        digits[position * best.length + to] = digit;
      }
    }
    [this.#best, this.#next] = [next, best];
  }

  /** Returns the cheapest way to end with one digit, given what is left of the number without the carry. */
  cheapestEnd([a, b]: Small): { readonly cost: number; readonly digit: number; readonly carry: number } | undefined {
    let best: { cost: number; digit: number; carry: number } | undefined;
    for (const [digit, { value }] of DIGITS.entries()) {
      const [carryA, carryB] = [value[0] - a, value[1] - b];
      if (Math.max(Math.abs(carryA), Math.abs(carryB)) > CARRY_MAX) continue;
      const carry = carryIndex(carryA, carryB);
      const cost = this.#best[carry] ?? Infinity;
      if (cost < (best?.cost ?? Infinity)) best = { cost, digit, carry };
    }
    return best;
  }

  /** Returns the digits below a position, the highest first, given the carry that they leave. */
  digitsBelow(position: number, carry: number): (EisensteinDigit | undefined)[] {
    const digits: (EisensteinDigit | undefined)[] = [];
    let [a, b] = CARRIES[carry] ?? [0, 0];
    for (let at = position - 1; at >= 0; at -= 1) {
      const digit = DIGITS[this.#digits[at * CARRIES.length + carryIndex(a, b)] ?? NO_DIGIT];
      digits.push(digit);
      const bits = this.#bits[at] ?? 0;
      const [digitA, digitB] = digit?.value ?? [0, 0];
      [a, b] = [2 * a + digitA - (bits & 1), 2 * b + digitB - (bits >> 1)];
    }
    return digits;
  }
}

/** Returns the digits that may be taken from a number, each with the carry that is left: none of an even one. */
function movesFrom([a, b]: Small): Int16Array {
  const parity = parityOf([a, b]);
  const digits: readonly { readonly index: number; readonly value: Small }[] =
    parity === 0
      ? [{ index: NO_DIGIT, value: [0, 0] }]
      : DIGITS.map(({ value }, index) => ({ index, value })).filter(({ value }) => parityOf(value) === parity);
  return Int16Array.from(
    digits.flatMap(({ index, value }) => [index, carryIndex((a - value[0]) / 2, (b - value[1]) / 2)]),
  );
}

function rowValues(): Small[] {
  const values: Small[] = [[1, 0]];
  for (const { left, right } of DIGIT_ROWS) {
    const [a, b] = left === "twice" ? [2, 0] : (values[left] ?? [0, 0]);
    const [addedA, addedB] = rotated(values[right.row] ?? [0, 0], right);
    values.push([a + addedA, b + addedB]);
  }
  return values;
}

/** w^turn (a + b w), or minus that: w (a + b w) = -b + (a - b) w. */
function rotated(value: Small, { turn, isNegative }: Pick<EisensteinDigit, "turn" | "isNegative">): Small {
  let [a, b] = value;
  for (let i = 0; i < turn; i += 1) [a, b] = [-b, a - b];
  return isNegative ? [-a, -b] : [a, b];
}

function parityOf([a, b]: Small): number {
  return (a & 1) + 2 * (b & 1);
}

function carryIndex(a: number, b: number): number {
  return (a + CARRY_MAX) * CARRY_SPAN + b + CARRY_MAX;
}

/** Whether a digit and a carry may make up the number. */
function isSmall(value: bigint): boolean {
  return value >= -2n * BigInt(CARRY_MAX) && value <= 2n * BigInt(CARRY_MAX);
}

function bitLength(value: bigint): number {
  return (value < 0n ? -value : value).toString(2).length;
}
