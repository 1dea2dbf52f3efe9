import { beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../src/platform/errors.js";
import { StoreConflict } from "../../../src/platform/store/store.js";
import { defineTable, mergeCommits, retryOnConflict } from "../../../src/platform/store/tables.js";
import type { Table } from "../../../src/platform/store/tables.js";
import { MemoryStore } from "../../support/memory-store.js";

interface Vault {
  readonly id: string;
  readonly created_at: string;
  readonly owner: string;
  readonly name: string;
  readonly label?: string;
}

function vault(id: string, changes: Partial<Vault> = {}): Vault {
  return { id, created_at: "2026-01-01T00:00:00.000Z", owner: "alice", name: `name ${id}`, ...changes };
}

describe("a table", () => {
  let store: MemoryStore;
  let vaults: Table<Vault, "owner" | "label", "name">;
  beforeEach(() => {
    store = new MemoryStore();
    vaults = defineTable<Vault, "owner" | "label", "name">(
      {
        name: "vault",
        key: (record) => ["user", record.owner, record.id],
        indexes: {
          owner: (record) => ["user", record.owner],
          label: (record) => (record.label === undefined ? undefined : [record.label]),
        },
        uniques: { name: (record) => [record.owner, record.name] },
      },
      { store },
    );
  });

  const insert = (record: Vault): Promise<void> => store.commit(vaults.insertCommit(record));
  const current = (record: Vault): NonNullable<ReturnType<typeof vaults.get>> =>
    vaults.get(["user", record.owner, record.id])!;
  const ids = (listing: { rows: Vault[] }): string[] => listing.rows.map((row) => row.id);

  it("finds a record by its key and by a unique key, and not under another owner", async () => {
    await insert(vault("1"));
    expect(vaults.get(["user", "alice", "1"])?.value).toEqual(vault("1"));
    expect(vaults.findBy("name", ["alice", "name 1"])?.value).toEqual(vault("1"));
    expect(vaults.get(["user", "bob", "1"])).toBeUndefined();
    expect(vaults.findBy("name", ["bob", "name 1"])).toBeUndefined();
  });

  it("lists by created_at, then id, with the total over all pages", async () => {
    for (const id of ["d", "b", "c"]) await insert(vault(id));
    await insert(vault("a", { created_at: "2026-01-02T00:00:00.000Z" }));
    await insert(vault("z", { created_at: "2025-12-31T23:59:59.999Z" }));
    await insert(vault("other", { owner: "bob" }));
    expect(ids(vaults.list("owner", ["user", "alice"]))).toEqual(["z", "b", "c", "d", "a"]);
    expect(vaults.list("owner", ["user", "alice"], { page: { page: 2, rpp: 2 } })).toEqual({
      rows: [vault("c"), vault("d")],
      total: 5,
    });
    expect(ids(vaults.list("owner", ["user", "alice"], { page: { page: 1, rpp: 2 }, reverse: true }))).toEqual([
      "a",
      "d",
    ]);
    expect(vaults.list("owner", ["user", "alice"], { page: { page: 9, rpp: 2 } })).toEqual({ rows: [], total: 5 });
    expect(vaults.count("owner", ["user"])).toBe(6);
  });

  it("finds the first record of each group, at one read a group", async () => {
    expect(vaults.firstOfEach("owner", [], 2)).toEqual([]);
    for (const owner of ["bob", "alice", "alicé", "alice b", "\u{1f600}"])
      for (const id of ["2", "1", "3"]) await insert(vault(`${id} ${owner}`, { owner, name: `${owner} ${id}` }));
    let reads = 0;
    const counted = defineTable<Vault, "owner">(
      {
        name: "vault",
        key: (record) => ["user", record.owner, record.id],
        indexes: { owner: (record) => ["user", record.owner] },
      },
      {
        store: {
          get: (key) => store.get(key),
          count: (prefix) => store.count(prefix),
          range: (prefix, options) => {
            reads += 1;
            return store.range(prefix, options);
          },
        },
      },
    );
    const owners = counted.firstOfEach("owner", [], 2).map(({ value }) => value.id);
    expect(owners).toEqual(["1 alice", "1 alice b", "1 alicé", "1 bob", "1 \u{1f600}"]);
    expect(reads).toBe(owners.length + 1);
    expect(counted.firstOfEach("owner", ["user", "alice"], 2).map(({ value }) => value.id)).toEqual(["1 alice"]);
    expect(counted.firstOfEach("owner", ["user", "carol"], 2)).toEqual([]);
  });

  it("filters before it counts and pages", async () => {
    for (const id of ["1", "2", "3", "4"])
      await insert(vault(id, { name: Number(id) % 2 === 0 ? `even ${id}` : `odd ${id}` }));
    const listing = vaults.list("owner", ["user", "alice"], {
      filter: (row) => row.name.startsWith("even"),
      page: { page: 2, rpp: 1 },
    });
    expect([ids(listing), listing.total]).toEqual([["4"], 2]);
  });

  it("conflicts on a taken key and on a taken unique key, and tells which", async () => {
    await insert(vault("1"));
    const same = await insert(vault("1", { name: "new" })).catch((error: unknown) => error);
    expect(vaults.uniqueOf((same as StoreConflict).key)).toBeUndefined();
    const taken = await insert(vault("2", { name: "name 1" })).catch((error: unknown) => error);
    expect(vaults.uniqueOf((taken as StoreConflict).key)).toBe("name");
    for (const conflict of [same, taken]) expect(vaults.isOwnKey((conflict as StoreConflict).key)).toBe(true);
    expect(vaults.isOwnKey(["vaults", "1"])).toBe(false);
    await insert(vault("3", { name: "name 1", owner: "bob" }));
  });

  it("moves the changed entries of an updated record, and leaves the others", async () => {
    await insert(vault("1", { label: "red" }));
    await store.commit(vaults.updateCommit(current(vault("1")), vault("1", { name: "renamed", label: "blue" })));
    expect(ids(vaults.list("label", ["red"]))).toEqual([]);
    expect(ids(vaults.list("label", ["blue"]))).toEqual(["1"]);
    expect(vaults.findBy("name", ["alice", "name 1"])).toBeUndefined();
    expect(vaults.findBy("name", ["alice", "renamed"])?.value.label).toBe("blue");
    await store.commit(vaults.updateCommit(current(vault("1")), vault("1")));
    expect(ids(vaults.list("label", []))).toEqual([]);
    await insert(vault("2", { name: "renamed" }));
  });

  it("conflicts on an update of a record that was changed meanwhile", async () => {
    await insert(vault("1"));
    const read = current(vault("1"));
    await store.commit(vaults.updateCommit(read, vault("1", { name: "first" })));
    await expect(store.commit(vaults.updateCommit(read, vault("1", { name: "second" })))).rejects.toBeInstanceOf(
      StoreConflict,
    );
    expect(vaults.findBy("name", ["alice", "second"])).toBeUndefined();
  });

  it("refuses an update to another record's unique key, and one that changes the key", async () => {
    await insert(vault("1"));
    await insert(vault("2"));
    await expect(
      store.commit(vaults.updateCommit(current(vault("2")), vault("2", { name: "name 1" }))),
    ).rejects.toBeInstanceOf(StoreConflict);
    expect(() => vaults.updateCommit(current(vault("2")), vault("2", { owner: "bob" }))).toThrow(/keeps its key/);
  });

  it("leaves no entry of a deleted record", async () => {
    await insert(vault("1", { label: "red" }));
    await store.commit(vaults.deleteCommit(current(vault("1"))));
    expect(store.count([])).toBe(0);
  });

  it("reports an index entry without its record as damage", async () => {
    await insert(vault("1"));
    await store.commit({ deletes: [["vault", "user", "alice", "1"]] });
    expect(() => vaults.list("owner", ["user", "alice"])).toThrow(expect.objectContaining({ code: "data_corrupt" }));
  });
});

describe("mergeCommits", () => {
  it("merges all parts, an equal check once, and is urgent when one part is", () => {
    const check = { key: ["a"], version: 1 };
    expect(
      mergeCommits(
        { checks: [check], puts: [{ key: ["a"], value: 1 }] },
        { checks: [check], deletes: [["b"]], urgent: true },
        { deletePrefixes: [["c"]] },
      ),
    ).toEqual({
      checks: [check],
      puts: [{ key: ["a"], value: 1 }],
      deletes: [["b"]],
      deletePrefixes: [["c"]],
      urgent: true,
    });
    expect(mergeCommits({}, {})).not.toHaveProperty("urgent");
  });

  it("rejects two different puts of one record and checks for two versions of it", () => {
    const put = { puts: [{ key: ["a", 1], value: 1 }] };
    expect(() => mergeCommits(put, put)).toThrow(/put different records/);
    expect(() =>
      mergeCommits({ checks: [{ key: ["a"], version: 1 }] }, { checks: [{ key: ["a"], version: "absent" }] }),
    ).toThrow(/for the same version/);
  });
});

describe("retryOnConflict", () => {
  it("repeats the attempt after conflicts, and returns its result", async () => {
    let tries = 0;
    const value = await retryOnConflict(async () => {
      tries += 1;
      if (tries < 3) throw new StoreConflict(["a"]);
      return tries;
    });
    expect(value).toBe(3);
  });

  it("fails with a conflict after the last attempt, and rethrows other errors at once", async () => {
    let tries = 0;
    const contended = retryOnConflict(
      async () => {
        tries += 1;
        throw new StoreConflict(["a"]);
      },
      { attemptsMax: 4 },
    );
    await expect(contended).rejects.toMatchObject({ code: "conflict", status: 409 });
    expect(tries).toBe(4);
    tries = 0;
    await expect(
      retryOnConflict(async () => {
        tries += 1;
        throw new AppError("storage_full", { message: "full" });
      }),
    ).rejects.toMatchObject({ code: "storage_full" });
    expect(tries).toBe(1);
  });
});
