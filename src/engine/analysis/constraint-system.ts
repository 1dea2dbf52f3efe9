/**
 * A rank-1 constraint system in the form that the analysis works on: one object a constraint, constant factors folded
 * in, and for each wire the constraints that it occurs in. Coefficients are canonical bigints.
 */
import { reduce } from "../field/prime-field.js";
import type { R1cs, R1csMatrix } from "../circuit/r1cs.js";
import { readBigIntLE } from "../field/bytes.js";

/** A sum of coefficients times wires, sorted by wire, without zeros; wire 0 is the constant 1. */
export interface LinearForm {
  readonly wires: readonly number[];
  /** In [1, prime). */
  readonly coefficients: readonly bigint[];
}

/** A * B = C; a linear constraint has empty A and B, so that C = 0. Neither A nor B of another one is a constant. */
export interface Row {
  readonly a: LinearForm;
  readonly b: LinearForm;
  readonly c: LinearForm;
}

export interface ConstraintSystem {
  readonly prime: bigint;
  /** Wires of the circuit, and those that the analysis adds behind them. */
  readonly wireCount: number;
  readonly rows: readonly Row[];
  /** Rows of wire w: rowsOfWire[columnOffsets[w] .. columnOffsets[w + 1] - 1]. Wire 0 has none. */
  readonly columnOffsets: Uint32Array;
  readonly rowsOfWire: Uint32Array;
  /** The sides of that row with the wire: SIDE_A, SIDE_B and SIDE_C added. */
  readonly sidesOfWire: Uint8Array;
}

export const SIDE_A = 1;
export const SIDE_B = 2;
export const SIDE_C = 4;

export const EMPTY_FORM: LinearForm = { wires: [], coefficients: [] };

/** Reads the rows of an R1CS. Cost: about 1 s per million terms. */
export function rowsOf(r1cs: R1cs): Row[] {
  const { a, b, c } = r1cs.constraints;
  const known = new Map<string, bigint>();
  return Array.from({ length: r1cs.constraintCount }, (_, row) =>
    foldRow({ a: formAt(a, row, known), b: formAt(b, row, known), c: formAt(c, row, known) }, r1cs.prime),
  );
}

/** Joins rows to a system, with the columns that they make. */
export function systemOf(rows: readonly Row[], wireCount: number, prime: bigint): ConstraintSystem {
  const columnOffsets = new Uint32Array(wireCount + 1);
  eachEntry(rows, wireCount, (wire) => {
    columnOffsets[wire + 1] = (columnOffsets[wire + 1] ?? 0) + 1;
  });
  for (let wire = 0; wire < wireCount; wire += 1)
    columnOffsets[wire + 1] = (columnOffsets[wire + 1] ?? 0) + (columnOffsets[wire] ?? 0);
  const next = columnOffsets.slice();
  const rowsOfWire = new Uint32Array(columnOffsets[wireCount] ?? 0);
  const sidesOfWire = new Uint8Array(rowsOfWire.length);
  eachEntry(rows, wireCount, (wire, row, sides) => {
    const at = next[wire] ?? 0;
    rowsOfWire[at] = row;
    sidesOfWire[at] = sides;
    next[wire] = at + 1;
  });
  return { prime, wireCount, rows, columnOffsets, rowsOfWire, sidesOfWire };
}

/** Calls for each wire of each row, with the sides that it is on; not for the constant. */
function eachEntry(
  rows: readonly Row[],
  wireCount: number,
  visit: (wire: number, row: number, sides: number) => void,
): void {
  const seen = new Int32Array(wireCount).fill(-1);
  const sides = new Uint8Array(wireCount);
  rows.forEach((row, index) => {
    const found: number[] = [];
    [row.a, row.b, row.c].forEach(({ wires }, side) => {
      for (const wire of wires) {
        if (wire === 0) continue;
        if (seen[wire] === index) sides[wire] = (sides[wire] ?? 0) | (1 << side);
        else {
          seen[wire] = index;
          sides[wire] = 1 << side;
          found.push(wire);
        }
      }
    });
    for (const wire of found) visit(wire, index, sides[wire] ?? 0);
  });
}

/** Returns the rows that a wire occurs in. */
export function rowsWith(system: ConstraintSystem, wire: number): Uint32Array {
  return system.rowsOfWire.subarray(system.columnOffsets[wire] ?? 0, system.columnOffsets[wire + 1] ?? 0);
}

/** Returns the distinct wires of a row, without the constant. */
export function wiresOf(row: Row): number[] {
  if (row.a.wires.length === 0) return row.c.wires.filter((wire) => wire !== 0);
  const wires = new Set([...row.a.wires, ...row.b.wires, ...row.c.wires]);
  wires.delete(0);
  return [...wires];
}

/** Returns whether C = 0 is all that the row says. */
export function isLinear(row: Row): boolean {
  return row.a.wires.length === 0;
}

