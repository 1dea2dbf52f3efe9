// Hash chains of the store: numbered in commit order, linked by the writer, never the reason of a conflict.
import { createHmac, randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createLog } from "../../../src/platform/log.js";
import {
  ChainKey,
  chainKeyId,
  chainMac,
  NO_PREDECESSOR,
  type ChainHead,
  type ChainRecord,
} from "../../../src/platform/store/chain.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { StoreConflict } from "../../../src/platform/store/store.js";
import { seededRandom } from "../../support/seeded.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const KEY = randomBytes(32);
let folder: string;
let store: DurableStore;
const open = async () =>
  await openStore(
    { path: folder, mapBytes: 64 * 2 ** 20, reserveBytes: 2 ** 20, chainKey: KEY },
    { log: createLog("silent") },
  );

beforeEach(async () => {
  folder = newFolder("chain");
  store = await open();
});
afterEach(async () => {
  await store.close();
  removeFolder(folder);
});

function linked(): { number: number; events: unknown[] } {
  let predecessor = NO_PREDECESSOR;
  const records = store.range<ChainRecord>(["log"]);
  for (const [index, { key, value }] of records.entries()) {
    expect(key).toEqual(["log", index + 1]);
    expect(value.mac).toBe(
      chainMac(KEY, { chain: "log", number: index + 1, predecessor, json: JSON.stringify(value.event) }),
    );
    predecessor = value.mac;
  }
  const head = store.get<ChainHead>(["log#head"])?.value;
  expect(head).toEqual(
    records.length === 0 ? undefined : { number: records.length, mac: predecessor, key_id: chainKeyId(KEY) },
  );
  return { number: records.length, events: records.map(({ value }) => value.event) };
}

it("computes the code over chain, number, predecessor and content", () => {
  const expected = createHmac("sha256", KEY)
    .update("pv/v1/chain\0")
    .update(Buffer.from([0, 3]))
    .update("log")
    .update(Buffer.from([0, 0, 0, 0, 0, 0, 0, 7]))
    .update(Buffer.alloc(32, 0xab))
    .update('{"a":1}')
    .digest("hex");
  expect(chainMac(KEY, { chain: "log", number: 7, predecessor: "ab".repeat(32), json: '{"a":1}' })).toBe(expected);
});

it("computes the same codes with a prepared key as Node's HMAC, for any lengths and numbers", () => {
  const random = seededRandom();
  const prepared = new ChainKey(KEY);
  expect(prepared.id).toBe(chainKeyId(KEY));
  for (let round = 0; round < 500; round += 1) {
    const chain = random.pick(["log", "", "\u00e4\ud83d\ude00", "c".repeat(300)]);
    const number = random.pick([0, 1, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER, random.below(2 ** 31)]);
    const predecessor = randomBytes(32).toString("hex");
    const json = Buffer.from("j".repeat(random.pick([0, 1, 55, 64, 1024, 20_000, random.below(3_000)])));
    expect(
      prepared.mac({ chain: Buffer.from(chain), number, predecessor, json }),
      `seed ${random.seed}, round ${round}`,
    ).toBe(chainMac(KEY, { chain, number, predecessor, json }));
  }
});

it("rejects a key of another length", () => {
  for (const length of [0, 31, 33])
    expect(() => new ChainKey(new Uint8Array(length)), `${length} bytes`).toThrow(/32 bytes/);
});

it("links the records of parallel commits in one chain without conflicts, across restarts", async () => {
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      await store.commit({ appends: [{ chain: "log", value: { index, text: 'ä"\u2028' } }] });
    }),
  );
  expect(linked().number).toBe(200);
  await store.close();
  store = await open();
  await store.commit({
    appends: [
      { chain: "log", value: "a" },
      { chain: "log", value: "b" },
    ],
  });
  expect(linked().events.slice(-2)).toEqual(["a", "b"]);
  expect((await store.integrityReport()).sound).toBe(true);
});

it("leaves no record and no gap of a refused commit", async () => {
  const insert = async (index: number) => {
    await store.commit({
      checks: [{ key: ["x"], version: "absent" }],
      puts: [{ key: ["x"], value: index }],
      appends: [{ chain: "log", value: index }],
    });
  };
  const outcomes = await Promise.allSettled([0, 1, 2, 3].map(insert));
  expect(outcomes.filter((outcome) => outcome.status === "fulfilled").length).toBe(1);
  expect(
    outcomes.filter((outcome) => outcome.status === "rejected" && outcome.reason instanceof StoreConflict).length,
  ).toBe(3);
  await store.commit({ appends: [{ chain: "log", value: "next" }] });
  expect(linked().events).toEqual([0, "next"]);
});

it("writes index entries with the record's number, and separates chains", async () => {
  await store.commit({
    appends: [
      {
        chain: "log",
        value: 1,
        indexes: [
          ["log#by", "u"],
          ["log#by", "v"],
        ],
      },
      { chain: "other", value: 1 },
    ],
  });
  await store.commit({ appends: [{ chain: "log", value: 2, indexes: [["log#by", "u"]] }] });
  expect(store.range(["log#by", "u"]).map(({ key }) => key.at(-1))).toEqual([1, 2]);
  expect(store.range(["log#by", "v"]).map(({ key }) => key.at(-1))).toEqual([1]);
  expect(store.count(["other"])).toBe(1);
  expect(linked().number).toBe(2);
});

it("numbers an unlinked log without a key, also after its oldest records are deleted, and calls its listeners", async () => {
  await store.close();
  store = await openStore(
    { path: folder, mapBytes: 64 * 2 ** 20, reserveBytes: 2 ** 20 },
    { log: createLog("silent") },
  );
  const heard: number[] = [];
  const stop = store.onAppend("feed", () => {
    heard.push(store.count(["feed"]));
  });
  const append = async (value: string) => {
    await store.commit({ appends: [{ chain: "feed", value, indexes: [["feed#by", "u"]], unlinked: true }] });
  };
  await append("a");
  await append("b");
  await store.commit({ puts: [{ key: ["x"], value: 1 }] });
  expect(heard).toEqual([1, 2]);
  await store.commit({
    deletes: [
      ["feed", 1],
      ["feed", 2],
      ["feed#by", "u", 1],
      ["feed#by", "u", 2],
    ],
  });
  stop();
  await append("c");
  expect(heard).toEqual([1, 2]);
  expect(store.range(["feed"]).map(({ key, value }) => [key[1], value])).toEqual([[3, "c"]]);
  expect(store.range(["feed#by", "u"]).map(({ key }) => key[2])).toEqual([3]);
  expect((await store.integrityReport()).sound).toBe(true);
});

it("does not append without a key", async () => {
  await store.close();
  store = await openStore(
    { path: folder, mapBytes: 64 * 2 ** 20, reserveBytes: 2 ** 20 },
    { log: createLog("silent") },
  );
  await expect(store.commit({ appends: [{ chain: "log", value: 1 }] })).rejects.toThrow(/opened with their key/);
  await store.commit({ puts: [{ key: ["x"], value: 1 }] });
});
