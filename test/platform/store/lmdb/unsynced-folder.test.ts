/** The syncs of a data file whose commits have none of their own. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { DataFileSync } from "../../../../src/platform/store/lmdb/unsynced-folder.js";
import { newFolder, removeFolder } from "../../../support/temporary-folder.js";

const folder = newFolder("unsynced");
afterAll(() => {
  removeFolder(folder);
});

it("tells that the disk refuses", async () => {
  const path = join(folder, "refusing");
  mkdirSync(path);
  // A device that cannot be synced stands for a disk that fails.
  symlinkSync("/dev/null", join(path, "data.mdb"));
  const error = await new Promise<NodeJS.ErrnoException>((resolve) => {
    const syncing = new DataFileSync(path, {
      everyMs: 1,
      onFailure: (failure) => {
        syncing.stop();
        resolve(failure);
      },
    });
  });
  expect(error.code).toMatch(/^(EINVAL|ENOTSUP)$/);
});

it("ends while one is under way, and with none left behind", async () => {
  const path = join(folder, "ending");
  mkdirSync(path);
  writeFileSync(join(path, "data.mdb"), Buffer.alloc(1 << 20));
  const failures: Error[] = [];
  for (let round = 0; round < 20; round += 1) {
    const syncing = new DataFileSync(path, { everyMs: 1, onFailure: (failure) => failures.push(failure) });
    for (let turn = 0; turn < 50 * round; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    syncing.stop();
  }
  expect(failures).toEqual([]);
});