/** Returns the coefficient of a wire; zero when it does not occur. */
export function coefficientOf(form: LinearForm, wire: number): bigint {
  const at = form.wires.indexOf(wire);
  return at < 0 ? 0n : (form.coefficients[at] ?? 0n);
}

/** Returns the value of a form for values of all its wires, canonical. */
export function evaluate(form: LinearForm, values: readonly (bigint | undefined)[], prime: bigint): bigint {
  let sum = 0n;
  const { wires, coefficients } = form;
  for (let i = 0; i < wires.length; i += 1) {
    const value = values[wires[i] ?? 0];
    if (value !== undefined && value !== 0n) sum += value * (coefficients[i] ?? 0n);
  }
  return sum % prime;
}

/** Returns left + factor * right. */
export function addScaled(left: LinearForm, right: LinearForm, factor: bigint, prime: bigint): LinearForm {
  const terms = new Map(left.wires.map((wire, i) => [wire, left.coefficients[i] ?? 0n]));
  right.wires.forEach((wire, i) => {
    terms.set(wire, (terms.get(wire) ?? 0n) + factor * (right.coefficients[i] ?? 0n));
  });
  return formOf(terms, prime);
}

/** Makes a form of wires and coefficients in any form and order. */
export function formOf(terms: Iterable<readonly [number, bigint]>, prime: bigint): LinearForm {
  const kept = [...terms]
    .map(([wire, coefficient]) => [wire, reduce(coefficient, prime)] as const)
    .filter(([, coefficient]) => coefficient !== 0n)
    .sort(([left], [right]) => left - right);
  return { wires: kept.map(([wire]) => wire), coefficients: kept.map(([, coefficient]) => coefficient) };
}

/**
 * Finds the first row that values break, with exact integers.
 * @returns its index; undefined when all hold
 */
export function firstBroken(rows: readonly Row[], values: readonly bigint[], prime: bigint): number | undefined {
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index];
    if (row === undefined) break;
    const product = evaluate(row.a, values, prime) * evaluate(row.b, values, prime);
    if ((product - evaluate(row.c, values, prime)) % prime !== 0n) return index;
  }
  return undefined;
}

function formAt(matrix: R1csMatrix, row: number, known: Map<string, bigint>): LinearForm {
  const start = matrix.rowOffsets[row] ?? 0;
  const end = matrix.rowOffsets[row + 1] ?? 0;
  const wires: number[] = [];
  const coefficients: bigint[] = [];
  let isSorted = true;
  for (let term = start; term < end; term += 1) {
    const wire = matrix.wires[term] ?? 0;
    const coefficient = coefficientAt(matrix, term, known);
    if (coefficient === 0n) continue;
    if (wires.length > 0 && (wires.at(-1) ?? 0) >= wire) isSorted = false;
    wires.push(wire);
    coefficients.push(coefficient);
  }
  return isSorted ? { wires, coefficients } : merged(wires, coefficients);
}

function merged(wires: readonly number[], coefficients: readonly bigint[]): LinearForm {
  const terms = new Map<number, bigint>();
  wires.forEach((wire, i) => terms.set(wire, (terms.get(wire) ?? 0n) + (coefficients[i] ?? 0n)));
  const sorted = [...terms].sort(([left], [right]) => left - right);
  return { wires: sorted.map(([wire]) => wire), coefficients: sorted.map(([, coefficient]) => coefficient) };
}

/** Circuits use few different coefficients, so that each is turned into a number once. */
function coefficientAt(matrix: R1csMatrix, term: number, known: Map<string, bigint>): bigint {
  const { buffer, byteOffset } = matrix.coefficients;
  const key = Buffer.from(buffer, byteOffset + term * 32, 32).toString("latin1");
  const found = known.get(key);
  if (found !== undefined) return found;
  const value = readBigIntLE(matrix.coefficients, term * 32);
  known.set(key, value);
  return value;
}

function foldRow(row: Row, prime: bigint): Row {
  const a = constantOf(row.a);
  const b = constantOf(row.b);
  const clean = { a: reduced(row.a, prime), b: reduced(row.b, prime), c: reduced(row.c, prime) };
  if (a === undefined && b === undefined) return clean;
  const [factor, other] = a === undefined ? [b ?? 0n, clean.a] : [a, clean.b];
  // factor * other = C, so that C - factor * other = 0.
  return { a: EMPTY_FORM, b: EMPTY_FORM, c: factor === 0n ? clean.c : addScaled(clean.c, other, -factor, prime) };
}

function reduced(form: LinearForm, prime: bigint): LinearForm {
  return form.coefficients.every((coefficient) => coefficient < prime)
    ? form
    : formOf(
        form.wires.map((wire, i) => [wire, form.coefficients[i] ?? 0n] as const),
        prime,
      );
}

/** The value of a form without wires; undefined when it has some. */
function constantOf({ wires, coefficients }: LinearForm): bigint | undefined {
  if (wires.length === 0) return 0n;
  return wires.length === 1 && wires[0] === 0 ? coefficients[0] : undefined;
}
