import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const CHILD = fileURLToPath(new URL("../../support/store-full-child.mjs", import.meta.url));
/** In the 512-byte blocks of POSIX `ulimit -f`: 4 MiB. */
const FILE_BLOCKS_MAX = 8192;

describe("the operating system refuses a write in the middle of a transaction", () => {
  it("keeps the process and its reads going, loses nothing acknowledged, and shows nothing refused", () => {
    const folder = newFolder("failing");
    try {
      // A limit on the size of files needs no privileges. The signal that goes with it must be ignored, or it would
      // kill.
      const limited = `trap '' XFSZ; ulimit -f ${FILE_BLOCKS_MAX}; exec "$0" "$@"`;
      const { status, stdout, stderr } = spawnSync("sh", ["-c", limited, process.execPath, CHILD, folder], {
        encoding: "utf8",
      });
      expect(status, stderr).toBe(0);
      const seen = JSON.parse(stdout) as { acknowledged: number };
      expect(seen).toMatchObject({
        refusal: "storage_full",
        state: "full",
        parallel: ["storage_full"],
        readable: true,
        extra: 0,
        sound: true,
        fatal: [],
      });
      expect(seen.acknowledged).toBeGreaterThan(100);
    } finally {
      removeFolder(folder);
    }
  });
});
