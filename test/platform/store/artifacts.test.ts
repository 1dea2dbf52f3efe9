import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openArtifacts } from "../../../src/platform/store/artifacts.js";
import type { Artifacts } from "../../../src/platform/store/artifacts.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) removeFolder(folder);
});

describe("artifacts", () => {
  let folder: string;
  let artifacts: Artifacts;
  beforeEach(async () => {
    folder = newFolder("artifacts");
    folders.push(folder);
    artifacts = await openArtifacts(folder);
  });

  it("stores bytes under their hash (FIPS 180-2 example) and reads them back", async () => {
    expect(await artifacts.put(Buffer.from("abc"))).toEqual({ sha256: ABC, bytes: 3 });
    expect(await artifacts.resolve(ABC)).toBe(join(folder, "sha256", "ba", ABC));
    expect((await artifacts.read(ABC)).toString()).toBe("abc");
    expect(await artifacts.verify(ABC)).toEqual({ sha256: ABC, bytes: 3 });
    expect(readdirSync(join(folder, "tmp"))).toEqual([]);
    expect(statSync(await artifacts.resolve(ABC)).mode & 0o777).toBe(0o600);
  });

  it.each([0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_500_000])(
    "keeps %i bytes whole, from memory, from a file and into shared memory",
    async (length) => {
      const content = randomBytes(length);
      const sha256 = createHash("sha256").update(content).digest("hex");
      expect(await artifacts.put(content)).toEqual({ sha256, bytes: length });
      const source = join(folder, "source");
      writeFileSync(source, content);
      expect(await artifacts.put({ path: source })).toEqual({ sha256, bytes: length });
      expect(existsSync(source)).toBe(true);
      const again = await openArtifacts(folder);
      expect((await again.read(sha256)).equals(content)).toBe(true);
      const shared = await (await openArtifacts(folder)).readShared(sha256);
      expect(shared).toBeInstanceOf(SharedArrayBuffer);
      expect(Buffer.from(shared).equals(content)).toBe(true);
    },
  );

  it("stores an empty artifact under the hash of no bytes", async () => {
    expect(await artifacts.put(new Uint8Array())).toEqual({ sha256: EMPTY, bytes: 0 });
    expect(await artifacts.verify(EMPTY)).toEqual({ sha256: EMPTY, bytes: 0 });
  });

  it("leaves one file when the same bytes are stored twenty times at once", async () => {
    await Promise.all(Array.from({ length: 20 }, () => artifacts.put(Buffer.from("abc"))));
    expect(readdirSync(join(folder, "sha256"))).toEqual(["ba"]);
    expect(readdirSync(join(folder, "sha256", "ba"))).toEqual([ABC]);
  });

  it("detects a changed file that was verified before, and a repeated put repairs it", async () => {
    await artifacts.put(Buffer.from("abc"));
    await artifacts.verify(ABC);
    const path = await artifacts.resolve(ABC);
    writeFileSync(path, "abd");
    utimesSync(path, new Date(), new Date(Date.now() + 1000));
    for (const read of ["verify", "read", "readShared"] as const) {
      await expect(artifacts[read](ABC)).rejects.toMatchObject({ code: "artifact_corrupt", status: 500 });
    }
    await artifacts.put(Buffer.from("abc"));
    expect((await artifacts.read(ABC)).toString()).toBe("abc");
  });

  it.each(["", "abc", `../${ABC}`, ABC.toUpperCase(), `${ABC}0`, ABC.slice(1), `${"../".repeat(20)}etc/passwd`])(
    "takes no name but a hash: %j",
    async (name) => {
      await expect(artifacts.resolve(name)).rejects.toMatchObject({ code: "artifact_corrupt" });
      await expect(artifacts.read(name)).rejects.toMatchObject({ code: "artifact_corrupt" });
      await expect(artifacts.remove(name)).rejects.toMatchObject({ code: "artifact_corrupt" });
    },
  );

  it("reports a missing artifact", async () => {
    expect(artifacts.has(ABC)).toBe(false);
    await expect(artifacts.resolve(ABC)).rejects.toThrow(/missing/);
    await expect(artifacts.verify(ABC)).rejects.toMatchObject({ code: "artifact_corrupt" });
  });

  it("leaves nothing behind when the source cannot be read", async () => {
    await expect(artifacts.put({ path: join(folder, "none") })).rejects.toMatchObject({ code: "storage_failed" });
    expect(readdirSync(join(folder, "tmp"))).toEqual([]);
  });

  it("removes unfinished files of an earlier run", async () => {
    writeFileSync(join(folder, "tmp", "left"), "half");
    expect(await artifacts.removeTemporaries()).toBe(1);
    expect(readdirSync(join(folder, "tmp"))).toEqual([]);
  });

  it("removes files that are old enough and in no record, and nothing else", async () => {
    const kept = await artifacts.put(Buffer.from("kept"));
    const young = await artifacts.put(Buffer.from("young"));
    const old = await artifacts.put(Buffer.from("old"));
    const past = new Date(Date.now() - 7_200_000);
    for (const { sha256 } of [kept, old]) utimesSync(await artifacts.resolve(sha256), past, past);
    expect(await artifacts.removeOrphans(new Set([kept.sha256]), 3_600_000)).toBe(1);
    expect([artifacts.has(old.sha256), artifacts.has(young.sha256)]).toEqual([false, true]);
    expect(readFileSync(await artifacts.resolve(kept.sha256), "utf8")).toBe("kept");
    expect(await artifacts.removeSharedOrphans(() => Promise.reject(new Error("nothing is shared")))).toBe(0);
  });
});
