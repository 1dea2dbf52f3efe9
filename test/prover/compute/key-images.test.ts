/** The folder of images of open keys, with real keys; the tasks of the pool run on the calling thread. */
import { mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SharedKey } from "../../../src/engine/kernels/threads/shared-key.js";
import { proofSystem } from "../../../src/engine/proof-systems/table.js";
import type { ComputeRequest } from "../../../src/engine/protocol.js";
import { runComputeTask } from "../../../src/engine/tasks.js";
import { AppError } from "../../../src/platform/errors.js";
import type { KeyImagePin } from "../../../src/prover/compute/compute.js";
import type { ComputePools } from "../../../src/prover/compute/compute-pools.js";
import { KeyImages, type KeyImagesOptions } from "../../../src/prover/compute/keys/key-images.js";
import { recordedLog } from "../../support/silent-log.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const ROOM = { workspaces: 1 };
const PROVER = "0b9e5a0e-7c1c-4b0a-9a53-2b8a6e0f2a11";
const log = recordedLog();
const pools = {
  run: async (_pool: string, task: string, message: object) =>
    await runComputeTask({ task, message } as unknown as ComputeRequest),
} as Pick<ComputePools, "run">;

const system = proofSystem("groth16/BN254");
const stored = readFileSync(new URL("../../vectors/open-keys/groth16-bn254.key", import.meta.url));

function openKey(): SharedKey {
  return system.openKey(system.readProvingKey(stored), ROOM);
}

/** A pin in memory. */
class MemoryPin implements KeyImagePin {
  known: string | undefined;

  async find(): Promise<string | undefined> {
    return await Promise.resolve(this.known);
  }

  async keep(sha256: string): Promise<void> {
    this.known = sha256;
    await Promise.resolve();
  }
}

async function openFolder(folder: string, options: Partial<KeyImagesOptions> = {}, on = pools): Promise<KeyImages> {
  return await KeyImages.open({ folder, bytesMax: 2 ** 30, version: "1.2.3", ...options }, { pools: on, log });
}

/** A name as the SHA-256 of a key's file. */
function named(digit: string): string {
  return digit.repeat(64);
}

async function keep(images: KeyImages, digit: string, pin: KeyImagePin = new MemoryPin()): Promise<void> {
  await images.keep({ sha256: named(digit), pin, room: ROOM }, { id: digit, key: openKey() });
}

async function read(images: KeyImages, digit: string, pin: KeyImagePin): Promise<SharedKey | undefined> {
  return await images.read({ sha256: named(digit), pin, room: ROOM }, {});
}

