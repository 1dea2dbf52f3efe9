/** Forms of a + b w in base 2: that they have the value, and cost no more than the non-adjacent form of width 3. */
import { describe, expect, it } from "vitest";
import { cheapestForm, digitValue } from "../../../../src/engine/kernels/msm/eisenstein-digits.js";
import type { DigitForm, EisensteinNumber } from "../../../../src/engine/kernels/msm/eisenstein-digits.js";
import { seededRandom } from "../../../support/seeded.js";

const random = seededRandom();
const COSTS = { position: 6, digit: 5 };

/** An integer of either sign with at most so many bits. */
function integer(bits: number): bigint {
  let value = 0n;
  for (let i = 0; i < 5; i += 1) value = (value << 32n) | BigInt(random.below(2 ** 32));
  value &= (1n << BigInt(bits)) - 1n;
  return random.below(2) === 0 ? value : -value;
}

function valueOf({ digits }: DigitForm): EisensteinNumber {
  let [a, b] = [0n, 0n];
  for (const digit of digits) {
    const [addedA, addedB] = digit === undefined ? [0n, 0n] : digitValue(digit);
    [a, b] = [2n * a + addedA, 2n * b + addedB];
  }
  return [a, b];
}

function costOf({ digits }: DigitForm): number {
  const added = digits.slice(1).filter((digit) => digit !== undefined).length;
  return COSTS.position * (digits.length - 1) + COSTS.digit * added;
}

/** The digits of all rows, turns and signs. */
const DIGITS = Array.from({ length: 48 }, (_, i) =>
  digitValue({ row: Math.floor(i / 6), turn: (Math.floor(i / 2) % 3) as 0 | 1 | 2, isNegative: i % 2 === 1 }),
);

describe("forms of a + b w in base 2", () => {
  it("have the number's value and begin with a digit, for all small numbers", () => {
    for (let a = -40n; a <= 40n; a += 1n)
      for (let b = -40n; b <= 40n; b += 1n) {
        if (a === 0n && b === 0n) continue;
        const form = cheapestForm([a, b], COSTS);
        expect(valueOf(form), `${a} + ${b} w`).toEqual([a, b]);
        expect(form.digits[0]).toBeDefined();
        expect(form.cost).toBe(costOf(form));
      }
  });

  it("have the value of numbers as long as halves of scalars are, and few digits", () => {
    let digits = 0;
    for (let i = 0; i < 40; i += 1) {
      const number: EisensteinNumber = [integer(128), integer(128)];
      const form = cheapestForm(number, COSTS);
      expect(valueOf(form), `seed ${random.seed}`).toEqual(number);
      expect(form.digits.length).toBeLessThanOrEqual(132);
      digits += form.digits.filter((digit) => digit !== undefined).length;
    }
    // Width 3 has one in 3 1/3 positions, 38.4 of 128.
    expect(digits / 40, `seed ${random.seed}`).toBeLessThan(42);
  });

  it("have the value at the ends of the range", () => {
    for (const bits of [0n, 1n, 31n, 32n, 63n, 64n, 127n, 190n])
      for (const a of [-(1n << bits), (1n << bits) - 1n, 1n << bits, 0n])
        for (const b of [0n, 1n, -1n, 1n << bits, -(1n << bits)]) {
          if (a === 0n && b === 0n) continue;
          expect(valueOf(cheapestForm([a, b], COSTS)), `${a} + ${b} w`).toEqual([a, b]);
        }
  });

  it("use digits that are one for each odd residue modulo 8", () => {
    const residues = DIGITS.map(([a, b]) => `${String(((a % 8n) + 8n) % 8n)},${String(((b % 8n) + 8n) % 8n)}`);
    expect(new Set(residues).size).toBe(48);
    expect(DIGITS.every(([a, b]) => a % 2n !== 0n || b % 2n !== 0n)).toBe(true);
  });

  it("are one digit for each digit", () => {
    for (const digit of DIGITS) expect(cheapestForm(digit, COSTS).digits).toHaveLength(1);
  });
});
