/**
 * Commits whose connection breaks before and after the database has done them, a database that crashes, and nodes that
 * are cut off for a while: what was answered is there once, what was refused is not, and no node differs.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import type { AppError } from "../../src/platform/errors.js";
import { countOn, expectExact } from "../support/counting.js";
import { DatabaseProxy } from "../support/database-proxy.js";
import { eventually } from "../support/eventually.js";
import { Postgres } from "../support/postgres.js";
import { seededRandom } from "../support/seeded.js";
import { recordedLog } from "../support/silent-log.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

interface Cluster {
  readonly database: string;
  readonly clusterKey: Uint8Array;
}

/** Longer than any outage of these tests. */
const PATIENT_MS = 120_000;

let postgres: Postgres;
const folders: string[] = [];
const stores: NodeStore[] = [];
const proxies: DatabaseProxy[] = [];

beforeAll(async () => {
  postgres = await Postgres.start();
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});
afterAll(async () => {
  await postgres.dispose();
  for (const folder of folders) removeFolder(folder);
});

async function newCluster(): Promise<Cluster> {
  const database = await postgres.newDatabase();
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl: postgres.urlOf(database), clusterKey });
  return { database, clusterKey };
}

/** A node that reaches the database through a proxy. */
async function join(
  { database, clusterKey }: Cluster,
  giveUpMs = PATIENT_MS,
): Promise<{ readonly store: NodeStore; readonly proxy: DatabaseProxy }> {
  const proxy = await DatabaseProxy.start(postgres.socketFolder);
  proxies.push(proxy);
  const path = newFolder("node");
  folders.push(path);
  const databaseUrl = postgres.urlOf(database, proxy.folder);
  const options = {
    path,
    chainKey: new Uint8Array(32),
    cluster: { databaseUrl, clusterKey, node: randomUUID(), giveUpMs },
  };
  const store = await openNodeStore(options, { log: recordedLog() });
  stores.push(store);
  return { store, proxy };
}

describe("a strict read whose connection breaks", () => {
  it("asks again over a new one, and sees what was committed", async () => {
    const cluster = await newCluster();
    const { store } = await join(cluster);
    const { store: reader, proxy } = await join(cluster);
    for (let round = 1; round <= 20; round += 1) {
      await store.commit({ puts: [{ key: ["round"], value: round }] });
      proxy.breaksAnswer = () => proxy.broken < round;
      await reader.confirm();
      expect(reader.get(["round"])?.value).toBe(round);
    }
    expect(proxy.broken).toBe(20);
  });

  it("fails when the database is away", async () => {
    const { store, proxy } = await join(await newCluster());
    proxy.breaksAnswer = () => true;
    await expect(store.confirm()).rejects.toMatchObject({ code: "store_unreachable" });
  });
});

describe("a connection that breaks", () => {
  it("after the database was asked: the commit is found in the log, and answered as done", async () => {
    const cluster = await newCluster();
    const { store, proxy } = await join(cluster);
    const { store: other } = await join(cluster);
    await store.commit({ puts: [{ key: ["a"], value: 0 }] });
    proxy.breaksAnswer = () => proxy.broken === 0;
    await store.commit({ checks: [{ key: ["b"], version: "absent" }], puts: [{ key: ["b"], value: 1 }] });
    expect(proxy.broken).toBe(1);
    expect(store.get(["b"])?.value).toBe(1);
    await other.confirm();
    expect(other.get(["b"])).toEqual(store.get(["b"]));
    const rows = await postgres.query(cluster.database, "SELECT g FROM pw_log");
    expect(rows).toHaveLength(2);
  });

  it("before the database was asked: the commit is made then, once", async () => {
    const cluster = await newCluster();
    const { store, proxy } = await join(cluster);
    proxy.breaksQuestion = () => proxy.broken < 3;
    await store.commit({ checks: [{ key: ["b"], version: "absent" }], puts: [{ key: ["b"], value: 1 }] });
    expect(proxy.broken).toBe(3);
    expect(await postgres.query(cluster.database, "SELECT g FROM pw_log")).toHaveLength(1);
  });

  it("at any moment, on two nodes that write at once: nothing is lost, and nothing is done twice", async () => {
    const random = seededRandom();
    const cluster = await newCluster();
    const nodes = [await join(cluster), await join(cluster)];
    for (const { proxy } of nodes) {
      proxy.breaksAnswer = () => random.chance(0.05);
      proxy.breaksQuestion = () => random.chance(0.03);
    }
    const answers = await countOn(
      nodes.map(({ store }) => store),
      40,
    );
    for (const { proxy } of nodes) {
      proxy.breaksAnswer = () => false;
      proxy.breaksQuestion = () => false;
      expect(proxy.broken, `seed ${String(random.seed)}`).toBeGreaterThan(0);
    }
    await expectExact(
      nodes.map(({ store }) => store),
      answers,
    );
    expect(nodes[0]!.store.count(["mark"])).toBe(80);
  });
});