describe("an image", () => {
  it("is read by this process and by the next one", async () => {
    const folder = join(folderOfTest("key-images"), "new", "images");
    const images = await openFolder(folder);
    const pin = new MemoryPin();
    expect(await read(images, "a", pin)).toBeUndefined();
    await keep(images, "a", pin);
    expect((await read(images, "a", pin))?.keyBytes).toBe(openKey().keyBytes);
    const next = await openFolder(folder);
    expect((await read(next, "a", pin))?.keyBytes).toBe(openKey().keyBytes);
    expect([statSync(folder).mode & 0o777, statSync(join(folder, `${named("a")}.image`)).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
  });

  it("is not read where nobody knows it, and stays", async () => {
    const images = await openFolder(folderOfTest("key-images"));
    await keep(images, "a");
    expect(await read(images, "a", new MemoryPin())).toBeUndefined();
    expect(images.recent()).toHaveLength(1);
  });

  it("is removed when it is not the one that is known, or of other places or another version", async () => {
    const folder = folderOfTest("key-images");
    for (const spoil of ["content", "room", "tables", "version"] as const) {
      const images = await openFolder(folder);
      const pin = new MemoryPin();
      await keep(images, "a", pin);
      const path = join(folder, `${named("a")}.image`);
      if (spoil === "content") writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from("x")]));
      const reading = spoil === "version" ? await openFolder(folder, { version: "1.2.4" }) : images;
      const room = spoil === "room" ? { workspaces: 2 } : spoil === "tables" ? { ...ROOM, tableBytesMax: 1 } : ROOM;
      expect(await reading.read({ sha256: named("a"), pin, room }, {})).toBeUndefined();
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  it("is missed when it was deleted from the disk", async () => {
    const folder = folderOfTest("key-images");
    const pin = new MemoryPin();
    await keep(await openFolder(folder), "a", pin);
    const images = await openFolder(folder);
    await images.remove(named("a"));
    const other = await openFolder(folder);
    expect([await read(images, "a", pin), await read(other, "a", pin)]).toEqual([undefined, undefined]);
  });

  it("is not written twice at once, and leaves nothing when it cannot be written", async () => {
    const folder = folderOfTest("key-images");
    const tasks: string[] = [];
    const failing = {
      run: async (_pool: string, task: string) => {
        tasks.push(task);
        await Promise.resolve();
        if (tasks.length === 1) throw new AppError("overloaded", { message: "full" });
        return { ok: true, value: { problem: "ENOSPC: no space left on device" } };
      },
    } as unknown as Pick<ComputePools, "run">;
    const images = await openFolder(folder, {}, failing);
    await Promise.all([keep(images, "a"), keep(images, "a")]);
    expect(tasks).toEqual(["write_key_image"]);
    await keep(images, "a");
    expect([tasks.length, readdirSync(folder), images.recent()]).toEqual([2, [], []]);
  });

  it("is no reason to fail where the vault is sealed when it is written", async () => {
    const images = await openFolder(folderOfTest("key-images"));
    const pin = new MemoryPin();
    pin.keep = async () => await Promise.reject(new AppError("vault_sealed", { message: "sealed" }));
    await keep(images, "a", pin);
    expect(await read(images, "a", pin)).toBeUndefined();
  });
});

describe("the folder", () => {
  it("keeps to its size: the least recently used image goes first", async () => {
    const folder = folderOfTest("key-images");
    const one = openKey().keyBytes;
    const images = await openFolder(folder, { bytesMax: 2.5 * one });
    for (const [i, digit] of ["a", "b", "c"].entries()) {
      await keep(images, digit);
      if (digit === "c") break;
      utimesSync(join(folder, `${named(digit)}.image`), i + 1, i + 1);
    }
    expect(images.recent().map(({ sha256 }) => sha256[0])).toEqual(["c", "b"]);
    const smaller = await openFolder(folder, { bytesMax: 1.5 * one });
    expect(smaller.recent().map(({ sha256 }) => sha256[0])).toEqual(["c"]);
    const none = await openFolder(folder, { bytesMax: one - 1 });
    await keep(none, "d");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("knows after a restart which keys were used last, and by which provers", async () => {
    const folder = folderOfTest("key-images");
    const images = await openFolder(folder);
    for (const digit of ["a", "b"]) await keep(images, digit);
    await images.writeMark(named("b"), PROVER, "text");
    for (const digit of ["a", "b"]) utimesSync(join(folder, `${named(digit)}.image`), 1_000, 1_000);
    const restarted = await openFolder(folder);
    restarted.noteUse(named("b"));
    await expect.poll(() => statSync(join(folder, `${named("b")}.image`)).mtimeMs).toBeGreaterThan(1_000_000);
    const next = await openFolder(folder);
    expect(next.recent().map(({ sha256, proverIds }) => [sha256[0], proverIds])).toEqual([
      ["b", [PROVER]],
      ["a", []],
    ]);
    expect(await next.readMark(named("b"), PROVER)).toBe("text");
    expect(await next.readMark(named("a"), PROVER)).toBeUndefined();
  });

  it("is cleared of unfinished images, of marks without one, and of keys that are gone; others' files stay", async () => {
    const folder = folderOfTest("key-images");
    const images = await openFolder(folder);
    for (const digit of ["a", "b"]) await keep(images, digit);
    await images.writeMark(named("a"), PROVER, "text");
    mkdirSync(join(folder, "other"));
    for (const name of [
      "unfinished.part",
      `${named("a")}.${PROVER}.mark.unfinished.tmp`,
      `${named("c")}.${PROVER}.mark`,
      "a note",
    ])
      writeFileSync(join(folder, name), "");
    const next = await openFolder(folder);
    await next.retain(new Set([named("b")]));
    expect(readdirSync(folder).sort()).toEqual(["a note", `${named("b")}.image`, "other"].sort());
  });
});
