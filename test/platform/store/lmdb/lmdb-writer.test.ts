import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ChainRecord } from "../../../../src/platform/store/chain.js";
import {
  emptyMeta,
  openEnvironment,
  readMeta,
  transact,
  writeMeta,
} from "../../../../src/platform/store/lmdb/lmdb-environment.js";
import type { Environment } from "../../../../src/platform/store/lmdb/lmdb-environment.js";
import { readRange, readRecord } from "../../../../src/platform/store/lmdb/lmdb-reader.js";
import { scrubStoreNow } from "../../../../src/platform/store/lmdb/lmdb-scrub.js";
import { LmdbWriter } from "../../../../src/platform/store/lmdb/lmdb-writer.js";
import type { WriteOutcome } from "../../../../src/platform/store/lmdb/lmdb-writer.js";
import type { StoreCommit } from "../../../../src/platform/store/store.js";
import { CommitPacker, unpackCommits } from "../../../../src/platform/store/wire.js";
import { newFolder, removeFolder } from "../../../support/temporary-folder.js";

/** The errno of a failed write as lmdb-js gives it. */
function diskError(code: number): Error {
  return Object.assign(new Error(`errno ${code}`), { code });
}

describe("the writer on a failing disk", () => {
  let folder: string;
  let environment: Environment;
  let failure: Error | undefined;
  let free: number;
  let writer: LmdbWriter;

  beforeEach(() => {
    folder = newFolder("writer");
    environment = openEnvironment(folder);
    transact(environment, () => {
      writeMeta(environment, emptyMeta(1));
    });
    failure = undefined;
    free = 2 ** 30;
    const storage = {
      // The failure comes where the fsync would: after everything has been put.
      transact: (body: () => void): void => {
        transact(environment, () => {
          body();
          if (failure !== undefined) throw failure;
        });
      },
      freeBytes: (): number => free,
    };
    writer = new LmdbWriter(
      { path: folder, dataBytesMax: 2 ** 30, reserveBytes: 2 ** 20, chainKey: new Uint8Array(32) },
      { environment, storage },
    );
  });
  afterEach(async () => {
    await environment.close();
    removeFolder(folder);
  });

  function apply(...commits: StoreCommit[]): (string | undefined)[] {
    const packer = new CommitPacker();
    for (const commit of commits) packer.add(commit);
    return writer.apply(unpackCommits(packer.take())).map((outcome: WriteOutcome) => outcome?.code);
  }

  const put = (name: string): StoreCommit => ({
    checks: [{ key: [name], version: "absent" }],
    puts: [{ key: [name], value: 1 }],
  });
  const has = (name: string): boolean => readRecord(environment, [name]) !== undefined;

  it("fails the whole batch after a failed fsync, shows none of it, and accepts no more writes", () => {
    failure = diskError(5);
    expect(apply(put("a"), put("b"))).toEqual(["storage_failed", "storage_failed"]);
    expect([has("a"), has("b"), writer.state]).toEqual([false, false, "failed"]);
    failure = undefined;
    expect(apply(put("a"))).toEqual(["storage_failed"]);
    expect(readMeta(environment)).toEqual(emptyMeta(1));
  });

  it.each([
    [28, 2 ** 30],
    [122, 2 ** 30],
    [27, 2 ** 30],
    [-30792, 2 ** 30],
    [5, 2 ** 22],
  ])("errno %i with %i bytes free is a full disk: refused, then recovered without a restart", (code, freeThen) => {
    failure = diskError(code);
    free = freeThen;
    expect(apply(put("a"))).toEqual(["storage_full"]);
    expect([has("a"), writer.state]).toEqual([false, "full"]);
    failure = undefined;
    free = 2 ** 30;
    expect(apply(put("a"))).toEqual([undefined]);
    expect([has("a"), writer.state]).toEqual([true, "ready"]);
  });

  it("reports no conflict with a commit of the same batch when both are rolled back", () => {
    failure = diskError(28);
    expect(apply(put("a"), put("a"))).toEqual(["storage_full", "storage_full"]);
  });

  it("fails the batch after a fault of the program, and goes on writing", () => {
    failure = new Error("a bug");
    expect(apply(put("a"))).toEqual(["internal_error"]);
    failure = undefined;
    expect([has("a"), ...apply(put("a"))]).toEqual([false, undefined]);
  });

  it("accepts only deletions and urgent commits below the reserve", () => {
    expect(apply(put("old"))).toEqual([undefined]);
    free = 2 ** 20;
    expect(apply(put("a"), { deletes: [["old"]] }, { ...put("revoked"), urgent: true })).toEqual([
      "storage_full",
      undefined,
      undefined,
    ]);
    expect([has("a"), has("old"), has("revoked"), writer.state]).toEqual([false, false, true, "full"]);
    expect(apply({ ...put("logged"), urgent: true })).toEqual([undefined]);
    expect(writer.state).toBe("full");
  });

  it("accepts a deletion with its audit record below the reserve, and no record alone", () => {
    expect(apply(put("old"), put("older"), put("kept"))).toEqual([undefined, undefined, undefined]);
    free = 2 ** 20;
    const appends = [{ chain: "log", value: { action: "x" } }];
    expect(
      apply(
        { deletes: [["old"]], appends },
        { deletePrefixes: [["older"]], appends },
        { appends },
        { deletes: [["kept"]], puts: put("new").puts!, appends },
      ),
    ).toEqual([undefined, undefined, "storage_full", "storage_full"]);
    expect([has("old"), has("older"), has("kept"), has("new")]).toEqual([false, false, true, false]);
  });

  it("leaves no gap and no trace of the records of a failed batch in a chain", () => {
    const append = { appends: [{ chain: "log", value: "x", indexes: [["log#by", "u"]] }] };
    expect(apply(append, append)).toEqual([undefined, undefined]);
    failure = diskError(28);
    expect(apply(append, put("a"))).toEqual(["storage_full", "storage_full"]);
    failure = new Error("a bug");
    expect(apply(append)).toEqual(["internal_error"]);
    failure = undefined;
    expect(apply(append, put("b"))).toEqual([undefined, undefined]);
    expect(readRange(environment, ["log"]).map(({ key }) => key[1])).toEqual([1, 2, 3]);
    expect(readRange(environment, ["log#by", "u"]).map(({ key }) => key[2])).toEqual([1, 2, 3]);
    expect(readRecord(environment, ["log#head"])?.value).toMatchObject({
      number: 3,
      mac: readRecord<ChainRecord>(environment, ["log", 3])?.value.mac,
    });
    expect(scrubStoreNow(environment)).toMatchObject({ sound: true, records: 8 });
  });

  it("continues from a head that a commit wrote itself, in the same batch and in the next", () => {
    const append = { appends: [{ chain: "log", value: "x" }] };
    const head = (number: number): StoreCommit => ({
      puts: [{ key: ["log#head"], value: { number, mac: "ab".repeat(32), key_id: "x" } }],
    });
    const numbers = (): unknown[] => readRange(environment, ["log"]).map(({ key }) => key[1]);
    expect(apply(append, head(10), append)).toEqual([undefined, undefined, undefined]);
    expect(numbers()).toEqual([1, 11]);
    expect(apply(head(20))).toEqual([undefined]);
    expect(apply({ ...head(30), ...append })).toEqual([undefined]);
    expect(numbers()).toEqual([1, 11, 31]);
    expect(apply({ deletes: [["log#head"]] }, { deletePrefixes: [["log"]] }, append)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(numbers()).toEqual([1]);
    expect(readRecord(environment, ["log#head"])?.value).toMatchObject({ number: 1 });
    expect(scrubStoreNow(environment)).toMatchObject({ sound: true, records: 2 });
  });

  it("fails only the commit that changes a damaged record", () => {
    expect(apply(put("a"), put("b"))).toEqual([undefined, undefined]);
    const key = Buffer.concat([Buffer.of(2), Buffer.from("a"), Buffer.of(0)]);
    const bytes = environment.getBinary(key)!;
    bytes[bytes.length - 10]! ^= 1;
    transact(environment, () => {
      void environment.put(key, bytes);
    });
    expect(apply({ puts: [{ key: ["a"], value: 2 }] }, { puts: [{ key: ["b"], value: 2 }] })).toEqual([
      "data_corrupt",
      undefined,
    ]);
  });
});
