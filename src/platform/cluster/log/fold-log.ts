/**
 * Writes the log behind itself into the folded records, from which nodes join and backups are taken, and deletes rows
 * that no node needs any more. Any node may fold at any time: the row of `pw_fold` is held meanwhile, and who finds it
 * held leaves. Rows are checked as a replica does, so that nothing forged gets into the records.
 */
import { timingSafeEqual } from "node:crypto";
import type pg from "pg";
import { ROW_COLUMNS, rowOf, sumText, type SqlRow } from "./cluster-schema.js";
import type { DatabaseAddress } from "../database-address.js";
import { connectDatabase } from "../database-client.js";
import { decodeBody, rowDamaged, rowMac, type LogRow } from "./log-row.js";

/** Rows of one transaction: a few hundred megabytes at the most, a few usually. */
const ROWS_PAGE = 64;
/** Records of one statement. */
const RECORDS_PAGE = 2_000;
/** A node that was away for less goes on from its folder. */
const KEPT_ROWS = 100_000;
const KEPT_HOURS = 24;

export interface FoldOptions {
  readonly address: DatabaseAddress;
  readonly logKey: Uint8Array;
}

/**
 * Folds all rows that the log has. Returns how many there were; none when another node folds.
 * @throws data_corrupt for a row that no node with this key wrote; what is before it is folded
 */
export async function foldLog({ address, logKey }: FoldOptions): Promise<number> {
  const client = await connectDatabase(address);
  try {
    let folded = 0;
    for (;;) {
      const rows = await foldPage(client, logKey);
      folded += rows;
      if (rows < ROWS_PAGE) break;
    }
    await client.query(
      `DELETE FROM pw_log WHERE at < clock_timestamp() - make_interval(hours => $1)
        AND g < (SELECT g FROM pw_fold WHERE id = 1) - $2`,
      [KEPT_HOURS, KEPT_ROWS],
    );
    return folded;
  } finally {
    client.end().catch(() => undefined);
  }
}

/** Folds a page in one transaction. */
async function foldPage(client: pg.Client, logKey: Uint8Array): Promise<number> {
  await client.query("BEGIN");
  try {
    const { rows: held } = await client.query<SqlRow>(
      `SELECT f.g, f.mac, h.cluster FROM pw_fold f, pw_head h WHERE f.id = 1 AND h.id = 1 FOR UPDATE OF f SKIP LOCKED`,
    );
    const [fold] = held;
    const rows = fold === undefined ? [] : await rowsAfter(client, Number(fold["g"]));
    const last = rows.at(-1);
    if (fold !== undefined && last !== undefined) {
      requireChain(rows, logKey, fold);
      await writeRecords(client, rows);
      await client.query("UPDATE pw_fold SET g = $1, version = $2, count = $3, tag_sum = $4, mac = $5 WHERE id = 1", [
        ...[last.g, last.version, last.count, sumText(last.tagSum), last.mac],
      ]);
    }
    await client.query("COMMIT");
    return rows.length;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function rowsAfter(client: pg.Client, g: number): Promise<LogRow[]> {
  const { rows } = await client.query<SqlRow>(
    `SELECT ${ROW_COLUMNS} FROM pw_log WHERE g > $1 ORDER BY g LIMIT ${String(ROWS_PAGE)}`,
    [g],
  );
  return rows.map(rowOf);
}

function requireChain(rows: readonly LogRow[], logKey: Uint8Array, fold: SqlRow): void {
  const cluster = String(fold["cluster"]);
  let g = Number(fold["g"]);
  let previous = fold["mac"] as Buffer;
  for (const row of rows) {
    if (row.g !== g + 1 || !timingSafeEqual(rowMac(logKey, row, { cluster, previous }), row.mac)) throw rowDamaged();
    g = row.g;
    previous = row.mac;
  }
}

/** Writes the last change of each key. */
async function writeRecords(client: pg.Client, rows: readonly LogRow[]): Promise<void> {
  const last = new Map<string, { readonly key: Buffer; readonly bytes: Buffer | undefined }>();
  for (const { body } of rows)
    for (const change of decodeBody(body).changes) last.set(change.key.toString("latin1"), change);
  const changes = [...last.values()];
  for (let at = 0; at < changes.length; at += RECORDS_PAGE) {
    const page = changes.slice(at, at + RECORDS_PAGE);
    const deleted = page.filter(({ bytes }) => bytes === undefined).map(({ key }) => key);
    if (deleted.length > 0) await client.query("DELETE FROM pw_record WHERE key = ANY($1::bytea[])", [deleted]);
    await putRecords(
      client,
      page.flatMap(({ key, bytes }) => (bytes === undefined ? [] : [{ key, bytes }])),
    );
  }
}

/** Writes records into the folded state, inside a transaction of the caller. */
export async function putRecords(
  client: pg.Client,
  records: readonly { readonly key: Buffer; readonly bytes: Buffer }[],
): Promise<void> {
  if (records.length === 0) return;
  await client.query(
    `INSERT INTO pw_record (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[])
      ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value`,
    [records.map(({ key }) => key), records.map(({ bytes }) => bytes)],
  );
}
