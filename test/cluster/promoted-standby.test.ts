/**
 * A primary that dies, and a standby that takes its place: with a standby that commits wait for nothing is lost; without,
 * each node that has what was lost says so and writes nothing more.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { waitsForStandbys } from "../../src/platform/cluster/replication.js";
import { countWhile, expectExact, type Answer } from "../support/counting.js";
import { DatabaseProxy } from "../support/database-proxy.js";
import { eventually } from "../support/eventually.js";
import { Postgres } from "../support/postgres.js";
import { recordedLog } from "../support/silent-log.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

interface Node {
  readonly store: NodeStore;
  readonly proxy: DatabaseProxy;
  /** Why it can no longer keep its promises. */
  readonly faults: string[];
}

/** Longer than the failover takes here. */
const PATIENT_MS = 120_000;

let primary: Postgres;
let database: string;
let clusterKey: Uint8Array;
const standbys: Postgres[] = [];
const folders: string[] = [];
const nodes: Node[] = [];

beforeEach(async () => {
  primary = await Postgres.start();
  database = await primary.newDatabase();
  clusterKey = randomBytes(32);
  await initCluster({ databaseUrl: primary.urlOf(database), clusterKey });
});
afterEach(async () => {
  for (const { store } of nodes) await store.close();
  for (const { proxy } of nodes.splice(0)) await proxy.stop();
  for (const server of [primary, ...standbys.splice(0)]) await server.dispose();
  for (const folder of folders.splice(0)) removeFolder(folder);
});

/** A node that reaches the database at an address that can be led elsewhere, as a failover does. */
async function join(target: Postgres): Promise<Node> {
  const proxy = await DatabaseProxy.start(target.socketFolder);
  const path = newFolder("node");
  folders.push(path);
  const faults: string[] = [];
  const databaseUrl = target.urlOf(database, proxy.folder);
  const cluster = { databaseUrl, clusterKey, node: randomUUID(), giveUpMs: PATIENT_MS };
  const store = await openNodeStore(
    { path, chainKey: new Uint8Array(32), cluster },
    { log: recordedLog(), onFatal: ({ message }) => faults.push(message) },
  );
  const node = { store, proxy, faults };
  nodes.push(node);
  return node;
}

async function standbyOf(server: Postgres, sourceFolder?: string): Promise<Postgres> {
  const standby = await server.startStandby(sourceFolder);
  standbys.push(standby);
  return standby;
}

/** Number of the last commit that a database has. */
async function headOf(server: Postgres): Promise<number> {
  const [row] = await server.query(database, "SELECT g FROM pw_head");
  return Number(row?.["g"]);
}

describe("a standby that every commit waits for", () => {
  it("is promoted while three nodes write: nothing that was answered is lost, and nothing is done twice", async () => {
    const standby = await standbyOf(primary);
    await primary.waitForStandbys();
    expect(await waitsForStandbys(databaseAddress(primary.urlOf(database)))).toBe(true);
    const members = [await join(primary), await join(primary), await join(primary)];
    const stores = members.map(({ store }) => store);
    const answers = new Map<string, Answer>();
    let isOver = false;
    const counting = countWhile(stores, answers, () => !isOver);
    const progress = async (more: number): Promise<void> => {
      const before = answers.size;
      await eventually(() => {
        expect(answers.size).toBeGreaterThanOrEqual(before + more);
      });
    };
    await progress(40);
    await primary.crash();
    // The address may lead to the standby before it is the primary.
    for (const { proxy } of members) proxy.leadTo(standby.socketFolder);
    await expect(stores[0]!.confirm()).rejects.toMatchObject({ code: "store_unreachable" });
    await standby.promote();
    await progress(40);
    isOver = true;
    await counting;
    await expectExact(stores, answers);
    expect(members.flatMap(({ faults }) => faults)).toEqual([]);
  });
});

describe("a standby that no commit waits for", () => {
  it("lacks commits: nodes that have them stop, one that has them not goes on, and new ones join", async () => {
    const line = await DatabaseProxy.start(primary.socketFolder);
    const standby = await standbyOf(primary, line.folder);
    expect(await waitsForStandbys(databaseAddress(primary.urlOf(database)))).toBe(false);
    const [writer, follower, behind] = [await join(primary), await join(primary), await join(primary)];
    await writer.store.commit({ puts: [{ key: ["kept"], value: 1 }] });
    await behind.store.confirm();
    await eventually(async () => {
      expect(await headOf(standby)).toBe(await headOf(primary));
    });

    await line.stop();
    // This node hears nothing of what is lost later.
    behind.proxy.leadTo(standby.socketFolder);
    await writer.store.commit({ puts: [{ key: ["lost"], value: 1 }] });
    await follower.store.confirm();
    expect(follower.store.get(["lost"])?.value).toBe(1);
    await primary.crash();
    await standby.promote();
    for (const { proxy } of [writer, follower]) proxy.leadTo(standby.socketFolder);

    for (const { store, faults } of [writer, follower]) {
      await eventually(() => {
        expect(faults.join()).toContain("failover");
      });
      await expect(store.commit({ puts: [{ key: ["more"], value: 1 }] })).rejects.toMatchObject({
        code: "storage_failed",
      });
    }
    await behind.store.commit({ puts: [{ key: ["after"], value: 1 }] });
    expect(behind.faults).toEqual([]);
    const { store: joined } = await join(standby);
    const values = ["kept", "lost", "more", "after"].map((key) => joined.get([key])?.value);
    expect(values).toEqual([1, undefined, undefined, 1]);
  });
});
