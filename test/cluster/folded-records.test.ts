/** The folded records: what nodes join from, what a single server's store becomes, and who may write there. */
import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { foldLog } from "../../src/platform/cluster/log/fold-log.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { logKeyOf } from "../../src/platform/cluster/log/log-row.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import type { StoreCommit } from "../../src/platform/store/store.js";
import { eventually } from "../support/eventually.js";
import { seededRandom } from "../support/seeded.js";
import { recordedLog } from "../support/silent-log.js";
import { StoreGround } from "../support/store-ground.js";

const CHAIN_KEY = new Uint8Array(32).fill(9);

interface Cluster {
  readonly database: string;
  readonly databaseUrl: string;
  readonly clusterKey: Uint8Array;
}

const ground = new StoreGround("fold");

async function newCluster(from?: string): Promise<Cluster> {
  const database = await ground.postgres.newDatabase();
  const databaseUrl = ground.postgres.urlOf(database);
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl, clusterKey, ...(from === undefined ? {} : { from }) });
  return { database, databaseUrl, clusterKey };
}

async function join(
  { databaseUrl, clusterKey }: Cluster,
  { path = ground.folder(), foldMs = 3_600_000 }: { readonly path?: string; readonly foldMs?: number } = {},
): Promise<NodeStore> {
  const cluster = { databaseUrl, clusterKey, node: randomUUID(), foldMs };
  const store = await openNodeStore({ path, chainKey: CHAIN_KEY, cluster }, { log: recordedLog() });
  ground.keep(store);
  return store;
}

async function fold({ databaseUrl, clusterKey }: Cluster): Promise<number> {
  return await foldLog({ address: databaseAddress(databaseUrl), logKey: logKeyOf(clusterKey) });
}

async function foldedTo({ database }: Cluster): Promise<number> {
  const [row] = await ground.postgres.query(database, "SELECT g FROM pw_fold");
  return Number(row?.["g"]);
}

function randomCommit(random: ReturnType<typeof seededRandom>): StoreCommit {
  const key = (): (string | number)[] => [random.pick(["a", "b", "c"]), random.below(30)];
  return {
    puts: Array.from({ length: random.below(4) }, () => ({ key: key(), value: random.below(1e6) })),
    deletes: Array.from({ length: random.below(3) }, key),
    deletePrefixes: random.chance(0.05) ? [["a"]] : [],
    appends: random.chance(0.3) ? [{ chain: "audit", value: random.below(100) }] : [],
  };
}

describe("the folded records", () => {
  it("are the state at their row: a node joins from them without the rows before, and from there by the log", async () => {
    const random = seededRandom();
    const cluster = await newCluster();
    const one = await join(cluster);
    for (let round = 0; round < 4; round += 1) {
      for (let index = 0; index < 60; index += 1) await one.commit(randomCommit(random));
      const rows = await fold(cluster);
      expect(rows).toBeGreaterThan(30);
      expect(await fold(cluster)).toBe(0);
      await ground.postgres.query(cluster.database, "DELETE FROM pw_log WHERE g <= (SELECT g FROM pw_fold)");
      for (let index = 0; index < 5; index += 1) await one.commit(randomCommit(random));
      const other = await join(cluster);
      expect(other.range([]), `seed ${String(random.seed)}`).toEqual(one.range([]));
      expect(await other.integrityReport()).toMatchObject({ sound: true });
      await other.commit(randomCommit(random));
      await one.confirm();
    }
  });

  it("are written by the nodes themselves, while they write", async () => {
    const cluster = await newCluster();
    const nodes = [await join(cluster, { foldMs: 20 }), await join(cluster, { foldMs: 20 })];
    for (let index = 0; index < 40; index += 1)
      await nodes[index % 2]!.commit({ puts: [{ key: ["a", index % 7], value: index }] });
    await eventually(async () => {
      expect(await foldedTo(cluster)).toBe(40);
    });
    expect((await join(cluster)).count(["a"])).toBe(7);
  });

  it("take no row that a node did not write, and give none that was changed", async () => {
    const cluster = await newCluster();
    const one = await join(cluster);
    for (let index = 0; index < 3; index += 1) await one.commit({ puts: [{ key: ["a", index], value: index }] });
    await fold(cluster);
    for (let index = 3; index < 6; index += 1) await one.commit({ puts: [{ key: ["a", index], value: index }] });
    await ground.postgres.query(cluster.database, "UPDATE pw_log SET count = count + 1 WHERE g = 5");
    await expect(fold(cluster)).rejects.toMatchObject({ code: "data_corrupt" });
    expect(await foldedTo(cluster)).toBe(3);
    await ground.postgres.query(cluster.database, "UPDATE pw_log SET count = count - 1 WHERE g = 5");
    expect(await fold(cluster)).toBe(3);
    for (const [spoil, mend] of [
      ["CREATE TABLE lost AS SELECT * FROM pw_record LIMIT 1", "SELECT 1"],
      ["DELETE FROM pw_record WHERE key IN (SELECT key FROM lost)", "INSERT INTO pw_record SELECT * FROM lost"],
      ["UPDATE pw_fold SET count = count + 1", "UPDATE pw_fold SET count = count - 1"],
      ["UPDATE pw_record SET value = set_byte(value, 12, 200) WHERE key IN (SELECT key FROM lost)", ""],
    ] as const) {
      await ground.postgres.query(cluster.database, spoil);
      if (mend !== "SELECT 1") await expect(join(cluster), spoil).rejects.toMatchObject({ code: "data_corrupt" });
      if (mend !== "") await ground.postgres.query(cluster.database, mend);
    }
  });

  it("begin a joining anew that was cut off", async () => {
    const cluster = await newCluster();
    const one = await join(cluster);
    for (let index = 0; index < 5; index += 1) await one.commit({ puts: [{ key: ["a", index], value: index }] });
    await fold(cluster);
    await ground.postgres.query(cluster.database, "UPDATE pw_fold SET count = count + 1");
    const path = ground.folder();
    // Fails after the records are in the folder, and before its place is.
    await expect(join(cluster, { path })).rejects.toMatchObject({ code: "data_corrupt" });
    await ground.postgres.query(cluster.database, "UPDATE pw_fold SET count = count - 1");
    expect((await join(cluster, { path })).range([])).toEqual(one.range([]));
  });
});

describe("a single server's store", () => {
  it("becomes a cluster with the same records, versions and chain, and is left as it is", async () => {
    const random = seededRandom();
    const path = ground.folder();
    const single = await openStore({ path, chainKey: CHAIN_KEY }, { log: recordedLog() });
    for (let index = 0; index < 80; index += 1) await single.commit(randomCommit(random));
    const before = single.range([]);
    await expect(newCluster(path)).rejects.toMatchObject({ code: "conflict" });
    await single.close();
    const cluster = await newCluster(path);
    const nodes = [await join(cluster), await join(cluster)];
    for (const node of nodes) expect(node.range([]), `seed ${String(random.seed)}`).toEqual(before);
    await nodes[0]!.commit({ appends: [{ chain: "audit", value: "on" }] });
    const logged = nodes[0]!.range<{ event: unknown }>(["audit"]);
    expect(logged.at(-1)?.value.event).toBe("on");
    expect(logged.map(({ key }) => key[1])).toEqual(logged.map((_, index) => index + 1));
    const again = await openStore({ path, chainKey: CHAIN_KEY }, { log: recordedLog() });
    ground.keep(again);
    expect(again.range([])).toEqual(before);
  });
});
