/**
 * Brings the records of a cluster to the schema of this program, while no node runs. The migrations run on a copy of
 * the state; what they change becomes rows of the log, which with the new version of the schema are one transaction of
 * the database. Nodes apply these rows as any others.
 */
import { randomUUID } from "node:crypto";
import { AppError, assert } from "../errors.js";
import { encodeKey } from "../store/keys.js";
import { ChainTails } from "../store/lmdb/lmdb-chains.js";
import { ChangeSet } from "../store/lmdb/lmdb-changes.js";
import {
  emptyMeta,
  openEnvironment,
  transact,
  writeMeta,
  type Environment,
  type StoreMeta,
} from "../store/lmdb/lmdb-environment.js";
import { storedMeta } from "../store/lmdb/lmdb-migrate.js";
import { readRange } from "../store/lmdb/lmdb-reader.js";
import { OverlaySpace, storedRecords } from "../store/lmdb/record-space.js";
import { MIGRATIONS, pendingMigrations, type Migration, type MigrationStore } from "../store/migrations.js";
import { decodeRecord } from "../store/record.js";
import type { StoreKey, StoreRecord, StoreValue } from "../store/store.js";
import { databaseAddress } from "./database-address.js";
import { joinCluster } from "./join-cluster.js";
import { ClusterWriter } from "./log/cluster-writer.js";
import { LogDatabase } from "./log/log-database.js";
import { logKeyOf, nextRow, type LogRow } from "./log/log-row.js";
import { MEMBER_TABLE } from "./members/member-records.js";
import { Replica } from "./replica.js";

export interface MigrateClusterOptions {
  readonly databaseUrl: string;
  readonly clusterKey: Uint8Array;
  /** An empty folder for the copy of the state. */
  readonly folder: string;
  /** For tests; by default those of the program. */
  readonly migrations?: readonly Migration[];
}

/** Changes of one row, and about the bytes of their records. */
const CHANGES_MAX = 1_000;
const CHANGED_BYTES_MAX = 4 * 2 ** 20;

/**
 * Runs the pending migrations. Returns their titles.
 * @throws conflict for a cluster of a newer program, or one that a node has written to meanwhile: nothing is changed
 * @throws data_corrupt for records that are not the log's
 * @throws DatabaseUnreachable
 */
export async function migrateCluster({
  databaseUrl,
  clusterKey,
  folder,
  migrations = MIGRATIONS,
}: MigrateClusterOptions): Promise<readonly string[]> {
  const [logKey, address] = [logKeyOf(clusterKey), databaseAddress(databaseUrl)];
  const database = new LogDatabase(address);
  const environment = openEnvironment(folder, { isUnsynced: true });
  try {
    const replica = new Replica(environment, undefined);
    await database.connect();
    const head = await database.head();
    if (head === undefined) throw new AppError("conflict", { message: "the database has no cluster" });
    const { schemaVersion } = head;
    const pending = pendingMigrations(schemaVersion, migrations);
    const last = pending.at(-1);
    if (last === undefined) return [];
    transact(environment, () => {
      writeMeta(environment, emptyMeta(schemaVersion));
    });
    await joinCluster({ environment, replica, address, logKey, isMigrating: true });
    const [node, incarnation] = [randomUUID(), randomUUID()];
    const reader = new ClusterWriter(
      { logKey, node, incarnation, schemaVersion, giveUpMs: 0 },
      { replica, database, reader: database, onForeign: () => undefined, onSpent: () => undefined },
    );
    await reader.confirm();
    const rows = new MigratedRows(environment, { replica, logKey, node, incarnation });
    const { end } = rows;
    // Whoever hangs and wakes up as an older program is no member any more, and writes nothing.
    for (const { key } of rows.range([MEMBER_TABLE])) rows.delete(key);
    for (const migration of pending) migration.run(rows);
    await writeRows(database, rows.finished(), { ...end, epoch: head.epoch, schemaVersion: last.to });
    return pending.map(({ title }) => title);
  } finally {
    database.disconnect();
    await environment.close();
  }
}

