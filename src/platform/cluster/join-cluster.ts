/**
 * Fills an empty folder with the state of the cluster: the folded records in one snapshot, their count and sum
 * compared. The log from there on is read by the writer. A folder with a place in the log is left as it is.
 */
import type pg from "pg";
import { AppError } from "../errors.js";
import { RESERVED_KEY_BYTE } from "../store/keys.js";
import { readBinary, transact, writeMeta, emptyMeta, type Environment } from "../store/lmdb/lmdb-environment.js";
import { storedMeta } from "../store/lmdb/lmdb-migrate.js";
import { decodeRecord, encodeRecord } from "../store/record.js";
import { FIRST_SCHEMA_VERSION, MIGRATIONS } from "../store/migrations.js";
import { HEAD_COLUMNS, headOf, sumsOf, type LogHead, type SqlRow } from "./log/cluster-schema.js";
import type { DatabaseAddress } from "./database-address.js";
import { connectDatabase, whyUnreachable } from "./database-client.js";
import { recordsAfter } from "./log/folded-records.js";
import { DatabaseRefused, DatabaseUnreachable, databaseFailure } from "./log/log-database.js";
import { ROW_FORMAT, rowDamaged, startMac } from "./log/log-row.js";
import type { Replica } from "./replica.js";

export interface JoinParts {
  readonly environment: Environment;
  readonly replica: Replica;
  readonly address: DatabaseAddress;
  readonly logKey: Uint8Array;
  /** Takes records of an older program as well, to migrate them; only those of this one unless given. */
  readonly isMigrating?: boolean;
}

/** Stands while a folder is being filled: what it has then is thrown away by the next start. */
const JOINING_KEY = Buffer.of(RESERVED_KEY_BYTE, 0x03);
const NO_TABLE = "42P01";

/**
 * Joins unless the folder has joined before.
 * @throws conflict for the folder of a single server, a database without a cluster, or a cluster of another version
 * @throws data_corrupt when the records are not those of the log's place, or another cluster key made them
 * @throws DatabaseUnreachable
 */
export async function joinCluster({ environment, replica, address, logKey, isMigrating }: JoinParts): Promise<void> {
  if (replica.place() !== undefined) return;
  if (storedMeta(environment).count > 0)
    throw new AppError("conflict", {
      message: "the folder holds the store of a single server: a node of a cluster starts with an empty one",
    });
  const client = await connectDatabase(address).catch((cause: unknown) => {
    throw new DatabaseUnreachable(whyUnreachable(cause), { cause });
  });
  try {
    await ask(client, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const head = await headOfCluster(client);
    requireKnownVersion(head, { isMigrating: isMigrating === true });
    await fill(client, { environment, replica, logKey }, head);
    await ask(client, "COMMIT");
  } finally {
    client.end().catch(() => undefined);
  }
  environment.resetReadTxn();
}

/** Empties a folder whose joining was cut off. To be called before it is checked. */
export function discardUnfinishedJoin(environment: Environment): void {
  if (readBinary(environment, JOINING_KEY) !== undefined) environment.clearSync();
}

/** Returns the schema version of this program's records. */
export function programSchemaVersion(): number {
  return MIGRATIONS.at(-1)?.to ?? FIRST_SCHEMA_VERSION;
}

async function headOfCluster(client: pg.Client): Promise<LogHead> {
  const [row] = await ask(client, `SELECT ${HEAD_COLUMNS} FROM pw_head WHERE id = 1`).catch((error: unknown) => {
    if (error instanceof DatabaseRefused && error.code === NO_TABLE) return [];
    throw error;
  });
  if (row === undefined)
    throw new AppError("conflict", { message: "the database has no cluster: make one in it first" });
  return headOf(row);
}

function requireKnownVersion(
  { format, schemaVersion }: LogHead,
  { isMigrating }: { readonly isMigrating: boolean },
): void {
  const own = programSchemaVersion();
  const isKnown = isMigrating ? schemaVersion <= own : schemaVersion === own;
  if (format <= ROW_FORMAT && isKnown) return;
  if (format <= ROW_FORMAT && schemaVersion < own)
    throw new AppError("conflict", {
      message:
        "the cluster's records are those of an older program: stop all nodes and run `proofwright cluster finalize` of this one",
    });
  throw new AppError("conflict", {
    message: `the cluster has format ${String(format)} and schema version ${String(schemaVersion)}, and this program ${String(ROW_FORMAT)} and ${String(own)}: use the program of the other nodes`,
  });
}

async function fill(
  client: pg.Client,
  { environment, replica, logKey }: Pick<JoinParts, "environment" | "replica" | "logKey">,
  { cluster }: LogHead,
): Promise<void> {
  const [fold] = await ask(client, "SELECT g, version, count, tag_sum, mac FROM pw_fold WHERE id = 1");
  if (fold === undefined) throw rowDamaged();
  const end = { version: Number(fold["version"]), ...sumsOf(fold) };
  const place = { cluster, g: Number(fold["g"]), mac: fold["mac"] as Buffer };
  if (place.g === 0 && !startMac(logKey, cluster, end).equals(place.mac)) throw rowDamaged();
  environment.clearSync();
  transact(environment, () => {
    writeMeta(environment, emptyMeta(programSchemaVersion()));
    void environment.put(JOINING_KEY, encodeRecord(JOINING_KEY, 0, "true").bytes);
  });
  const filled = await copyRecords(client, environment);
  if (filled.count !== end.count || filled.tagSum !== end.tagSum) throw rowDamaged();
  transact(environment, () => {
    const { version: sequence, count, tagSum } = end;
    writeMeta(environment, { schema_version: programSchemaVersion(), sequence, count, tag_sum: tagSum });
    replica.writePlace(place);
    void environment.remove(JOINING_KEY);
  });
}

/** Copies the folded records in key order, each after its tag was checked; returns their count and sum. */
async function copyRecords(
  client: pg.Client,
  environment: Environment,
): Promise<{ readonly count: number; readonly tagSum: bigint }> {
  let count = 0;
  let sum = 0n;
  let last: Buffer = Buffer.alloc(0);
  for (;;) {
    const records = await recordsAfter(client, last);
    if (records.length === 0) return { count, tagSum: BigInt.asUintN(64, sum) };
    transact(environment, () => {
      for (const { key, bytes } of records) {
        if ((key[0] ?? RESERVED_KEY_BYTE) === RESERVED_KEY_BYTE) throw rowDamaged();
        sum += decodeRecord(key, bytes).tag;
        void environment.put(key, bytes);
      }
    });
    count += records.length;
    last = records.at(-1)?.key ?? last;
  }
}

/** Throws DatabaseRefused, DatabaseUnreachable. */
async function ask<Row extends pg.QueryResultRow = SqlRow>(
  client: pg.Client,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  try {
    return (await client.query<Row>(text, values)).rows;
  } catch (error) {
    throw databaseFailure(error);
  }
}
