/** The folded records, in the database: read and written in pages, which have fewer where records are large. */
import type pg from "pg";
import { databaseFailure } from "./log-database.js";

/** A record by its encoded key, as the store has it (record.ts). */
export interface FoldedRecord {
  readonly key: Buffer;
  readonly bytes: Buffer;
}

const READ_RECORDS = 5_000;
const WRITTEN_RECORDS = 2_000;
/** All of a page is in memory, as text of twice that; one record at least is read or written. */
const PAGE_BYTES = 16 * 2 ** 20;

const NEXT_RECORDS = `SELECT key, value AS bytes
  FROM (SELECT key, value, row_number() OVER by_key AS row, sum(octet_length(value)) OVER by_key AS total
    FROM (SELECT key, value FROM pw_record WHERE key > $1 ORDER BY key LIMIT ${String(READ_RECORDS)}) AS found
    WINDOW by_key AS (ORDER BY key ROWS UNBOUNDED PRECEDING)) AS summed
  WHERE total <= ${String(PAGE_BYTES)} OR row = 1 ORDER BY key`;

/**
 * Returns the records behind a key in the order of their keys, a page of them; none at the end.
 * @throws DatabaseRefused, DatabaseUnreachable
 */
export async function recordsAfter(client: pg.Client, key: Buffer): Promise<readonly FoldedRecord[]> {
  try {
    return (await client.query<{ key: Buffer; bytes: Buffer }>(NEXT_RECORDS, [key])).rows;
  } catch (error) {
    throw databaseFailure(error);
  }
}

/** Writes records, in place of those with the same keys, inside a transaction of the caller. */
export async function putRecords(client: pg.Client, records: Iterable<FoldedRecord>): Promise<void> {
  let page: FoldedRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    if (page.length === WRITTEN_RECORDS || (page.length > 0 && bytes + record.bytes.length > PAGE_BYTES)) {
      await putPage(client, page);
      [page, bytes] = [[], 0];
    }
    page.push(record);
    bytes += record.bytes.length;
  }
  if (page.length > 0) await putPage(client, page);
}

/** Deletes records, inside a transaction of the caller. */
export async function deleteRecords(client: pg.Client, keys: readonly Buffer[]): Promise<void> {
  for (let at = 0; at < keys.length; at += WRITTEN_RECORDS)
    await client.query("DELETE FROM pw_record WHERE key = ANY($1::bytea[])", [keys.slice(at, at + WRITTEN_RECORDS)]);
}

async function putPage(client: pg.Client, page: readonly FoldedRecord[]): Promise<void> {
  await client.query(
    `INSERT INTO pw_record (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[])
      ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value`,
    [page.map(({ key }) => key), page.map(({ bytes }) => bytes)],
  );
}
