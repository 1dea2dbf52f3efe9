/**
 * Writes the log behind itself into the folded records, from which nodes join and backups are taken, and deletes rows
 * that no node needs any more. Any node may fold at any time: the row of `pw_fold` is held meanwhile, and who finds it
 * held leaves. Rows are checked as a replica does, so that nothing forged gets into the records.
 */
import { timingSafeEqual } from "node:crypto";
import type pg from "pg";
import { sumText, type SqlRow } from "./cluster-schema.js";
import type { DatabaseAddress } from "../database-address.js";
import { connectDatabase } from "../database-client.js";
import type { RecordChange } from "../../store/lmdb/record-space.js";
import { deleteRecords, putRecords } from "./folded-records.js";
import { PAGE_AFTER, pageOf, type LogPage } from "./log-pages.js";
import { decodeBody, rowDamaged, rowMac, type LogRow } from "./log-row.js";

/** A node that was away for less goes on from its folder. */
const KEPT_ROWS = 100_000;
const KEPT_HOURS = 24;
/** Of a node that finds another one folding. */
const NOTHING: LogPage = { rows: [], isLast: true };

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
      const { rows, isLast } = await foldPage(client, logKey);
      folded += rows.length;
      if (isLast) break;
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

/** Folds a page in one transaction, and returns it. */
async function foldPage(client: pg.Client, logKey: Uint8Array): Promise<LogPage> {
  await client.query("BEGIN");
  try {
    const { rows: held } = await client.query<SqlRow>(
      `SELECT f.g, f.mac, h.cluster FROM pw_fold f, pw_head h WHERE f.id = 1 AND h.id = 1 FOR UPDATE OF f SKIP LOCKED`,
    );
    const [fold] = held;
    const page = fold === undefined ? NOTHING : await pageAfter(client, Number(fold["g"]));
    const { rows } = page;
    const last = rows.at(-1);
    if (fold !== undefined && last !== undefined) {
      requireChain(rows, logKey, fold);
      await writeRecords(client, rows);
      await client.query("UPDATE pw_fold SET g = $1, version = $2, count = $3, tag_sum = $4, mac = $5 WHERE id = 1", [
        ...[last.g, last.version, last.count, sumText(last.tagSum), last.mac],
      ]);
    }
    await client.query("COMMIT");
    return page;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function pageAfter(client: pg.Client, g: number): Promise<LogPage> {
  return pageOf((await client.query<SqlRow>(PAGE_AFTER, [g])).rows);
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
  const last = new Map<string, RecordChange>();
  for (const { body } of rows)
    for (const change of decodeBody(body).changes) last.set(change.key.toString("latin1"), change);
  const changes = [...last.values()];
  await deleteRecords(
    client,
    changes.filter(({ bytes }) => bytes === undefined).map(({ key }) => key),
  );
  await putRecords(
    client,
    changes.flatMap(({ key, bytes }) => (bytes === undefined ? [] : [{ key, bytes }])),
  );
}
