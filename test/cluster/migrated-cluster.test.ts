/** Records of an older program that a cluster holds: refused by nodes, migrated as rows of the log, and followed. */
import { randomBytes, randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { programSchemaVersion } from "../../src/platform/cluster/join-cluster.js";
import { leaveCluster } from "../../src/platform/cluster/leave-cluster.js";
import { memberKey } from "../../src/platform/cluster/members/member-records.js";
import { migrateCluster } from "../../src/platform/cluster/migrate-cluster.js";
import { openEnvironment, transact, writeMeta } from "../../src/platform/store/lmdb/lmdb-environment.js";
import { storedMeta } from "../../src/platform/store/lmdb/lmdb-migrate.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import type { Migration } from "../../src/platform/store/migrations.js";
import type { Store } from "../../src/platform/store/store.js";
import { recordedLog } from "../support/silent-log.js";
import { StoreGround } from "../support/store-ground.js";

const RECORDS = 2_500;
const OWN = programSchemaVersion();

const ground = new StoreGround("migrated");

interface Cluster {
  readonly database: string;
  readonly databaseUrl: string;
  readonly clusterKey: Buffer;
}

async function join({ databaseUrl, clusterKey }: Cluster, path = ground.folder()): Promise<NodeStore> {
  const options = { path, cluster: { databaseUrl, clusterKey, node: randomUUID() } };
  const store = await openNodeStore(options, { log: recordedLog() });
  ground.keep(store);
  return store;
}

async function leaveAll(): Promise<void> {
  await ground.closeStores();
}

/** A cluster whose records say that an older program wrote them; `path` is the folder of one of its nodes. */
async function olderCluster(): Promise<Cluster & { readonly path: string }> {
  const database = await ground.postgres.newDatabase();
  const cluster = { database, databaseUrl: ground.postgres.urlOf(database), clusterKey: randomBytes(32) };
  await initCluster(cluster);
  const path = ground.folder();
  const store = await join(cluster, path);
  const page = 500;
  for (let from = 0; from < RECORDS; from += page)
    await store.commit({
      puts: Array.from({ length: page }, (_, at) => ({ key: ["old", from + at], value: { number: from + at } })),
    });
  const member = { node: randomUUID(), name: "gone", role: "server", started_at: "", settings: {} };
  await store.commit({ puts: [{ key: memberKey(randomUUID()), value: member }] });
  await leaveAll();
  const environment = openEnvironment(path);
  transact(environment, () => {
    writeMeta(environment, { ...storedMeta(environment), schema_version: OWN - 1 });
  });
  await environment.close();
  await ground.postgres.query(database, "UPDATE pw_head SET schema_version = $1", [OWN - 1]);
  return { ...cluster, path };
}

/** Moves each record to another table and counts them. */
const MOVES: Migration = {
  to: OWN,
  title: "moves the records",
  run: (store) => {
    for (const { key, value } of [...store.range(["old"])]) {
      store.delete(key);
      store.put(["new", key[1] ?? 0], value);
      const seen = (store.get(["seen"])?.value ?? 0) as number;
      store.put(["seen"], seen + 1);
    }
    store.put(["left"], [...store.range(["old"])].length);
  },
};
const EARLIER: readonly Migration[] = Array.from({ length: OWN - 2 }, (_, at) => ({
  to: at + 2,
  title: "an earlier one",
  run: () => undefined,
}));
const migrations = [...EARLIER, MOVES];

const all = (store: Store): unknown => store.range([]).map(({ key, value, version }) => [key, value, version]);

it("is refused by nodes until it is migrated, which an old replica and a new one then have alike", async () => {
  const cluster = await olderCluster();
  const refusal = { code: "conflict", message: /run `proofwright cluster finalize`/ };
  await expect(join(cluster)).rejects.toMatchObject(refusal);
  await expect(join(cluster, cluster.path)).rejects.toMatchObject(refusal);

  expect(await migrateCluster({ ...cluster, folder: ground.folder(), migrations })).toEqual([MOVES.title]);
  expect(await migrateCluster({ ...cluster, folder: ground.folder(), migrations })).toEqual([]);
  const [old, fresh] = [await join(cluster, cluster.path), await join(cluster)];
  expect(old.count(["old"])).toBe(0);
  expect(old.count(["new"])).toBe(RECORDS);
  expect(old.get(["seen"])?.value).toBe(RECORDS);
  expect(old.get(["left"])?.value).toBe(0);
  expect(old.get(["new", RECORDS - 1])?.value).toEqual({ number: RECORDS - 1 });
  expect(old.count(["node"])).toBe(0);
  expect(all(fresh)).toEqual(all(old));
  for (const store of [old, fresh]) expect(await store.integrityReport()).toMatchObject({ sound: true, damages: [] });
  await fresh.commit({ puts: [{ key: ["after"], value: 1 }] });
  await old.confirm();
  expect(old.get(["after"])?.value).toBe(1);
});

it("changes nothing when a migration fails, or the database goes away in between", async () => {
  const cluster = await olderCluster();
  const before = await ground.postgres.query(cluster.database, "SELECT g, schema_version, mac FROM pw_head");
  const failing: Migration = {
    ...MOVES,
    run: (store) => {
      MOVES.run(store);
      throw new Error("this one cannot be moved");
    },
  };
  const options = { ...cluster, folder: ground.folder(), migrations: [...EARLIER, failing] };
  await expect(migrateCluster(options)).rejects.toThrow("this one cannot be moved");
  const letGo = await ground.postgres.hold(cluster.database, "SELECT 1 FROM pw_head FOR UPDATE");
  await expect(migrateCluster({ ...cluster, folder: ground.folder(), migrations })).rejects.toThrow(/SQLSTATE 55P03/);
  await letGo();
  expect(await ground.postgres.query(cluster.database, "SELECT g, schema_version, mac FROM pw_head")).toEqual(before);
  expect(await migrateCluster({ ...cluster, folder: ground.folder(), migrations })).toEqual([MOVES.title]);
});

it("does not leave a replica of the older program as a single server's store", async () => {
  const cluster = await olderCluster();
  const leave = async (): Promise<number> =>
    (await leaveCluster({ path: cluster.path, clusterKey: cluster.clusterKey, keep: async () => undefined })).g;
  await expect(leave()).rejects.toMatchObject({ code: "conflict", message: /another version/ });
  await migrateCluster({ ...cluster, folder: ground.folder(), migrations });
  await expect(leave()).rejects.toMatchObject({ code: "conflict", message: /another version/ });
  await join(cluster, cluster.path);
  await leaveAll();
  expect(await leave()).toBeGreaterThan(0);
  const single = await openStore({ path: cluster.path }, { log: recordedLog() });
  expect(single.count(["new"])).toBe(RECORDS);
  await single.close();
});
