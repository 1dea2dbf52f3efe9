/** The random null vector against what elimination of a dense matrix says. */
import { describe, expect, it } from "vitest";
import { randomNullVector, type SparseRow } from "../../../src/engine/analysis/null-vector.js";
import { squareRootIn } from "../../../src/engine/analysis/quadratic.js";
import { inverse, reduce } from "../../../src/engine/field/prime-field.js";
import { seededRandom } from "../../support/seeded.js";

const P = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
const COLUMNS = 12;
const random = seededRandom();

/** Columns that are zero in every solution: those of rows with one entry in the reduced form. */
function fixedColumns(rows: readonly SparseRow[]): number[] {
  const dense = rows.map((row) => Array.from({ length: COLUMNS }, (_, i) => row.get(i) ?? 0n));
  let next = 0;
  for (let column = 0; column < COLUMNS; column += 1) {
    const at = dense.findIndex((row, i) => i >= next && row[column] !== 0n);
    if (at < 0) continue;
    [dense[next], dense[at]] = [dense[at]!, dense[next]!];
    const scale = inverse(dense[next]![column]!, P);
    dense[next] = dense[next]!.map((value) => (value * scale) % P);
    dense.forEach((row, i) => {
      const factor = row[column]!;
      if (i !== next) dense[i] = row.map((value, k) => reduce(value - factor * dense[next]![k]!, P));
    });
    next += 1;
  }
  return dense.flatMap((row) => {
    const entries = row.flatMap((value, i) => (value === 0n ? [] : [i]));
    return entries.length === 1 ? entries : [];
  });
}

describe(`random null vectors (seed ${String(random.seed)})`, () => {
  it("satisfies every row and is zero exactly where every solution is", () => {
    for (let round = 0; round < 200; round += 1) {
      const rows = Array.from({ length: 1 + random.below(COLUMNS) }, () => {
        const row: SparseRow = new Map();
        for (let terms = 1 + random.below(3); terms > 0; terms -= 1)
          row.set(random.below(COLUMNS), BigInt(1 + random.below(5)));
        return row;
      });
      const vector = randomNullVector(
        rows.map((row) => new Map(row)),
        P,
        1e6,
      );
      for (const row of rows)
        expect(
          reduce(
            [...row].reduce((sum, [i, value]) => sum + value * (vector?.get(i) ?? 0n), 0n),
            P,
          ),
        ).toBe(0n);
      const zeros = [...(vector ?? [])].flatMap(([i, value]) => (value === 0n ? [i] : []));
      expect(zeros.sort((a, b) => a - b)).toEqual(fixedColumns(rows).sort((a, b) => a - b));
    }
  });

  it("gives up when the elimination takes more steps than allowed", () => {
    const rows = Array.from({ length: 6 }, (_, i) => new Map([0, 1, 2, 3, 4, 5].map((j) => [j, BigInt((i + 2) ** j)])));
    expect(randomNullVector(rows, P, 5)).toBeUndefined();
  });
});

describe("square roots", () => {
  it("finds the roots of squares and of nothing else", () => {
    for (let round = 0; round < 40; round += 1) {
      const value = BigInt(1 + random.below(2 ** 31)) ** 5n % P;
      const root = squareRootIn((value * value) % P, P) ?? 0n;
      expect([value, P - value]).toContain(root);
      // 5 is no square modulo this prime.
      expect(squareRootIn((5n * value * value) % P, P)).toBeUndefined();
    }
  });
});
