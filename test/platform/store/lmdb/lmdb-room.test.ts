import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  DATA_FILE,
  measureSpace,
  emptyMeta,
  openEnvironment,
  transact,
  writeMeta,
} from "../../../../src/platform/store/lmdb/lmdb-environment.js";
import type { Environment } from "../../../../src/platform/store/lmdb/lmdb-environment.js";
import { readRange } from "../../../../src/platform/store/lmdb/lmdb-reader.js";
import { FileRoom } from "../../../../src/platform/store/lmdb/lmdb-room.js";
import { scrubStoreNow } from "../../../../src/platform/store/lmdb/lmdb-scrub.js";
import { openStore, openStoreReader } from "../../../../src/platform/store/lmdb/lmdb-store.js";
import { LmdbWriter } from "../../../../src/platform/store/lmdb/lmdb-writer.js";
import { CommitPacker, unpackCommits } from "../../../../src/platform/store/wire.js";
import { recordedLog } from "../../../support/silent-log.js";
import { newFolder, removeFolder } from "../../../support/temporary-folder.js";

const CHILD = fileURLToPath(new URL("../../../support/store-room-child.mjs", import.meta.url));
const KIB = 1024;
const MIB = 1024 * KIB;

let folder: string;
beforeEach(() => {
  folder = newFolder("room");
});
afterEach(() => {
  removeFolder(folder);
});

describe("room at the end of a data file", () => {
  let file: string;
  let room: FileRoom;

  beforeEach(() => {
    file = join(folder, DATA_FILE);
    writeFileSync(file, Buffer.alloc(MIB, 7));
    room = new FileRoom(file);
  });

  /** What is in the file after the given looks, as runs of one byte's value. */
  function after(...looks: readonly { readonly fileBytes?: number; readonly endBytes: number }[]): string {
    for (const { fileBytes = MIB, endBytes } of looks) room.keep({ fileBytes, endBytes });
    const bytes = readFileSync(file);
    const filled = bytes.findIndex((byte) => byte !== 7);
    return filled < 0
      ? `${bytes.length / KIB} filled`
      : `${filled / KIB} filled, ${bytes.subarray(filled).every((byte) => byte === 0) ? (bytes.length - filled) / KIB : "?"} zeros`;
  }

  it("is twice the growth of the file since the last call", () => {
    expect(after({ endBytes: MIB - 100 * KIB }, { endBytes: MIB })).toBe("1024 filled, 200 zeros");
  });

  it("is half a MiB at most", () => {
    expect(after({ endBytes: 0 }, { endBytes: MIB }, { fileBytes: 1.5 * MIB, endBytes: 2 * MIB })).toBe(
      "1024 filled, 1536 zeros",
    );
  });

  it("is not made at the first call, for slow growth, or while there is enough of it", () => {
    expect(after({ endBytes: MIB })).toBe("1024 filled");
    expect(after({ endBytes: MIB + 15 * KIB })).toBe("1024 filled");
    expect(after({ fileBytes: 2 * MIB, endBytes: MIB + 200 * KIB })).toBe("1024 filled");
  });

  it("is left out when the disk does not accept it", () => {
    const nowhere = new FileRoom(join(folder, "missing", DATA_FILE));
    nowhere.keep({ fileBytes: 0, endBytes: 0 });
    expect(() => {
      nowhere.keep({ fileBytes: 0, endBytes: MIB });
    }).not.toThrow();
  });
});

describe("a writer whose file grows fast", () => {
  let environment: Environment;
  let writer: LmdbWriter;
  let written: number;
  beforeEach(() => {
    environment = openEnvironment(folder);
    transact(environment, () => {
      writeMeta(environment, emptyMeta(1));
    });
    writer = new LmdbWriter({ path: folder, dataBytesMax: 2 ** 40, reserveBytes: 0 }, { environment });
    written = 0;
  });
  afterEach(async () => {
    await environment.close();
  });

  function grow(): ReturnType<typeof measureSpace> {
    const packer = new CommitPacker();
    packer.add({ puts: [{ key: ["grown", written], value: "x".repeat(20_000) }] });
    expect(writer.apply(unpackCommits(packer.take()))).toEqual([undefined]);
    written += 1;
    return measureSpace(environment, folder);
  }

  function growUntilThereIsRoom(): ReturnType<typeof measureSpace> {
    let space = grow();
    while (space.fileBytes <= space.endBytes) space = grow();
    return space;
  }

  it("makes room, counts it as free, fills it, and the store stays whole, also when opened anew", async () => {
    let space = growUntilThereIsRoom();
    const { fileBytes } = space;
    expect(space.freeInsideBytes).toBeGreaterThanOrEqual(fileBytes - space.endBytes);
    while (space.endBytes < fileBytes) space = grow();

    await environment.close();
    environment = openEnvironment(folder);
    expect(readRange(environment, ["grown"])).toHaveLength(written);
    expect(scrubStoreNow(environment)).toMatchObject({ sound: true, records: written });
  });

  it("can be copied while there is room, and the copy is sound, also when it grows", async () => {
    growUntilThereIsRoom();
    const copied = written;
    const copy = join(folder, "copy");
    mkdirSync(copy);
    const backup = environment.backup(copy, false);
    // Into the room, and beyond it into new room.
    while (written < copied + 50) grow();
    await backup;

    const reader = openStoreReader({ path: copy });
    const records = reader.count(["grown"]);
    expect(records).toBeGreaterThanOrEqual(copied);
    expect(await reader.integrityReport()).toMatchObject({ sound: true, records });
    await reader.close();
    const store = await openStore({ path: copy }, { log: recordedLog() });
    await store.commit({ puts: [{ key: ["grown", "more"], value: "x".repeat(20_000) }] });
    expect(await store.integrityReport()).toMatchObject({ sound: true, records: records + 1 });
    await store.close();
    expect(scrubStoreNow(environment)).toMatchObject({ sound: true, records: written });
  });
});

describe("kill -9 between room and commit", () => {
  it.each(["before", "within"])("leaves a sound store, again and again: %s the transaction", async (moment) => {
    await (await openStore({ path: folder }, { log: recordedLog() })).close();
    const rounds = 3;
    let acknowledged = 0;
    for (let round = 0; round < rounds; round += 1) {
      const child = spawnSync(process.execPath, [CHILD, folder, moment, String(acknowledged)], { encoding: "utf8" });
      expect([child.signal, child.stderr]).toEqual(["SIGKILL", ""]);
      const lines = child.stdout.trimEnd().split("\n");
      expect(lines.pop()).toBe("dies");
      acknowledged += lines.length;

      const environment = openEnvironment(folder);
      const { fileBytes, endBytes } = measureSpace(environment, folder);
      await environment.close();
      expect(fileBytes).toBeGreaterThan(endBytes);

      const store = await openStore({ path: folder }, { log: recordedLog() });
      expect(store.range(["grown"]).map(({ key }) => key[1])).toEqual(
        Array.from({ length: acknowledged }, (_, i) => i),
      );
      await store.commit({ puts: [{ key: ["after", round], value: "x".repeat(50_000) }] });
      expect(await store.integrityReport()).toMatchObject({ sound: true, records: acknowledged + round + 1 });
      await store.close();
    }
    expect(acknowledged).toBeGreaterThanOrEqual(rounds);
  });
});
