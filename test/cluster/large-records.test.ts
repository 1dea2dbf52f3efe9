/** Large rows and records: a node reads and writes no more of them at once than the memory of a small machine takes. */
import { randomBytes, randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { connectDatabase } from "../../src/platform/cluster/database-client.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { foldLog } from "../../src/platform/cluster/log/fold-log.js";
import { recordsAfter, type FoldedRecord } from "../../src/platform/cluster/log/folded-records.js";
import { LogDatabase } from "../../src/platform/cluster/log/log-database.js";
import type { LogPage } from "../../src/platform/cluster/log/log-pages.js";
import { logKeyOf } from "../../src/platform/cluster/log/log-row.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { recordedLog } from "../support/silent-log.js";
import { StoreGround } from "../support/store-ground.js";

const MEBIBYTE = 2 ** 20;
const LARGE = 9;
const SMALL = 70;
const CHAIN_KEY = new Uint8Array(32);

const ground = new StoreGround("pages");

/** As large as one may be, nearly. */
const LARGE_RECORD = "x".repeat(3.9 * MEBIBYTE);

async function newCluster(from?: string): Promise<{ readonly databaseUrl: string; readonly clusterKey: Buffer }> {
  const databaseUrl = ground.postgres.urlOf(await ground.postgres.newDatabase());
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl, clusterKey, ...(from === undefined ? {} : { from }) });
  return { databaseUrl, clusterKey };
}

async function join(cluster: Awaited<ReturnType<typeof newCluster>>): Promise<NodeStore> {
  const node = { ...cluster, node: randomUUID(), foldMs: 3_600_000 };
  const options = { path: ground.folder(), chainKey: CHAIN_KEY, cluster: node };
  return ground.keep(await openNodeStore(options, { log: recordedLog() }));
}

const bytesOf = (buffers: readonly Buffer[]): number => buffers.reduce((sum, { length }) => sum + length, 0);

it("are read from the log in pages that end before they are too large, and none is left out", async () => {
  const cluster = await newCluster();
  const writer = await join(cluster);
  const before = writer.position;
  for (let index = 0; index < LARGE; index += 1)
    await writer.commit({ puts: [{ key: ["large", index], value: LARGE_RECORD }] });
  for (let index = 0; index < SMALL; index += 1)
    await writer.commit({ puts: [{ key: ["small", index], value: index }] });

  const log = new LogDatabase(databaseAddress(cluster.databaseUrl));
  await log.connect();
  const pages: LogPage[] = [];
  for (let g = before; pages.at(-1)?.isLast !== true; g = pages.at(-1)?.rows.at(-1)?.g ?? Number.NaN)
    pages.push(await log.pageAfter(g));
  log.disconnect();
  const numbers = pages.flatMap(({ rows }) => rows.map(({ g }) => g));
  expect(numbers).toEqual(Array.from({ length: writer.position - before }, (_, index) => before + 1 + index));
  // Four large rows each, until small ones follow, of which 64 are a page.
  expect(pages.slice(0, 3).map(({ rows }) => rows.length)).toEqual([4, 4, 64]);
  for (const { rows } of pages) expect(bytesOf(rows.map(({ body }) => body))).toBeLessThanOrEqual(16 * MEBIBYTE);
  const late = await join(cluster);
  expect([late.count(["large"]), late.count(["small"])]).toEqual([LARGE, SMALL]);

  const address = databaseAddress(cluster.databaseUrl);
  expect(await foldLog({ address, logKey: logKeyOf(cluster.clusterKey) })).toBe(writer.position);
  const client = await connectDatabase(address);
  const folded: (readonly FoldedRecord[])[] = [];
  for (let last: Buffer = Buffer.alloc(0); folded.at(-1)?.length !== 0; last = folded.at(-1)?.at(-1)?.key ?? last)
    folded.push(await recordsAfter(client, last));
  await client.end();
  for (const page of folded) expect(bytesOf(page.map(({ bytes }) => bytes))).toBeLessThanOrEqual(16 * MEBIBYTE);
  expect(folded.length).toBeGreaterThan(LARGE / 4);
  const copied = await join(cluster);
  expect(copied.get(["large", LARGE - 1])?.value).toBe(LARGE_RECORD);
  expect([copied.count(["large"]), copied.count(["small"])]).toEqual([LARGE, SMALL]);
});

it("of a single server's store become a cluster's", async () => {
  const path = ground.folder();
  const single = await openStore({ path, chainKey: CHAIN_KEY }, { log: recordedLog() });
  for (let index = 0; index < LARGE; index += 1)
    await single.commit({ puts: [{ key: ["large", index], value: LARGE_RECORD }] });
  await single.close();
  const node = await join(await newCluster(path));
  expect(node.count(["large"])).toBe(LARGE);
  expect(node.get(["large", LARGE - 1])?.value).toBe(LARGE_RECORD);
});
