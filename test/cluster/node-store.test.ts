/** The store of a node on a real PostgreSQL: the port's suite, the reference, and nodes beside each other. */
import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { ChainRecord } from "../../src/platform/store/chain.js";
import { NO_PREDECESSOR, chainMac } from "../../src/platform/store/chain.js";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { StoreConflict, type Store, type StoreCommit, type StoreKey } from "../../src/platform/store/store.js";
import { openStore, type DurableStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { describeStore } from "../platform/store/store-suite.js";
import { eventually } from "../support/eventually.js";
import { seededRandom } from "../support/seeded.js";
import { recordedLog } from "../support/silent-log.js";
import { StoreGround } from "../support/store-ground.js";

const CHAIN_KEY = new Uint8Array(32).fill(7);

interface Cluster {
  readonly databaseUrl: string;
  readonly clusterKey: Uint8Array;
}

const ground = new StoreGround("node");

async function newCluster(): Promise<Cluster> {
  const databaseUrl = ground.postgres.urlOf(await ground.postgres.newDatabase());
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl, clusterKey });
  return { databaseUrl, clusterKey };
}

async function join(cluster: Cluster, path = ground.folder()): Promise<NodeStore> {
  const options = { path, chainKey: CHAIN_KEY, cluster: { ...cluster, node: randomUUID() } };
  const store = await openNodeStore(options, { log: recordedLog() });
  ground.keep(store);
  return store;
}

async function sumsOf(store: DurableStore): Promise<unknown> {
  const report = await store.integrityReport();
  expect(report).toMatchObject({ sound: true, damages: [] });
  return { records: report.records, bytes: report.bytes };
}

const all = (store: Store): unknown => store.range([]).map(({ key, value }) => [key, value]);

describeStore("PostgreSQL", async () => await join(await newCluster()));

describe("a node and a single server", () => {
  it("have the same outcomes, records, versions and sums over random commits", async () => {
    const random = seededRandom();
    const node = await join(await newCluster());
    const single = await openStore({ path: ground.folder(), chainKey: CHAIN_KEY }, { log: recordedLog() });
    ground.keep(single);
    const part = (): string | number => random.pick(["a", "b", "ab", "", "a\u0000", "é", 0, 1, -1, 2.5]);
    const key = (): StoreKey => Array.from({ length: 1 + random.below(3) }, part);
    const keys = (most: number): StoreKey[] => Array.from({ length: random.below(most) }, key);
    for (let step = 0; step < 300; step += 1) {
      const checked = keys(3).map((at) => ({ at, isHonest: random.chance(0.8) }));
      const rest: StoreCommit = {
        puts: keys(5).map((at) => ({ key: at, value: { step, note: "x".repeat(random.below(500)) } })),
        deletes: keys(3),
        deletePrefixes: random.chance(0.2) ? keys(2) : [],
        appends: random.chance(0.3) ? [{ chain: "audit", value: { step }, indexes: [["by_step", step]] }] : [],
      };
      const run = async (store: Store): Promise<string> => {
        const checks = checked.map(({ at, isHonest }) => {
          const version = store.get(at)?.version ?? ("absent" as const);
          return { key: at, version: isHonest ? version : version === "absent" ? 1e9 : ("absent" as const) };
        });
        return await store.commit({ ...rest, checks }).then(
          () => "applied",
          (error: unknown) => (error instanceof StoreConflict ? JSON.stringify(error.key) : String(error)),
        );
      };
      expect(await run(node), `step ${String(step)}, seed ${String(random.seed)}`).toBe(await run(single));
    }
    expect(all(node), `seed ${String(random.seed)}`).toEqual(all(single));
    expect(await sumsOf(node)).toEqual(await sumsOf(single));
  });
});

