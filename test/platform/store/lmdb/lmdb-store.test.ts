import { chmodSync, existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/platform/errors.js";
import { openStore, openStoreReader } from "../../../../src/platform/store/lmdb/lmdb-store.js";
import type { DurableStore, OpenStoreOptions } from "../../../../src/platform/store/lmdb/lmdb-store.js";
import type { Migration } from "../../../../src/platform/store/migrations.js";
import type { Store, StoreCommit, StoreKey } from "../../../../src/platform/store/store.js";
import { StoreConflict } from "../../../../src/platform/store/store.js";
import { MemoryStore } from "../../../support/memory-store.js";
import { eventually } from "../../../support/eventually.js";
import { seededRandom } from "../../../support/seeded.js";
import { recordedLog } from "../../../support/silent-log.js";
import { newFolder, removeFolder } from "../../../support/temporary-folder.js";
import { describeStore } from "../store-suite.js";

const folders: string[] = [];
const stores: DurableStore[] = [];

function folder(): string {
  const made = newFolder("store");
  folders.push(made);
  return made;
}

async function open(options: Partial<OpenStoreOptions> = {}): Promise<DurableStore> {
  const store = await openStore({ path: folder(), ...options }, { log: recordedLog() });
  stores.push(store);
  return store;
}

async function failureOf(promise: Promise<unknown>): Promise<AppError> {
  const failure = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(AppError);
  return failure as AppError;
}

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});
afterAll(() => {
  for (const made of folders) removeFolder(made);
});

describeStore("LMDB", () => open());
describeStore("memory reference", async () => new MemoryStore());

describe("the files of a store", () => {
  const modes = (path: string, names: readonly string[]): number[] =>
    names.map((name) => statSync(join(path, name)).mode & 0o777);

  it("are readable by their owner only, in a new store, an old one and a backup", async () => {
    const path = folder();
    const mask = process.umask(0);
    try {
      const store = await open({ path });
      expect(modes(path, ["data.mdb", "lock.mdb"])).toEqual([0o600, 0o600]);
      const copy = folder();
      await store.backup(copy);
      expect(modes(copy, ["data.mdb"])).toEqual([0o600]);
      await store.close();
      chmodSync(join(path, "data.mdb"), 0o664);
      await open({ path });
      expect(modes(path, ["data.mdb"])).toEqual([0o600]);
    } finally {
      process.umask(mask);
    }
  });
});

describe("LMDB against the reference", () => {
  it("agrees with it over a random walk of commits and reads", async () => {
    const random = seededRandom();
    console.log(`store model check: PROOFWRIGHT_TEST_SEED=${random.seed}`);
    const lmdb = await open();
    const model = new MemoryStore();
    const part = (): string | number => random.pick(["a", "b", "ab", "", "a\u0000", "é", "😀", 0, 1, -1, 2.5, 1e21]);
    const key = (): StoreKey => Array.from({ length: 1 + random.below(3) }, part);
    const keys = (most: number): StoreKey[] => Array.from({ length: random.below(most) }, key);
    for (let step = 0; step < 1500; step += 1) {
      const checked = keys(3).map((at) => ({ at, honest: random.chance(0.8) }));
      const rest: StoreCommit = {
        puts: keys(5).map((at) => ({ key: at, value: { step, note: "x".repeat(random.below(3000)) } })),
        deletes: keys(3),
        deletePrefixes: random.chance(0.1) ? keys(2) : [],
      };
      const run = async (store: Store): Promise<string> => {
        const checks = checked.map(({ at, honest }) => {
          const version = store.get(at)?.version ?? ("absent" as const);
          return { key: at, version: honest ? version : version === "absent" ? 1e9 : ("absent" as const) };
        });
        return store.commit({ ...rest, checks }).then(
          () => "applied",
          (error: unknown) => (error instanceof StoreConflict ? JSON.stringify(error.key) : String(error)),
        );
      };
      expect(await run(lmdb), `step ${step}, seed ${random.seed}`).toBe(await run(model));
      const prefix = random.chance(0.3) ? [] : key().slice(0, 2);
      const options = {
        reverse: random.chance(0.5),
        ...(random.chance(0.5) ? { offset: random.below(5) } : {}),
        ...(random.chance(0.5) ? { limit: random.below(8) } : {}),
        ...(random.chance(0.5) ? { after: key() } : {}),
      };
      const content = (store: Store): unknown =>
        store.range(prefix, options).map((record) => [record.key, record.value]);
      expect(content(lmdb), `step ${step}, seed ${random.seed}`).toEqual(content(model));
      expect(lmdb.count(prefix)).toBe(model.count(prefix));
    }
    expect(await lmdb.integrityReport()).toMatchObject({ sound: true, records: model.count([]) });
  });
});