async function writeRows(
  database: LogDatabase,
  rows: readonly LogRow[],
  {
    g,
    tagSum,
    epoch,
    schemaVersion,
  }: { readonly g: number; readonly tagSum: bigint; readonly epoch: number; readonly schemaVersion: number },
): Promise<void> {
  const { head } = await database.lockHead(g);
  try {
    if (head.g !== g)
      throw new AppError("conflict", { message: "a node has written meanwhile: stop all nodes, and run this again" });
    let before = tagSum;
    for (const row of rows) {
      const added = await database.append(row, { epoch, tagSum: before });
      assert(added, "nobody else moves a head that is held");
      before = row.tagSum;
    }
    await database.migrateAndCommit(schemaVersion);
  } catch (error) {
    await database.rollback().catch(() => undefined);
    throw error;
  }
}

interface MigratedRowsParts {
  readonly replica: Replica;
  readonly logKey: Uint8Array;
  readonly node: string;
  readonly incarnation: string;
}

/** What migrations change, as rows of the log that are applied to the copy as soon as they are full. */
class MigratedRows implements MigrationStore {
  readonly #environment: Environment;
  readonly #with: MigratedRowsParts;
  readonly #rows: LogRow[] = [];
  #space: OverlaySpace;
  #changedBytes = 0;
  #meta: StoreMeta;
  #first: number;

  constructor(environment: Environment, parts: MigratedRowsParts) {
    this.#environment = environment;
    this.#with = parts;
    this.#space = new OverlaySpace(storedRecords(environment));
    this.#meta = storedMeta(environment);
    this.#first = this.#meta.sequence + 1;
  }

  /** Where the copy stands in the log, and the sum of its tags. */
  get end(): { readonly g: number; readonly tagSum: bigint } {
    const place = this.#with.replica.place();
    assert(place !== undefined, "the copy has joined");
    return { g: place.g, tagSum: this.#meta.tag_sum };
  }

  /** See MigrationStore. */
  get(key: StoreKey): StoreRecord | undefined {
    const encoded = encodeKey(key);
    const bytes = this.#space.read(encoded);
    if (bytes === undefined) return undefined;
    const { version, json } = decodeRecord(encoded, bytes);
    return { key, version, value: JSON.parse(json.toString("utf8")) as StoreValue };
  }

  /** See MigrationStore. */
  range(prefix: StoreKey): StoreRecord[] {
    this.#flush();
    return readRange(this.#environment, prefix);
  }

  /** See MigrationStore. */
  put(key: StoreKey, value: StoreValue): void {
    this.#change(key, Buffer.from(JSON.stringify(value)));
  }

  /** See MigrationStore. */
  delete(key: StoreKey): void {
    this.#change(key, undefined);
  }

  /** Returns all rows, the last one included. */
  finished(): readonly LogRow[] {
    this.#flush();
    return this.#rows;
  }

  #change(key: StoreKey, json: Uint8Array | undefined): void {
    const changes = new ChangeSet(this.#space, new ChainTails(this.#space, undefined));
    changes.plan(encodeKey(key), json);
    changes.write(this.#meta);
    this.#changedBytes += json?.length ?? 0;
    if (this.#space.size >= CHANGES_MAX || this.#changedBytes >= CHANGED_BYTES_MAX) this.#flush();
  }

  #flush(): void {
    const { changes } = this.#space;
    if (changes.length === 0) return;
    const { replica, logKey, node, incarnation } = this.#with;
    const place = replica.place();
    assert(place !== undefined, "the copy has joined");
    const { sequence: version, count, tag_sum: tagSum } = this.#meta;
    const body = { logs: [], changes };
    const row = nextRow(
      logKey,
      { ...place, node, incarnation },
      { body, first: this.#first, end: { version, count, tagSum } },
    );
    replica.stage(row, place.cluster, body);
    replica.settle();
    this.#rows.push(row);
    this.#space = new OverlaySpace(storedRecords(this.#environment));
    this.#changedBytes = 0;
    this.#first = version + 1;
  }
}