describe("nodes of one cluster", () => {
  it("read after `confirm` what another has answered, and before it nothing half-done", async () => {
    const cluster = await newCluster();
    const [one, other] = [await join(cluster), await join(cluster)];
    for (let round = 0; round < 30; round += 1) {
      const [writer, reader] = round % 2 === 0 ? [one, other] : [other, one];
      const before = reader.revision();
      await writer.commit({
        puts: [
          { key: ["left", round], value: round },
          { key: ["right", round], value: round },
        ],
      });
      expect(reader.count(["left"])).toBe(reader.count(["right"]));
      await reader.confirm();
      expect(reader.get(["left", round])?.value).toBe(round);
      expect(reader.get(["right", round])?.version).toBe(writer.get(["right", round])?.version);
      expect(reader.revision()).not.toBe(before);
    }
    expect(all(one)).toEqual(all(other));
    expect(await sumsOf(one)).toEqual(await sumsOf(other));
  });

  it("let a strict read wait for what is made of a change", async () => {
    const cluster = await newCluster();
    const [one, other] = [await join(cluster), await join(cluster)];
    let made = 0;
    other.onChange("key", async ([key]) => {
      // Turns enough for an answer that did not wait.
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      made = other.get<number>(key ?? [])?.value ?? 0;
    });
    for (let round = 1; round <= 10; round += 1) {
      await one.commit({ puts: [{ key: ["key", "signing"], value: round }] });
      await other.confirm();
      expect(made).toBe(round);
    }
  });

  it("follow each other by themselves, and tell who reads a log", async () => {
    const cluster = await newCluster();
    const [one, other] = [await join(cluster), await join(cluster)];
    const told = new Promise<void>((resolve) => {
      other.onAppend("audit", resolve);
    });
    await one.commit({ appends: [{ chain: "audit", value: "first" }] });
    await told;
    expect(other.get<ChainRecord>(["audit", 1])?.value.event).toBe("first");
  });

  it("read rows of a log of which PostgreSQL knows nothing yet by its index", async () => {
    const cluster = await newCluster();
    const [a, b] = [await join(cluster), await join(cluster)];
    for (let index = 0; index < 40; index += 1) {
      for (const node of [a, b]) await node.commit({ puts: [{ key: ["row", index], value: index }] });
      await a.confirm();
    }
    await ground.closeStores();
    const database = new URL(cluster.databaseUrl).pathname.slice(1);
    // Sessions tell what they did when they end.
    const scanned = await eventually(async () => {
      const [row] = await ground.postgres.query(
        database,
        "SELECT seq_tup_read AS whole, idx_scan AS indexed FROM pg_stat_user_tables WHERE relname = 'pw_log'",
      );
      const whole = Number(row?.["whole"]);
      expect(whole + Number(row?.["indexed"])).toBeGreaterThan(40);
      return whole;
    });
    expect(scanned).toBeLessThan(40);
  });

  it("lose none of 300 racing increments, and let one of three claim a name", async () => {
    const cluster = await newCluster();
    const nodes = [await join(cluster), await join(cluster), await join(cluster)];
    await nodes[0]!.commit({ puts: [{ key: ["counter"], value: 0 }] });
    const increment = async (store: NodeStore): Promise<void> => {
      for (;;) {
        await store.confirm();
        const read = store.get<number>(["counter"])!;
        const checks = [{ key: ["counter"], version: read.version }];
        try {
          await store.commit({ checks, puts: [{ key: ["counter"], value: read.value + 1 }] });
          return;
        } catch (error) {
          if (!(error instanceof StoreConflict)) throw error;
        }
      }
    };
    const worker = async (store: NodeStore): Promise<void> => {
      for (let index = 0; index < 100; index += 1) await increment(store);
    };
    await Promise.all(nodes.map(worker));
    const claims = nodes.map(async (store, by) => {
      await store.commit({ checks: [{ key: ["name"], version: "absent" }], puts: [{ key: ["name"], value: by }] });
    });
    const settled = await Promise.allSettled(claims);
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const store of nodes) {
      await store.confirm();
      expect(store.get(["counter"])?.value).toBe(300);
      expect(all(store)).toEqual(all(nodes[0]!));
    }
  });

  it("link one hash chain through the records of all of them", async () => {
    const cluster = await newCluster();
    const nodes = [await join(cluster), await join(cluster)];
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        await nodes[index % 2]!.commit({ appends: [{ chain: "audit", value: { index } }] });
      }),
    );
    await nodes[0]!.confirm();
    const records = nodes[0]!.range<ChainRecord>(["audit"]);
    expect(records.map(({ key }) => key[1])).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    let predecessor = NO_PREDECESSOR;
    for (const [index, { value }] of records.entries()) {
      const json = JSON.stringify(value.event);
      expect(value.mac).toBe(chainMac(CHAIN_KEY, { chain: "audit", number: index + 1, predecessor, json }));
      predecessor = value.mac;
    }
  });

  it("go on from their folder, and a new one from the log", async () => {
    const cluster = await newCluster();
    const path = ground.folder();
    const one = await join(cluster, path);
    for (let index = 0; index < 150; index += 1) await one.commit({ puts: [{ key: ["a", index], value: index }] });
    await one.close();
    const other = await join(cluster);
    expect(other.count(["a"])).toBe(150);
    await other.commit({ deletePrefixes: [["a"]], puts: [{ key: ["b"], value: 1 }] });
    const again = await join(cluster, path);
    expect(all(again)).toEqual([[["b"], 1]]);
    expect(await sumsOf(again)).toEqual(await sumsOf(other));
  });
});