describe("LMDB store: revision", () => {
  it("changes with each commit of puts or deletions, before it is acknowledged, and not with appends", async () => {
    const store = await open({ chainKey: new Uint8Array(32) });
    const seen = new Set([store.revision()]);
    const changes: StoreCommit[] = [
      { puts: [{ key: ["a"], value: 1 }] },
      { deletes: [["a"]] },
      { deletePrefixes: [["b"]] },
    ];
    for (const change of changes) {
      await store.commit(change);
      seen.add(store.revision());
    }
    expect(seen.size).toBe(4);
    const before = store.revision();
    await store.commit({ appends: [{ chain: "log", value: 1 }] });
    expect(store.revision()).toBe(before);
  });
});

describe("LMDB store: limits", () => {
  it("takes a key of 1,900 encoded bytes and refuses 1,901, in reads and in commits", async () => {
    const store = await open();
    const longest = ["k".repeat(1898)];
    await store.commit({ puts: [{ key: longest, value: 1 }] });
    expect(store.get(longest)?.value).toBe(1);
    expect(store.range(longest)).toHaveLength(1);
    const over = ["k".repeat(1899)];
    expect(() => store.get(over)).toThrow(/longer than 1900 bytes/);
    expect((await failureOf(store.commit({ puts: [{ key: over, value: 1 }] }))).code).toBe("invalid_request");
  });

  it("limits the bytes of a key, not its characters", async () => {
    const store = await open();
    expect(() => store.get(["é".repeat(950)])).toThrow(/longer than 1900 bytes/);
    expect(store.get(["é".repeat(949)])).toBeUndefined();
  });

  it.each([[["a\ud800"]], [[Number.NaN]], [[Infinity]]])("refuses a key without a unique encoding: %j", async (key) => {
    const store = await open();
    expect((await failureOf(store.commit({ puts: [{ key, value: 1 }] }))).code).toBe("invalid_request");
  });

  it("takes a record of 4 MiB and refuses one byte more", async () => {
    const store = await open();
    const most = 4 * 1024 * 1024 - 2;
    await store.commit({ puts: [{ key: ["big"], value: "x".repeat(most) }] });
    expect(store.get<string>(["big"])?.value).toHaveLength(most);
    expect((await failureOf(store.commit({ puts: [{ key: ["big"], value: "x".repeat(most + 1) }] }))).message).toMatch(
      /longer than 4194304 bytes/,
    );
  });

  it("refuses a commit of more than 10,000 operations", async () => {
    const store = await open();
    const deletes = Array.from({ length: 10_001 }, (_, index) => ["d", index]);
    expect((await failureOf(store.commit({ deletes }))).code).toBe("invalid_request");
    await store.commit({ deletes: deletes.slice(1) });
  });

  it("refuses commits beyond the length of its queue, at once and with Retry-After, and serves the rest", async () => {
    const store = await open({ queueLengthMax: 10 });
    const results = await Promise.allSettled(
      Array.from({ length: 15 }, (_, index) => store.commit({ puts: [{ key: ["q", index], value: index }] })),
    );
    const refused = results.filter((result) => result.status === "rejected").map((result) => result.reason as AppError);
    expect(refused).toHaveLength(5);
    expect(refused.every((error) => error.code === "overloaded" && error.retryAfterSec === 1)).toBe(true);
    expect(store.count(["q"])).toBe(10);
    await store.commit({ puts: [{ key: ["q", 99], value: 1 }] });
  });

  it("leaves no trace of a refused commit in the commits sent with it", async () => {
    const store = await open();
    const results = await Promise.allSettled([
      store.commit({ puts: [{ key: ["one"], value: 1 }] }),
      store.commit({
        puts: [
          { key: ["lost"], value: 1 },
          { key: ["k".repeat(2000)], value: 1 },
        ],
      }),
      store.commit({ puts: [{ key: ["two"], value: 1 }] }),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(store.range([]).map((record) => record.key)).toEqual([["one"], ["two"]]);
  });
});

describe("LMDB store: full", () => {
  const page = "x".repeat(3000);

  it("refuses puts with storage_full at its maximum size, keeps reading and deleting, and recovers by itself", async () => {
    const store = await open({ mapBytes: 4 * 2 ** 20, reserveBytes: 2 ** 20 });
    const acknowledged: number[] = [];
    let refused: unknown;
    for (let index = 0; index < 5_000 && refused === undefined; index += 1) {
      await store.commit({ puts: [{ key: ["f", index], value: page }] }).then(
        () => acknowledged.push(index),
        (error: unknown) => {
          refused = error;
        },
      );
    }
    expect(refused).toMatchObject({ code: "storage_full" });
    expect(store.state).toBe("full");
    expect(store.range(["f"]).map((record) => record.key[1])).toEqual(acknowledged);

    await store.commit({ urgent: true, puts: [{ key: ["revoked"], value: true }] });
    await store.commit({ deletes: acknowledged.slice(0, 300).map((index) => ["f", index]) });
    await store.commit({ puts: [{ key: ["f", "again"], value: page }] });
    expect(store.state).toBe("ready");
    expect(store.count(["f"])).toBe(acknowledged.length - 300 + 1);
    expect((await store.integrityReport()).sound).toBe(true);
  });

  it("refuses a commit that is too large for the remaining space, and accepts smaller ones of its batch", async () => {
    const store = await open({ mapBytes: 8 * 2 ** 20, reserveBytes: 2 ** 20 });
    const results = await Promise.allSettled([
      store.commit({ puts: [{ key: ["small", 1], value: 1 }] }),
      store.commit({ puts: [{ key: ["large"], value: "x".repeat(4_000_000) }] }),
      store.commit({ puts: [{ key: ["small", 2], value: 1 }] }),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });
});

describe("LMDB store: opening and closing", () => {
  it("keeps everything over a restart, and continues the versions", async () => {
    const path = folder();
    const first = await open({ path });
    await first.commit({ puts: [{ key: ["a"], value: 1 }] });
    const { version } = first.get(["a"])!;
    await first.close();
    const second = await open({ path });
    expect(second.get(["a"])).toEqual({ key: ["a"], value: 1, version });
    await second.commit({ puts: [{ key: ["b"], value: 1 }] });
    expect(second.get(["b"])!.version).toBeGreaterThan(version);
  });

  it("ends the checks that go on when it closes, and takes none of them for damage", async () => {
    const path = folder();
    const store = await open({ path });
    await store.commit({ puts: Array.from({ length: 2000 }, (_, index) => ({ key: ["row", index], value: index })) });
    const reader = openStoreReader({ path });
    for (const checked of [store, reader]) {
      const checks = [checked.integrityReport(), checked.integrityReport()];
      const ended = Promise.allSettled(checks);
      await checked.close();
      for (const check of await ended)
        expect(check).toMatchObject({ status: "rejected", reason: { name: "AbortError" } });
    }
  });

  it("settles accepted commits before it closes, and refuses later ones", async () => {
    const path = folder();
    const store = await open({ path });
    const accepted = Promise.all(
      Array.from({ length: 300 }, (_, index) => store.commit({ puts: [{ key: ["c", index], value: index }] })),
    );
    const closed = store.close();
    expect((await failureOf(store.commit({ puts: [{ key: ["late"], value: 1 }] }))).code).toBe("shutting_down");
    await accepted;
    await closed;
    expect((await open({ path })).count(["c"])).toBe(300);
  });

  it("refuses a second server on the same folder, naming the process, until the first is done", async () => {
    const path = folder();
    const first = await open({ path });
    const failure = await failureOf(openStore({ path }, { log: recordedLog() }));
    expect(failure.message).toContain(`in use by process ${process.pid}`);
    await first.close();
    await open({ path });
  });

  it("takes over the lock of a process that has ended, also when its process id was reused", async () => {
    const path = folder();
    await (await open({ path })).close();
    const lock = join(path, "server.lock");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    for (const holder of [
      { pid: 2 ** 22 + 1, started: "1", boot },
      { pid: process.pid, started: "1", boot },
      { pid: process.pid, started: "1", boot: "earlier" },
    ]) {
      writeFileSync(lock, JSON.stringify({ token: "t", host: hostname(), ...holder }));
      await (await open({ path })).close();
      expect(existsSync(lock)).toBe(false);
    }
  });

  it("respects a fresh lock of another host, and takes over one that was not refreshed", async () => {
    const path = folder();
    await (await open({ path })).close();
    const lock = join(path, "server.lock");
    writeFileSync(lock, JSON.stringify({ token: "t", pid: 1, started: "1", boot: "b", host: "elsewhere.example" }));
    expect((await failureOf(openStore({ path }, { log: recordedLog() }))).message).toContain(
      "on host elsewhere.example",
    );
    const old = new Date(Date.now() - 60_000);
    utimesSync(lock, old, old);
    await open({ path });
  });

  it("copies a consistent snapshot with all earlier acknowledged commits, while commits continue", async () => {
    const store = await open();
    let stop = false;
    let pairs = 0;
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let index = 0; !stop; index += 1) {
        await store.commit({
          puts: [
            { key: ["left", writer, index], value: index },
            { key: ["right", writer, index], value: index },
          ],
        });
        pairs += 1;
      }
    });
    await eventually(() => {
      expect(pairs).toBeGreaterThanOrEqual(500);
    });
    const before = store.range(["left"]).map((record) => record.key.slice(1));
    const copy = join(folder(), "copy");
    await store.backup(copy);
    stop = true;
    await Promise.all(writers);
    expect((await failureOf(store.backup(copy))).code).toBe("conflict");

    const reader = openStoreReader({ path: copy });
    const left = reader.range(["left"]).map((record) => JSON.stringify(record.key.slice(1)));
    expect(reader.range(["right"]).map((record) => JSON.stringify(record.key.slice(1)))).toEqual(left);
    const held = new Set(left);
    expect(before.filter((key) => !held.has(JSON.stringify(key)))).toEqual([]);
    expect((await reader.integrityReport()).sound).toBe(true);
    await reader.close();
  });

  it("reports that there is no store to read", () => {
    expect(() => openStoreReader({ path: folder() })).toThrow(/there is no store/);
  });
});

describe("LMDB store: migrations", () => {
  const rename: Migration = {
    to: 2,
    title: "names become titles",
    run: (store) => {
      for (const record of store.range(["thing"])) {
        const { name } = record.value as { name: string };
        store.put(record.key, { title: name });
      }
      store.delete(["obsolete"]);
    },
  };

  async function versionOne(): Promise<string> {
    const path = folder();
    const store = await open({ path, migrations: [] });
    await store.commit({
      puts: [
        { key: ["thing", 1], value: { name: "one" } },
        { key: ["thing", 2], value: { name: "two" } },
        { key: ["obsolete"], value: 1 },
      ],
    });
    await store.close();
    return path;
  }

  it("run once, in order, after a backup", async () => {
    const path = await versionOne();
    const log = recordedLog();
    const store = await openStore({ path, migrations: [rename] }, { log });
    stores.push(store);
    expect(store.schemaVersion).toBe(2);
    expect(store.range([]).map((record) => record.value)).toEqual([{ title: "one" }, { title: "two" }]);
    expect((await store.integrityReport()).sound).toBe(true);
    await store.close();

    const again = recordedLog();
    await (await openStore({ path, migrations: [rename] }, { log: again })).close();
    expect(again.lines).toEqual([]);

    const kept = readdirSync(path).filter((name) => name.startsWith("before-schema-2"));
    expect(kept).toHaveLength(1);
    const before = openStoreReader({ path: join(path, kept[0]!) });
    expect([before.schemaVersion, before.count([])]).toEqual([1, 3]);
    await before.close();
  });

  it("change nothing when one fails", async () => {
    const path = await versionOne();
    const broken: Migration = {
      to: 2,
      title: "breaks",
      run: (store) => {
        rename.run(store);
        throw new Error("half-way");
      },
    };
    await expect(openStore({ path, migrations: [broken] }, { log: recordedLog() })).rejects.toThrow("half-way");
    const store = await open({ path, migrations: [] });
    expect(store.schemaVersion).toBe(1);
    expect(store.get(["thing", 1])?.value).toEqual({ name: "one" });
  });

  it("refuse a store of a newer program with a sentence", async () => {
    const path = folder();
    await (await open({ path, migrations: [rename] })).close();
    const failure = await failureOf(openStore({ path, migrations: [] }, { log: recordedLog() }));
    expect(failure.message).toMatch(/schema version 2, and this program supports 1: use the newer version/);
  });
});
