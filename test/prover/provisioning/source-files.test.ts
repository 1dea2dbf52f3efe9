/** Sources that a create holds, on real files: kept while anything needs them, and gone afterwards. */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openArtifacts, type Artifacts } from "../../../src/platform/store/artifacts.js";
import { SourceFiles } from "../../../src/prover/provisioning/source-files.js";
import { removeFolder, newFolder } from "../../support/temporary-folder.js";

const folder = newFolder("source-files");
const used = new Set<string>();
let artifacts: Artifacts;
let files: SourceFiles;

beforeAll(async () => {
  artifacts = await openArtifacts(folder);
  files = new SourceFiles({ artifacts, isUsed: (sha256) => used.has(sha256) });
});
afterAll(() => {
  removeFolder(folder);
});

describe("several files of a step", () => {
  const contents = { one: Buffer.from("made by a step"), two: Buffer.from("another of it"), none: undefined };

  it("stay until the step ends, though a deletion asks for them meanwhile", async () => {
    const hashes = await files.holdAll(contents, async (held) => {
      expect(Object.keys(held)).toEqual(["one", "two"]);
      const all = Object.values(held).map(({ sha256 }) => sha256);
      for (const sha256 of all) await files.removeUnused(sha256);
      expect(all.map((sha256) => artifacts.has(sha256))).toEqual([true, true]);
      used.add(all[1]!);
      return all;
    });
    expect(hashes.map((sha256) => artifacts.has(sha256))).toEqual([false, true]);
  });

  it("have the hash of their content, however long they are", async () => {
    const long = new Uint8Array(9 * 1024 * 1024).fill(7);
    const { sha256 } = await artifacts.put(long);
    await files.holdAll({ long }, async (held) => {
      expect(held.long?.sha256).toBe(sha256);
      await files.removeUnused(sha256);
      expect(artifacts.has(sha256)).toBe(true);
    });
    expect(artifacts.has(sha256)).toBe(false);
  });
});

describe("the source of a create", () => {
  it("stays when a prover names it, until none does", async () => {
    const sha256 = await files.hold(Buffer.from("kept"), async (source) => {
      used.add(source.sha256);
      return source.sha256;
    });
    expect(artifacts.has(sha256)).toBe(true);
    await files.removeUnused(sha256);
    expect(artifacts.has(sha256)).toBe(true);
    used.delete(sha256);
    await files.removeUnused(sha256);
    expect(artifacts.has(sha256)).toBe(false);
  });

  it("is removed when the create fails", async () => {
    let path = "";
    const failed = files.hold(Buffer.from("refused"), async ({ sha256 }) => {
      path = await artifacts.resolve(sha256);
      throw new Error("the commit failed");
    });
    await expect(failed).rejects.toThrow("the commit failed");
    expect([path === "", existsSync(path)]).toEqual([false, false]);
  });

  it("stays for another create of the same source, whichever of the two fails and when", async () => {
    const content = Buffer.from("shared");
    for (let round = 0; round < 20; round += 1) {
      const failing = files.hold(content, () => Promise.reject(new Error("refused")));
      if (round % 2 === 1) await Promise.allSettled([failing]);
      const winning = files.hold(content, async ({ sha256 }) => {
        used.add(sha256);
        return sha256;
      });
      const [first, second] = await Promise.allSettled([winning, failing]);
      expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
      const sha256 = await winning;
      expect(artifacts.has(sha256)).toBe(true);
      used.delete(sha256);
      await files.removeUnused(sha256);
    }
  });
});