describe("a start is refused by name", () => {
  it("without a cluster, with another cluster key, and on the folder of a single server", async () => {
    const empty = {
      databaseUrl: ground.postgres.urlOf(await ground.postgres.newDatabase()),
      clusterKey: randomBytes(32),
    };
    await expect(join(empty)).rejects.toMatchObject({ code: "conflict", message: /has no cluster/ });
    const cluster = await newCluster();
    await expect(join({ ...cluster, clusterKey: randomBytes(32) })).rejects.toMatchObject({ code: "data_corrupt" });
    await expect(initCluster(cluster)).rejects.toMatchObject({ code: "conflict", message: /holds a cluster already/ });
    const path = ground.folder();
    const single = await openStore({ path, chainKey: CHAIN_KEY }, { log: recordedLog() });
    await single.commit({ puts: [{ key: ["a"], value: 1 }] });
    await single.close();
    await expect(join(cluster, path)).rejects.toMatchObject({ code: "conflict", message: /store of a single server/ });
    const other = await newCluster();
    const replica = ground.folder();
    await (await join(cluster, replica)).close();
    await expect(join(other, replica)).rejects.toMatchObject({ code: "data_corrupt" });
  });

  it("after rows were changed, exchanged or removed by whoever has the database", async () => {
    const cluster = await newCluster();
    const database = new URL(cluster.databaseUrl).pathname.slice(1);
    const one = await join(cluster);
    for (let index = 0; index < 4; index += 1) await one.commit({ puts: [{ key: ["a"], value: index }] });
    await one.close();
    for (const attack of [
      "UPDATE pw_log SET body = set_byte(body, length(body) - 20, 1) WHERE g = 2",
      "UPDATE pw_log SET g = CASE g WHEN 2 THEN -3 ELSE g END WHERE g = 2",
      "UPDATE pw_log SET node = gen_random_uuid() WHERE g = 3",
      "DELETE FROM pw_log WHERE g = 1",
    ]) {
      await ground.postgres.query(database, "CREATE TABLE kept AS TABLE pw_log");
      await ground.postgres.query(database, attack);
      await expect(join(cluster), attack).rejects.toMatchObject({ code: "data_corrupt" });
      await ground.postgres.query(database, "DELETE FROM pw_log");
      await ground.postgres.query(database, "INSERT INTO pw_log SELECT * FROM kept");
      await ground.postgres.query(database, "DROP TABLE kept");
    }
    expect(all(await join(cluster))).toEqual([[["a"], 3]]);
  });
});