describe("a holder of the head that hangs", () => {
  it("keeps a commit waiting, also for longer than the lock may take, and fails none", async () => {
    const cluster = await newCluster();
    const [{ store }, { store: other }] = [await join(cluster), await join(cluster)];
    // Whoever was second holds the head for its next groups.
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await (index % 2 === 0 ? store : other).commit({ puts: [{ key: ["a", index], value: index }] });
      }),
    );
    const release = await postgres.hold(cluster.database, "SELECT g FROM pw_head FOR UPDATE");
    const committed = [store, other].map(async (node, index) => {
      await node.commit({ puts: [{ key: ["b", index], value: index }] });
    });
    const waiting = async (): Promise<string> => {
      const text = `SELECT query_start::text AS at FROM pg_stat_activity WHERE datname = '${cluster.database}'
        AND wait_event_type = 'Lock' ORDER BY query_start LIMIT 1`;
      const [row] = await postgres.query(cluster.database, text);
      return (row?.["at"] as string | undefined) ?? "";
    };
    const first = await eventually(async () => {
      const at = await waiting();
      expect(at).not.toBe("");
      return at;
    });
    // The first wait has ended by its limit, and the next one has begun.
    await eventually(async () => {
      expect(["", first]).not.toContain(await waiting());
    });
    await release();
    await Promise.all(committed);
    await store.confirm();
    expect(store.count(["b"])).toBe(2);
  });
});

describe("a database that is away", () => {
  it("fails commits and strict reads with `store_unreachable`, serves what the replica has, and goes on by itself", async () => {
    const cluster = await newCluster();
    const { store, proxy } = await join(cluster, 200);
    await store.commit({ puts: [{ key: ["a"], value: 1 }] });
    proxy.breaksQuestion = () => true;
    const attempts = await Promise.allSettled([store.commit({ puts: [{ key: ["a"], value: 2 }] }), store.confirm()]);
    for (const attempt of attempts) {
      const { code, retryAfterSec } = (attempt as PromiseRejectedResult).reason as AppError;
      expect(["store_unreachable", "outcome_unknown"]).toContain(code);
      expect(retryAfterSec).toBeGreaterThan(0);
    }
    expect(store.get(["a"])?.value).toBe(1);
    expect(store.state).toBe("ready");
    proxy.breaksQuestion = () => false;
    await eventually(async () => {
      await store.commit({ puts: [{ key: ["a"], value: 3 }] });
    });
    expect(store.get(["a"])?.value).toBe(3);
  });

  it("does not lose or double a commit when it crashes, again and again, under writers", async () => {
    const cluster = await newCluster();
    const nodes = [(await join(cluster)).store, (await join(cluster)).store];
    const writers = { areDone: false };
    const crashes = (async () => {
      for (let crash = 0; crash < 3 && !writers.areDone; crash += 1) {
        const before = nodes[0]!.count(["mark"]);
        // So that each crash meets writers at work, and not the recovery of the one before.
        await eventually(() => {
          expect(writers.areDone || nodes[0]!.count(["mark"]) > before + 4).toBe(true);
        });
        await postgres.crash();
        await postgres.restart();
      }
    })();
    const answers = await countOn(nodes, 40);
    writers.areDone = true;
    await crashes;
    await expectExact(nodes, answers);
  });
});

describe("a database that lost rows, as an asynchronous standby does", () => {
  it("is noticed by a node that was ahead, which writes and confirms nothing more", async () => {
    const cluster = await newCluster();
    const { store, proxy } = await join(cluster);
    await store.commit({ puts: [{ key: ["a"], value: 1 }] });
    await postgres.query(cluster.database, "CREATE TABLE old_head AS TABLE pw_head");
    await store.commit({ puts: [{ key: ["a"], value: 2 }] });
    await postgres.query(cluster.database, "DELETE FROM pw_log WHERE g = 2");
    await postgres.query(
      cluster.database,
      "UPDATE pw_head SET (g, version, count, tag_sum, mac) = (SELECT g, version, count, tag_sum, mac FROM old_head)",
    );
    proxy.breaksQuestion = () => proxy.broken === 0;
    await expect(store.confirm().catch(async () => await store.confirm())).rejects.toMatchObject({
      code: expect.stringMatching(/data_corrupt|storage_failed/) as string,
    });
    await expect(store.commit({ puts: [{ key: ["a"], value: 3 }] })).rejects.toMatchObject({ code: "storage_failed" });
    expect(await postgres.query(cluster.database, "SELECT g FROM pw_log")).toEqual([{ g: "1" }]);
  });
});
