import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  DATA_FILE,
  measureSpace,
  openEnvironment,
  transact,
  writeMeta,
} from "../../../../src/platform/store/lmdb/lmdb-environment.js";
import type { Environment } from "../../../../src/platform/store/lmdb/lmdb-environment.js";
import { readRange } from "../../../../src/platform/store/lmdb/lmdb-reader.js";
import { FileRoom } from "../../../../src/platform/store/lmdb/lmdb-room.js";
import { scrubStoreNow } from "../../../../src/platform/store/lmdb/lmdb-scrub.js";
import { emptyMeta, LmdbWriter } from "../../../../src/platform/store/lmdb/lmdb-writer.js";
import { CommitPacker, unpackCommits } from "../../../../src/platform/store/wire.js";
import { newFolder, removeFolder } from "../../../support/temporary-folder.js";

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

  it("is twice what the file grew by since the last look", () => {
    expect(after({ endBytes: MIB - 100 * KIB }, { endBytes: MIB })).toBe("1024 filled, 200 zeros");
  });

  it("is half a MiB at most", () => {
    expect(after({ endBytes: 0 }, { endBytes: MIB }, { fileBytes: 1.5 * MIB, endBytes: 2 * MIB })).toBe(
      "1024 filled, 1536 zeros",
    );
  });

  it("is not made at the first look, for slow growth, or while there is enough of it", () => {
    expect(after({ endBytes: MIB })).toBe("1024 filled");
    expect(after({ endBytes: MIB + 15 * KIB })).toBe("1024 filled");
    expect(after({ fileBytes: 2 * MIB, endBytes: MIB + 200 * KIB })).toBe("1024 filled");
  });

  it("that the disk does not take is done without", () => {
    const nowhere = new FileRoom(join(folder, "missing", DATA_FILE));
    nowhere.keep({ fileBytes: 0, endBytes: 0 });
    expect(() => {
      nowhere.keep({ fileBytes: 0, endBytes: MIB });
    }).not.toThrow();
  });
});

describe("a writer whose file grows fast", () => {
  let environment: Environment;
  afterEach(async () => {
    await environment.close();
  });

  it("makes room, counts it as free, fills it, and the store stays whole, also when opened anew", async () => {
    environment = openEnvironment(folder);
    transact(environment, () => {
      writeMeta(environment, emptyMeta(1));
    });
    const writer = new LmdbWriter({ path: folder, dataBytesMax: 2 ** 40, reserveBytes: 0 }, { environment });
    const packer = new CommitPacker();
    let written = 0;
    const grow = (): ReturnType<typeof measureSpace> => {
      packer.add({ puts: [{ key: ["grown", written], value: "x".repeat(20_000) }] });
      expect(writer.apply(unpackCommits(packer.take()))).toEqual([undefined]);
      written += 1;
      return measureSpace(environment, folder);
    };
    let space = grow();
    while (space.fileBytes <= space.endBytes) space = grow();
    const { fileBytes } = space;
    expect(space.freeInsideBytes).toBeGreaterThanOrEqual(fileBytes - space.endBytes);
    while (space.endBytes < fileBytes) space = grow();

    await environment.close();
    environment = openEnvironment(folder);
    expect(readRange(environment, ["grown"])).toHaveLength(written);
    expect(scrubStoreNow(environment)).toMatchObject({ sound: true, records: written });
  });
});
