/** The lock of the profiles: turns, killed owners, owners that hold it for too long. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withProfileLock } from "../../src/commands/client/profile-lock.js";
import { folderOfTest } from "../support/temporary-folder.js";

const AN_HOUR_SEC = 3600;

/** Number of a process that has ended. */
function endedProcess(): number {
  return spawnSync(process.execPath, ["-e", ""]).pid;
}

describe("the lock of the profiles", () => {
  it("lets one at a time in, and leaves nothing behind, after a failure too", async () => {
    const folder = join(folderOfTest("lock"), "made");
    let inside = 0;
    let most = 0;
    const turn = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 5 }, async () => withProfileLock(folder, turn)));
    expect(most).toBe(1);
    await expect(withProfileLock(folder, async () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("takes over from a command that was killed, by one of those who wait", async () => {
    const folder = folderOfTest("lock");
    writeFileSync(join(folder, "profiles.lock"), `${String(endedProcess())} gone\n`);
    writeFileSync(join(folder, "profiles.lock.takeover"), `${String(endedProcess())}\n`);
    let inside = 0;
    const turn = async (): Promise<number> => Promise.resolve(++inside);
    expect(await Promise.all([withProfileLock(folder, turn), withProfileLock(folder, turn)])).toHaveLength(2);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("takes over a lock that is older than any command, whatever process has its number", async () => {
    const folder = folderOfTest("lock");
    const path = join(folder, "profiles.lock");
    writeFileSync(path, `${String(process.pid)} old\n`);
    const then = Date.now() / 1000 - AN_HOUR_SEC;
    utimesSync(path, then, then);
    expect(await withProfileLock(folder, async () => Promise.resolve("in"))).toBe("in");
  });

  it("says which file to remove when a running command keeps it, and leaves it alone", async () => {
    const folder = folderOfTest("lock");
    const path = join(folder, "profiles.lock");
    writeFileSync(path, `${String(process.pid)} busy\n`);
    const waited = withProfileLock(folder, async () => Promise.resolve("in"), { waitMs: 0 });
    await expect(waited).rejects.toThrow(path);
    expect(readFileSync(path, "utf8")).toContain("busy");
  });
});
