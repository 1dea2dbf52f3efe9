/** Replicas are not synced commit by commit: what the end of a process and the end of the machine leave of them. */
import { randomBytes, randomUUID } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { distrust } from "../../src/platform/cluster/distrusted-replica.js";
import { foldLog } from "../../src/platform/cluster/log/fold-log.js";
import { logKeyOf } from "../../src/platform/cluster/log/log-row.js";
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
  readonly clusterKey: Buffer<ArrayBuffer>;
  readonly #databaseUrl: string;
  readonly database: string;

  constructor(database: string, clusterKey = randomBytes(32)) {
    this.database = database;
    this.clusterKey = clusterKey;
    this.#databaseUrl = postgres.urlOf(database);
    folders.push(this.path);
  }

  /** The only node of a new cluster; its folder has one record. */
  static async make(): Promise<Node> {
    const node = new Node(await postgres.newDatabase());
    await initCluster({ databaseUrl: node.#databaseUrl, clusterKey: node.clusterKey });
    const store = await node.open();
    await store.commit({ puts: [{ key: ["kept"], value: 1 }] });
    await store.close();
    return node;
  }

  async open(log: RecordedLog = recordedLog(), onFatal: (error: Error) => void = () => undefined): Promise<NodeStore> {
    const cluster = { databaseUrl: this.#databaseUrl, clusterKey: this.clusterKey, node: randomUUID() };
    return await openNodeStore({ path: this.path, chainKey: new Uint8Array(32), cluster }, { log, onFatal });
  }

  /** Flips a bit of the record's text in the folder's data file. */
  rot(text: string): void {
    const file = openSync(join(this.path, "data.mdb"), "r+");
    const bytes = readFileSync(file);
    let found = 0;
    // In place: a file that is open is mapped, and must not be cut off.
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1), found += 1)
      writeSync(file, Buffer.of(bytes[at]! ^ 1), 0, 1, at);
    closeSync(file);
    expect(found).toBeGreaterThan(0);
  }

  get aside(): string {
    return join(this.path, "data-distrusted.mdb");
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

  it("is set aside and copied anew when a record of it is damaged", async () => {
    const node = await Node.make();
    const before = await node.open();
    await before.commit({ puts: [{ key: ["note"], value: "a text that is easy to find" }] });
    await before.close();
    node.rot("easy to find");
    const rotten = readFileSync(join(node.path, "data.mdb"));
    const log = recordedLog();
    const store = await node.open(log);
    expect(log.lines).toMatchObject([{ level: "warn", message: /copied anew.*damaged/, fields: { path: node.aside } }]);
    expect(store.get(["note"])?.value).toBe("a text that is easy to find");
    expect(readFileSync(node.aside)).toEqual(rotten);
    await store.close();
    const again = recordedLog();
    await (await node.open(again)).close();
    expect(again.lines).toEqual([]);
  });

  it("is copied anew when the log is not kept back to it, and where the process before said that it must be", async () => {
    const node = await Node.make();
    const other = new Node(node.database, node.clusterKey);
    const store = await other.open();
    await store.commit({ puts: [{ key: ["kept"], value: 2 }] });
    await store.commit({ puts: [{ key: ["kept"], value: 3 }] });
    await foldLog({ address: databaseAddress(postgres.urlOf(node.database)), logKey: logKeyOf(node.clusterKey) });
    await postgres.query(node.database, "DELETE FROM pw_log WHERE g <= 2");
    const log = recordedLog();
    const late = await node.open(log);
    expect(log.lines).toMatchObject([{ level: "warn", message: /copied anew.*away for too long/ }]);
    expect(late.get(["kept"])?.value).toBe(3);

    await late.close();
    const reason = "what the process before has found";
    distrust(node.path, reason);
    const again = recordedLog();
    await (await node.open(again)).close();
    expect(again.lines).toMatchObject([{ level: "warn", message: expect.stringContaining(reason) as string }]);
    await store.close();
  });

  it("ends its node when a damage of it shows in a read, and not for a record that is sound", async () => {
    const node = await Node.make();
    const fatal: string[] = [];
    const store = await node.open(recordedLog(), ({ message }) => fatal.push(message));
    await store.commit({ puts: [{ key: ["note"], value: "a text that is easy to find" }] });
    await store.leaveIfDamaged();
    expect(fatal).toEqual([]);
    node.rot("easy to find");
    expect(() => store.get(["note"])).toThrow(expect.objectContaining({ code: "data_corrupt" }));
    await store.leaveIfDamaged();
    expect(fatal).toEqual([expect.stringMatching(/is damaged.*next start copies/)]);
    await store.close();
    const again = await node.open();
    expect(again.get(["note"])?.value).toBe("a text that is easy to find");
    await again.close();
  });

  it("is left as it is where it has what the log has not", async () => {
    const node = await Node.make();
    const store = await node.open();
    await store.commit({ puts: [{ key: ["kept"], value: 2 }] });
    await store.close();
    for (const statement of [
      "DELETE FROM pw_log WHERE g = 2",
      "UPDATE pw_head SET (g, version, count, tag_sum, mac) = (SELECT g, version, count, tag_sum, mac FROM pw_log WHERE g = 1)",
    ])
      await postgres.query(node.database, statement);
    for (const tries of [1, 2])
      await expect(node.open(), `try ${String(tries)}`).rejects.toMatchObject({ message: /has commit 2.*ends at 1/ });
    expect(existsSync(node.aside)).toBe(false);
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
