/** Pages in which the log is read: so many rows, and fewer where they are large, since all of a page is in memory. */
import { ROW_COLUMNS, rowOf, type SqlRow } from "./cluster-schema.js";
import type { LogRow } from "./log-row.js";

/** Rows of the log in order. */
export interface LogPage {
  readonly rows: readonly LogRow[];
  /** Whether the log ended behind them when they were read. */
  readonly isLast: boolean;
}

const PAGE_ROWS = 64;
/** Of their bodies, which are text of twice that while they come; one row at least is read. */
const PAGE_BYTES = 16 * 2 ** 20;

/**
 * The page behind $1. It has an upper end, although nothing is behind it: where PostgreSQL knows nothing of a table
 * yet, it takes a third of it to be greater than a number, and reads all of it to find the last row; a range with two
 * ends it takes to be narrow, and goes by the index.
 */
export const PAGE_AFTER = `SELECT ${ROW_COLUMNS}, looked_at
  FROM (SELECT ${ROW_COLUMNS}, sum(octet_length(body)) OVER (ORDER BY g) AS bytes, count(*) OVER () AS looked_at
    FROM (SELECT ${ROW_COLUMNS} FROM pw_log
      WHERE g > $1::bigint AND g <= $1::bigint + ${String(Number.MAX_SAFE_INTEGER)}
      ORDER BY g LIMIT ${String(PAGE_ROWS)}) AS found) AS summed
  WHERE bytes <= ${String(PAGE_BYTES)} OR g = $1::bigint + 1 ORDER BY g`;

/** Reads what `PAGE_AFTER` has found. */
export function pageOf(found: readonly SqlRow[]): LogPage {
  const lookedAt = Number(found[0]?.["looked_at"] ?? 0);
  return { rows: found.map(rowOf), isLast: lookedAt < PAGE_ROWS && found.length === lookedAt };
}
