/**
 * A random solution of a homogeneous sparse system: a column is zero in every solution iff it is zero in a random one,
 * but for a chance of 1 / prime. Rows with one column are peeled first, then columns with one row, then the shortest
 * row is eliminated by its rarest column: a circuit that can be computed forwards then has no fill-in.
 */
import { randomNonZero } from "../field/bytes.js";
import { inverse, reduce } from "../field/prime-field.js";

export type SparseRow = Map<number, bigint>;

/** Rows that are left after peeling and still eliminated; more would fill in. */
const CORE_ROWS_MAX = 3_000;

interface Solved {
  readonly column: number;
  /** The other columns of its row; column = -sum / pivot. */
  readonly row: SparseRow;
}

/**
 * Returns a random vector of the null space as column -> value, or undefined when it costs too much. Empties the rows.
 * @param stepsMax most multiplications of the elimination
 */
export function randomNullVector(
  rows: SparseRow[],
  prime: bigint,
  stepsMax: number,
): ReadonlyMap<number, bigint> | undefined {
  const columns = new Map<number, Set<number>>();
  rows.forEach((row, index) => {
    for (const column of row.keys()) {
      const holders = columns.get(column) ?? new Set<number>();
      columns.set(column, holders.add(index));
    }
  });
  const everyColumn = [...columns.keys()];
  const values = new Map<number, bigint>();
  const solved: Solved[] = [];
  peel(rows, columns, { values, solved });
  if (!eliminate(rows, columns, { prime, stepsMax, solved })) return undefined;
  const pivots = new Set(solved.map(({ column }) => column));
  for (const column of everyColumn)
    if (!values.has(column) && !pivots.has(column)) values.set(column, randomNonZero(prime));
  for (const { column, row } of solved.reverse()) {
    let sum = 0n;
    for (const [other, coefficient] of row) if (other !== column) sum += coefficient * (values.get(other) ?? 0n);
    sum = reduce(-sum, prime);
    values.set(column, sum === 0n ? 0n : (sum * inverse(row.get(column) ?? 1n, prime)) % prime);
  }
  return values;
}

interface Peeling {
  readonly rows: SparseRow[];
  readonly columns: Map<number, Set<number>>;
  readonly values: Map<number, bigint>;
  readonly solved: Solved[];
}

function peel(rows: SparseRow[], columns: Map<number, Set<number>>, results: Pick<Peeling, "values" | "solved">): void {
  const peeling = { rows, columns, ...results };
  const short = rows.flatMap((row, index) => (row.size === 1 ? [index] : []));
  const rare = [...columns].flatMap(([column, holders]) => (holders.size === 1 ? [column] : []));
  for (;;) {
    const index = short.pop();
    if (index !== undefined) {
      peelRow(index, peeling, short);
      continue;
    }
    const column = rare.pop();
    if (column === undefined) return;
    peelColumn(column, peeling, rare);
  }
}

/** A row with one column: the column is zero. */
function peelRow(index: number, { rows, columns, values }: Peeling, short: number[]): void {
  const row = rows[index];
  const column = row?.size === 1 ? [...row.keys()][0] : undefined;
  if (column === undefined) return;
  values.set(column, 0n);
  for (const holder of columns.get(column) ?? []) {
    rows[holder]?.delete(column);
    if (rows[holder]?.size === 1) short.push(holder);
  }
  columns.delete(column);
}

/** A column with one row: whatever the others are, the row says its value. */
function peelColumn(column: number, { rows, columns, solved }: Peeling, rare: number[]): void {
  const [holder] = columns.get(column) ?? [];
  const row = holder === undefined ? undefined : rows[holder];
  if (holder === undefined || row === undefined || columns.get(column)?.size !== 1) return;
  solved.push({ column, row });
  rows[holder] = new Map();
  for (const other of row.keys()) {
    columns.get(other)?.delete(holder);
    if (columns.get(other)?.size === 1) rare.push(other);
  }
  columns.delete(column);
}

/** Returns whether it came to its end. */
function eliminate(
  rows: SparseRow[],
  columns: Map<number, Set<number>>,
  { prime, stepsMax, solved }: { readonly prime: bigint; readonly stepsMax: number; readonly solved: Solved[] },
): boolean {
  const left = new Set(rows.flatMap((row, index) => (row.size > 0 ? [index] : [])));
  if (left.size > CORE_ROWS_MAX) return false;
  let steps = 0;
  while (left.size > 0) {
    const index = shortestOf(rows, left);
    const row = rows[index] ?? new Map<number, bigint>();
    left.delete(index);
    rows[index] = new Map();
    if (row.size === 0) continue;
    const column = rarestOf(row, columns);
    for (const other of row.keys()) columns.get(other)?.delete(index);
    const scale = inverse(row.get(column) ?? 1n, prime);
    for (const holder of columns.get(column) ?? []) {
      const target = rows[holder];
      if (target === undefined) continue;
      const factor = ((target.get(column) ?? 0n) * scale) % prime;
      for (const [other, coefficient] of row) {
        const value = reduce((target.get(other) ?? 0n) - factor * coefficient, prime);
        if (value === 0n) {
          target.delete(other);
          if (other !== column) columns.get(other)?.delete(holder);
        } else {
          target.set(other, value);
          columns.get(other)?.add(holder);
        }
      }
      steps += row.size;
      if (steps > stepsMax) return false;
    }
    columns.delete(column);
    solved.push({ column, row });
  }
  return true;
}

function shortestOf(rows: readonly SparseRow[], left: ReadonlySet<number>): number {
  let best = -1;
  let size = Infinity;
  for (const index of left) {
    const length = rows[index]?.size ?? 0;
    if (length < size) [best, size] = [index, length];
  }
  return best;
}

function rarestOf(row: SparseRow, columns: ReadonlyMap<number, ReadonlySet<number>>): number {
  let best = 0;
  let count = Infinity;
  for (const column of row.keys()) {
    const holders = columns.get(column)?.size ?? 0;
    if (holders < count) [best, count] = [column, holders];
  }
  return best;
}
