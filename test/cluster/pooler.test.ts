/** Nodes behind a pooler that gives each transaction another session of PostgreSQL. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { StoreConflict } from "../../src/platform/store/store.js";
import { Pooler } from "../support/pooler.js";
import { Postgres } from "../support/postgres.js";
import { recordedLog } from "../support/silent-log.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const WRITERS = 4;
const INCREMENTS = 25;

let postgres: Postgres;
let pooler: Pooler;
const folders: string[] = [];

beforeAll(async () => {
  postgres = await Postgres.start();
  pooler = await Pooler.start(postgres);
});
afterAll(async () => {
  await pooler.dispose();
  await postgres.dispose();
  for (const folder of folders) removeFolder(folder);
});

async function increment(store: NodeStore): Promise<void> {
  for (;;) {
    await store.confirm();
    const read = store.get<number>(["counter"])!;
    try {
      await store.commit({
        checks: [{ key: ["counter"], version: read.version }],
        puts: [{ key: ["counter"], value: read.value + 1 }],
      });
      return;
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
    }
  }
}

it("lose no increment, though no statement that was prepared is there the next time", async () => {
  const databaseUrl = postgres.urlOf(await postgres.newDatabase(), pooler.folder);
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl, clusterKey });
  const join = async (): Promise<NodeStore> => {
    const path = newFolder("pooled");
    folders.push(path);
    return await openNodeStore(
      { path, cluster: { databaseUrl, clusterKey, node: randomUUID() } },
      { log: recordedLog() },
    );
  };
  const nodes = [await join(), await join()];
  try {
    await nodes[0]!.commit({ puts: [{ key: ["counter"], value: 0 }] });
    const writers = nodes.flatMap((store) => Array.from({ length: WRITERS }, () => store));
    await Promise.all(
      writers.map(async (store) => {
        for (let index = 0; index < INCREMENTS; index += 1) await increment(store);
      }),
    );
    for (const node of nodes) {
      await node.confirm();
      expect(node.get(["counter"])?.value).toBe(2 * WRITERS * INCREMENTS);
    }
  } finally {
    for (const node of nodes) await node.close();
  }
});
