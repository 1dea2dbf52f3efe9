/** What every adapter of the store port must do. Run it with a way to open an empty store. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StoreConflict } from "../../../src/platform/store/store.js";
import type { Store, StoreKey } from "../../../src/platform/store/store.js";

export function describeStore(name: string, open: () => Promise<Store>): void {
  describe(`${name}: the store port`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(async () => {
      await store.close();
    });

    const keysOf = (prefix: StoreKey, options = {}): StoreKey[] =>
      store.range(prefix, options).map((record) => record.key);
    const write = (...keys: StoreKey[]): Promise<void> =>
      store.commit({ puts: keys.map((key) => ({ key, value: { at: key.join("/") } })) });

    it("returns what was committed, with its key", async () => {
      const value = { text: "zero \u0000, grüße, 🦊", list: [1, -0.5, null, true, { deep: [] }], empty: {} };
      await store.commit({ puts: [{ key: ["vault", "user", 7], value }] });
      expect(store.get(["vault", "user", 7])).toEqual({
        key: ["vault", "user", 7],
        value,
        version: expect.any(Number) as number,
      });
    });

    it("returns nothing for a key that was never written", () => {
      expect(store.get(["vault", "nobody"])).toBeUndefined();
      expect(store.range(["vault"])).toEqual([]);
      expect(store.count(["vault"])).toBe(0);
    });

    it("shows a commit to every read after its acknowledgement, also after an earlier read", async () => {
      for (let round = 0; round < 50; round += 1) {
        expect(store.get(["round", round])).toBeUndefined();
        await write(["round", round]);
        expect(store.get(["round", round])?.value).toEqual({ at: `round/${round}` });
        expect(store.count(["round"])).toBe(round + 1);
      }
    });

    it("leaves out members that are undefined, as JSON does", async () => {
      await store.commit({ puts: [{ key: ["a"], value: { kept: 1, dropped: undefined } }] });
      expect(store.get(["a"])?.value).toStrictEqual({ kept: 1 });
    });

    describe("checks", () => {
      it("hold for an absent key once, and conflict afterwards with the key's name", async () => {
        const commit = { checks: [{ key: ["a"], version: "absent" as const }], puts: [{ key: ["a"], value: 1 }] };
        await store.commit(commit);
        const failure = await store.commit(commit).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(StoreConflict);
        expect((failure as StoreConflict).key).toEqual(["a"]);
      });

      it("hold for the version that was read, and for no older one", async () => {
        await write(["a"]);
        const first = store.get(["a"])!;
        await store.commit({ checks: [{ key: ["a"], version: first.version }], puts: [{ key: ["a"], value: 2 }] });
        await expect(
          store.commit({ checks: [{ key: ["a"], version: first.version }], puts: [{ key: ["a"], value: 3 }] }),
        ).rejects.toBeInstanceOf(StoreConflict);
        expect(store.get(["a"])?.value).toBe(2);
      });

      it("never hold for an old version, not even after a deletion", async () => {
        await write(["a"]);
        const first = store.get(["a"])!;
        await store.commit({ deletes: [["a"]] });
        await write(["a"]);
        expect(store.get(["a"])!.version).toBeGreaterThan(first.version);
      });

      it("conflict on a deleted record", async () => {
        await write(["a"]);
        const { version } = store.get(["a"])!;
        await store.commit({ deletes: [["a"]] });
        await expect(store.commit({ checks: [{ key: ["a"], version }] })).rejects.toBeInstanceOf(StoreConflict);
      });

      it("leave nothing of their commit when one fails: no put, no deletion", async () => {
        await write(["kept"], ["pinned"], ["tree", 1]);
        await expect(
          store.commit({
            checks: [
              { key: ["kept"], version: store.get(["kept"])!.version },
              { key: ["pinned"], version: "absent" },
            ],
            puts: [{ key: ["new"], value: 1 }],
            deletes: [["kept"]],
            deletePrefixes: [["tree"]],
          }),
        ).rejects.toBeInstanceOf(StoreConflict);
        expect(keysOf([])).toEqual([["kept"], ["pinned"], ["tree", 1]]);
      });

      it("decide each commit of a group by itself, in order", async () => {
        const claim = (by: number): Promise<void> =>
          store.commit({
            checks: [{ key: ["name"], version: "absent" }],
            puts: [
              { key: ["name"], value: by },
              { key: ["winner", by], value: by },
            ],
          });
        const results = await Promise.allSettled([claim(1), claim(2), write(["other"]), claim(3)]);
        expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
        expect(keysOf([])).toEqual([["name"], ["other"], ["winner", 1]]);
      });

      it("lose none of 200 racing increments with retries", async () => {
        await store.commit({ puts: [{ key: ["counter"], value: 0 }] });
        const increment = async (): Promise<void> => {
          for (;;) {
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
        };
        await Promise.all(Array.from({ length: 200 }, increment));
        expect(store.get(["counter"])?.value).toBe(200);
      });
    });

    describe("deletions", () => {
      it("of a prefix remove the subtree and the prefix itself, and nothing else", async () => {
        await write(["v", "1"], ["v", "1", "a"], ["v", "1", "b", 2], ["v", "10"], ["v", "1\u0000x"], ["v", "2", "a"]);
        await store.commit({ deletePrefixes: [["v", "1"]] });
        expect(keysOf([])).toEqual([
          ["v", "1\u0000x"],
          ["v", "10"],
          ["v", "2", "a"],
        ]);
      });

      it("happen before the puts of the same commit", async () => {
        await write(["v", 1], ["v", 2]);
        await store.commit({
          deletePrefixes: [["v"]],
          deletes: [["w"]],
          puts: [
            { key: ["v", 3], value: 1 },
            { key: ["v", 1], value: "again" },
            { key: ["w"], value: 1 },
          ],
        });
        expect(keysOf([])).toEqual([["v", 1], ["v", 3], ["w"]]);
        expect(store.get(["v", 1])?.value).toBe("again");
      });

      it("of a missing key succeed", async () => {
        await store.commit({ deletes: [["nothing"]], deletePrefixes: [["none"]] });
        expect(store.count([])).toBe(0);
      });
    });

    describe("ranges", () => {
      it("come in key order: numbers by size before texts by code point, a key before its continuations", async () => {
        const ordered: StoreKey[] = [
          ["t"],
          ["t", -1e300],
          ["t", -2],
          ["t", -0.5],
          ["t", 0],
          ["t", 0.5],
          ["t", 9],
          ["t", 10],
          ["t", 2 ** 53],
          ["t", ""],
          ["t", "", 1],
          ["t", "\u0000"],
          ["t", "\u0000\u0000"],
          ["t", "\u0000a"],
          ["t", "a"],
          ["t", "a", 0],
          ["t", "a", "x"],
          ["t", "a\u0000"],
          ["t", "a\u0000b"],
          ["t", "ab"],
          ["t", "b"],
          ["t", "é"],
          ["t", "\uffff"],
          ["t", "😀"],
        ];
        await write(...[...ordered].reverse());
        expect(keysOf(["t"])).toEqual(ordered);
        expect(keysOf(["t"], { reverse: true })).toEqual([...ordered].reverse());
        expect(store.count(["t"])).toBe(ordered.length);
      });

      it("stay within whole parts of the prefix", async () => {
        await write(["user", "1"], ["user", "1", "x"], ["user", "12"], ["user2"], ["use"], ["user", 1]);
        expect(keysOf(["user", "1"])).toEqual([
          ["user", "1"],
          ["user", "1", "x"],
        ]);
        expect(keysOf(["user"])).toEqual([
          ["user", 1],
          ["user", "1"],
          ["user", "1", "x"],
          ["user", "12"],
        ]);
      });

      it("page with offset and limit in both directions", async () => {
        await write(...Array.from({ length: 30 }, (_, index) => ["p", index]));
        expect(keysOf(["p"], { offset: 10, limit: 3 })).toEqual([
          ["p", 10],
          ["p", 11],
          ["p", 12],
        ]);
        expect(keysOf(["p"], { offset: 28, limit: 5 })).toEqual([
          ["p", 28],
          ["p", 29],
        ]);
        expect(keysOf(["p"], { offset: 30, limit: 5 })).toEqual([]);
        expect(keysOf(["p"], { offset: 1, limit: 2, reverse: true })).toEqual([
          ["p", 28],
          ["p", 27],
        ]);
        expect(keysOf(["p"], { limit: 0 })).toEqual([]);
      });

      it("start after a key, whether it exists or not, in both directions", async () => {
        await write(["p", 1], ["p", 2], ["p", 2, "x"], ["p", 4]);
        expect(keysOf(["p"], { after: ["p", 2] })).toEqual([
          ["p", 2, "x"],
          ["p", 4],
        ]);
        expect(keysOf(["p"], { after: ["p", 3] })).toEqual([["p", 4]]);
        expect(keysOf(["p"], { after: ["p", 4] })).toEqual([]);
        expect(keysOf(["p"], { after: ["a"] })).toHaveLength(4);
        expect(keysOf(["p"], { after: ["p", 2, "x"], reverse: true })).toEqual([
          ["p", 2],
          ["p", 1],
        ]);
        expect(keysOf(["p"], { after: ["z"], reverse: true })).toHaveLength(4);
        expect(keysOf(["p"], { after: ["a"], reverse: true })).toEqual([]);
      });
    });
  });
}
