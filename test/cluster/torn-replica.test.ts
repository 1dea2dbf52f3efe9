/** Replicas are not synced commit by commit: what the end of a process and the end of the machine leave of them. */
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { leaveCluster } from "../../src/platform/cluster/leave-cluster.js";
import { openStore, openStoreReader } from "../../src/platform/store/lmdb/lmdb-store.js";
import { Postgres } from "../support/postgres.js";
import { recordedLog, type RecordedLog } from "../support/silent-log.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const ANOTHER_BOOT = randomUUID();

let postgres: Postgres;
const folders: string[] = [];

beforeAll(async () => {
  postgres = await Postgres.start();
});
afterAll(async () => {
  await postgres.dispose();
  for (const folder of folders) removeFolder(folder);
});

class Node {
  readonly path = newFolder("torn");
  readonly clusterKey = randomBytes(32);
  readonly #databaseUrl: string;

  private constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
    folders.push(this.path);
  }

  /** The only node of a new cluster; its folder has one record. */
  static async make(): Promise<Node> {
    const node = new Node(postgres.urlOf(await postgres.newDatabase()));
    await initCluster({ databaseUrl: node.#databaseUrl, clusterKey: node.clusterKey });
    const store = await node.open();
    await store.commit({ puts: [{ key: ["kept"], value: 1 }] });
    await store.close();
    return node;
  }

  async open(log: RecordedLog = recordedLog()): Promise<NodeStore> {
    const cluster = { databaseUrl: this.#databaseUrl, clusterKey: this.clusterKey, node: randomUUID() };
    return await openNodeStore({ path: this.path, chainKey: new Uint8Array(32), cluster }, { log });
  }

  get mark(): string {
    return join(this.path, "unsynced");
  }

  /** Leaves the folder as a machine that lost its power may. */
  tear(): void {
    writeFileSync(this.mark, ANOTHER_BOOT);
    const file = join(this.path, "data.mdb");
    const { length } = readFileSync(file);
    writeFileSync(file, randomBytes(length));
  }
}

describe("a replica", () => {
  it("is marked while a node writes it, and synced and unmarked when the node stops", async () => {
    const node = await Node.make();
    expect(existsSync(node.mark)).toBe(false);
    const store = await node.open();
    expect(readFileSync(node.mark, "utf8")).toBe(readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
    await store.close();
    expect(existsSync(node.mark)).toBe(false);
  });

  it("goes on where a process ended, while the machine did not", async () => {
    const node = await Node.make();
    const log = recordedLog();
    writeFileSync(node.mark, readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
    const store = await node.open(log);
    expect(store.get(["kept"])?.value).toBe(1);
    expect(log.lines).toEqual([]);
    await store.close();
  });

  it("is copied anew, without being read, when the machine has ended", async () => {
    const node = await Node.make();
    node.tear();
    const log = recordedLog();
    const store = await node.open(log);
    expect(log.lines).toMatchObject([{ level: "warn", message: /the machine ended/ }]);
    expect(store.get(["kept"])?.value).toBe(1);
    expect(await store.integrityReport()).toMatchObject({ sound: true, damages: [] });
    await store.commit({ puts: [{ key: ["more"], value: 2 }] });
    await store.close();
  });

  it("is refused by commands that read folders, with the way out", async () => {
    const node = await Node.make();
    node.tear();
    const { path, clusterKey } = node;
    const refusal = { code: "conflict", message: /start the node once/ };
    expect(() => openStoreReader({ path })).toThrow(expect.objectContaining({ code: "conflict" }));
    await expect(openStore({ path }, { log: recordedLog() })).rejects.toMatchObject(refusal);
    await expect(leaveCluster({ path, clusterKey, keep: async () => undefined })).rejects.toMatchObject(refusal);
    await (await node.open()).close();
    const { g } = await leaveCluster({ path, clusterKey, keep: async () => undefined });
    expect(g).toBe(1);
    const single = await openStore({ path, chainKey: new Uint8Array(32) }, { log: recordedLog() });
    expect(single.get(["kept"])?.value).toBe(1);
    await single.close();
  });
});
