/** Makes a cluster in a database: its tables, its id, the start of its log, and the records that it begins with. */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { AppError } from "../errors.js";
import { lockFolder } from "../files/folder-lock.js";
import { RESERVED_KEY_BYTE, encodeKey } from "../store/keys.js";
import {
  emptyMeta,
  openEnvironment,
  refuseReplica,
  type Environment,
  type StoreMeta,
} from "../store/lmdb/lmdb-environment.js";
import { storedMeta } from "../store/lmdb/lmdb-migrate.js";
import { scrubStoreNow } from "../store/lmdb/lmdb-scrub.js";
import { encodeRecord } from "../store/record.js";
import { clusterSecretKey, sealClusterSecret } from "./cluster-secrets.js";
import { CLUSTER_TABLES, sumText } from "./log/cluster-schema.js";
import { databaseAddress } from "./database-address.js";
import { connectDatabase } from "./database-client.js";
import { putRecords, type FoldedRecord } from "./log/folded-records.js";
import { programSchemaVersion } from "./join-cluster.js";
import { ROW_FORMAT, logKeyOf, startMac } from "./log/log-row.js";

export interface InitClusterOptions {
  readonly databaseUrl: string;
  /** 32 bytes, which every node needs and the database never sees. */
  readonly clusterKey: Uint8Array;
  /** Folder of a stopped server's store, whose records the cluster begins with; without one it begins empty. */
  readonly from?: string;
  /** What all nodes share and the database does not see, by name: the key of the audit log at least. */
  readonly secrets?: ReadonlyMap<string, Uint8Array>;
}

/**
 * Makes the cluster, in one transaction, and leaves the folder as it is. Returns the cluster's id.
 * @throws conflict when the database holds a cluster already, a server uses the folder, or another version wrote it
 * @throws data_corrupt when the store is damaged
 */
export async function initCluster(options: InitClusterOptions): Promise<string> {
  const { databaseUrl, clusterKey, from } = options;
  const logKey = logKeyOf(clusterKey);
  const address = databaseAddress(databaseUrl);
  const lock = from === undefined ? undefined : lockFolder(from);
  let environment: Environment | undefined;
  try {
    environment = from === undefined ? undefined : openEnvironment(from);
    const before = environment === undefined ? emptyMeta(programSchemaVersion()) : soundMeta(environment);
    const secrets = sealedSecrets(options, before);
    const meta = withSecrets(before, secrets);
    const client = await connectDatabase(address);
    try {
      await client.query("BEGIN");
      const cluster = await makeTables(client, meta, logKey);
      if (environment !== undefined) await putRecords(client, recordsOf(environment));
      await putRecords(client, secrets);
      await client.query("COMMIT");
      return cluster;
    } finally {
      client.end().catch(() => undefined);
    }
  } finally {
    await environment?.close();
    lock?.release();
  }
}

interface SecretRecord {
  readonly key: Buffer;
  readonly bytes: Buffer;
  readonly tag: bigint;
}

/** Returns the records of the secrets, with the versions after the store's last. */
function sealedSecrets(
  { clusterKey, secrets = new Map() }: InitClusterOptions,
  { sequence }: StoreMeta,
): SecretRecord[] {
  return [...secrets].map(([name, content], at) => {
    const key = encodeKey(clusterSecretKey(name));
    const json = JSON.stringify(sealClusterSecret(clusterKey, name, content));
    const { bytes, tag } = encodeRecord(key, sequence + 1 + at, json);
    // The bytes are valid until the next record is encoded.
    return { key, bytes: Buffer.from(bytes), tag };
  });
}

function withSecrets(meta: StoreMeta, secrets: readonly SecretRecord[]): StoreMeta {
  const sum = secrets.reduce((total, { tag }) => total + tag, meta.tag_sum);
  return {
    ...meta,
    sequence: meta.sequence + secrets.length,
    count: meta.count + secrets.length,
    tag_sum: BigInt.asUintN(64, sum),
  };
}

function soundMeta(environment: Environment): StoreMeta {
  refuseReplica(environment);
  const meta = storedMeta(environment);
  if (meta.schema_version !== programSchemaVersion())
    throw new AppError("conflict", {
      message: "another version of the program wrote the store: start this version on it once, and stop it",
    });
  const [damage] = scrubStoreNow(environment).damages;
  if (damage !== undefined) throw new AppError("data_corrupt", { message: `the store is damaged (${damage.reason})` });
  return meta;
}

async function makeTables(client: pg.Client, meta: StoreMeta, logKey: Uint8Array): Promise<string> {
  const cluster = randomUUID();
  const { schema_version, sequence: version, count, tag_sum: tagSum } = meta;
  const mac = startMac(logKey, cluster, { version, count, tagSum });
  for (const table of CLUSTER_TABLES) await client.query(table);
  const made = await client.query(
    `INSERT INTO pw_head (id, cluster, epoch, format, schema_version, g, version, count, tag_sum, mac)
      VALUES (1, $1, 1, $2, $3, 0, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
    [cluster, ROW_FORMAT, schema_version, version, count, sumText(tagSum), mac],
  );
  if (made.rowCount !== 1) throw new AppError("conflict", { message: "the database holds a cluster already" });
  await client.query("INSERT INTO pw_fold (id, g, version, count, tag_sum, mac) VALUES (1, 0, $1, $2, $3, $4)", [
    ...[version, count, sumText(tagSum), mac],
  ]);
  return cluster;
}

function* recordsOf(environment: Environment): Generator<FoldedRecord> {
  for (const { key, value } of environment.getRange({ start: Buffer.of(RESERVED_KEY_BYTE + 1) }))
    yield { key: Buffer.from(key), bytes: Buffer.from(value) };
}
