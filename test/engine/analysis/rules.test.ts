/** The rules of propagation on systems written by hand, each at its boundary. */
import { describe, expect, it } from "vitest";
import { formOf, systemOf, type LinearForm, type Row } from "../../../src/engine/analysis/constraint-system.js";
import { CONDITIONAL, OPEN, UNIQUE } from "../../../src/engine/analysis/knowledge.js";
import { propagate } from "../../../src/engine/analysis/propagation.js";

const P = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
const never = (): boolean => false;

/** Terms by wire; wire 0 is the constant. */
type Terms = Readonly<Record<number, bigint>>;

function form(terms: Terms): LinearForm {
  return formOf(
    Object.entries(terms).map(([wire, coefficient]) => [Number(wire), coefficient] as const),
    P,
  );
}
const product = (a: Terms, b: Terms, c: Terms): Row => ({ a: form(a), b: form(b), c: form(c) });
const zero = (c: Terms): Row => product({}, {}, c);
const bit = (wire: number): Row => product({ [wire]: 1n }, { 0: -1n, [wire]: 1n }, {});

/** States of all wires but the constant, wire 1 first. */
function statesOf(rows: readonly Row[], inputs: readonly number[]): number[] {
  const wires = Math.max(...rows.flatMap(({ a, b, c }) => [...a.wires, ...b.wires, ...c.wires]), ...inputs);
  const { knowledge } = propagate(systemOf(rows, wires + 1, P), { inputs, belowPrime: [], isOver: never });
  return [...knowledge.states].slice(1);
}

describe("linear constraints", () => {
  it("fixes the one unknown of a sum, and of a product of known wires", () => {
    expect(statesOf([zero({ 1: 1n, 2: 2n, 3: -1n }), product({ 1: 1n }, { 2: 1n }, { 4: 5n })], [1, 2])).toEqual([
      1,
      1,
      UNIQUE,
      UNIQUE,
    ]);
  });

  it("solves several together, and leaves what they leave free", () => {
    const sums = [zero({ 1: 1n, 2: 1n, 3: 1n }), zero({ 1: 1n, 2: 1n, 3: -1n }), zero({ 4: 1n, 5: 1n, 1: 1n })];
    expect(statesOf(sums, [1])).toEqual([1, UNIQUE, UNIQUE, OPEN, OPEN]);
  });

  it("does not call x fixed by x * x, whose root has two signs", () => {
    expect(statesOf([product({ 2: 1n }, { 2: 1n }, { 1: 1n })], [1])).toEqual([1, OPEN]);
    expect(statesOf([product({ 1: 1n }, { 1: 1n }, {})], [])).toEqual([UNIQUE]);
  });
});

describe("digits of a known sum", () => {
  const digits = (count: number, top = 1n << BigInt(count - 1)): Row[] => {
    const terms: Record<number, bigint> = { 1: -1n };
    for (let i = 0; i < count; i += 1) terms[i + 2] = i === count - 1 ? top : 1n << BigInt(i);
    return [zero(terms), ...Array.from({ length: count }, (_, i) => bit(i + 2))];
  };

  it("fixes bits whose sum stays below the prime, whatever multiple of it is given", () => {
    expect(statesOf(digits(253), [1])).not.toContain(OPEN);
    const [sum, ...bits] = digits(8);
    const c = sum?.c ?? form({});
    const tripled = {
      ...product({}, {}, {}),
      c: { ...c, coefficients: c.coefficients.map((value) => (3n * value) % P) },
    };
    expect(statesOf([tripled, ...bits], [1])).not.toContain(OPEN);
  });

  it("leaves bits whose sum reaches the prime", () => {
    expect(statesOf(digits(254), [1])).toContain(OPEN);
  });

  it("leaves bits when two have the same weight", () => {
    expect(statesOf(digits(4, 4n), [1])).toContain(OPEN);
    expect(statesOf(digits(4, 7n), [1])).toContain(OPEN);
    expect(statesOf(digits(4, 8n), [1])).not.toContain(OPEN);
  });

  it("bounds a wire by the sum that it is", () => {
    // 4 = bits 2 and 3; 1 = 4 + 4 * bit 5 has one way, 1 = 4 + 2 * bit 5 has two.
    const low = [bit(2), bit(3), bit(5), zero({ 4: -1n, 2: 1n, 3: 2n })];
    expect(statesOf([...low, zero({ 1: -1n, 4: 1n, 5: 4n })], [1])).not.toContain(OPEN);
    expect(statesOf([...low, zero({ 1: -1n, 4: 1n, 5: 2n })], [1])).toContain(OPEN);
  });
});

describe("known factors", () => {
  // 1 is x, 2 its inverse, 3 whether it is zero.
  const inverse = product({ 1: 1n }, { 2: 1n }, { 0: 1n, 3: -1n });
  const annuls = product({ 1: 1n }, { 3: 1n }, {});

  it("fixes a zero test in both cases, and its inverse in one", () => {
    expect(statesOf([inverse, annuls], [1])).toEqual([1, CONDITIONAL, UNIQUE]);
  });

  it("does not fix a zero test that lacks a constraint", () => {
    expect(statesOf([inverse], [1])).toEqual([1, OPEN, OPEN]);
    expect(statesOf([annuls], [1])[2]).toBe(CONDITIONAL);
  });

  it("fixes a factor beside one that is never zero", () => {
    // 1 + bit 1 is 1 or 2.
    expect(statesOf([bit(1), product({ 0: 1n, 1: 1n }, { 2: 1n }, { 3: 1n })], [1, 3])).toEqual([1, UNIQUE, 1]);
  });

  const choices = (values: readonly bigint[]): Row[] => [
    ...values.map((value, i) => product({ 0: -value, 1: 1n }, { [i + 3]: 1n }, {})),
    zero(Object.fromEntries<bigint>([[2, -1n], ...values.map((_, i): [number, bigint] => [i + 3, 1n])])),
  ];

  it("fixes choices of a known sum when at most one is not zero", () => {
    expect(statesOf(choices([0n, 1n, 2n]), [1, 2])).not.toContain(OPEN);
    expect(statesOf(choices([0n, 1n, 2n]), [1, 2])).not.toContain(CONDITIONAL);
  });

  it("does not when two of them may be", () => {
    expect(statesOf(choices([0n, 1n, 1n]), [1, 2])).toContain(CONDITIONAL);
  });
});
