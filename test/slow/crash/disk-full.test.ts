import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const CHILD = fileURLToPath(new URL("../../support/store-full-child.mjs", import.meta.url));

describe("a disk of 24 MiB fills up and is cleared", () => {
  it("refuses with storage_full, keeps all that was acknowledged, and writes again without a restart", () => {
    const folder = newFolder("full");
    try {
      // A mount namespace of its own: needs root or user namespaces, and leaves no mount behind.
      const script = `mount -t tmpfs -o size=24m tmpfs "${folder}" && exec "$0" "$@"`;
      const args = [
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        script,
        process.execPath,
        CHILD,
        join(folder, "store"),
        join(folder, "filler"),
      ];
      const { status, stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
      expect(status, stderr).toBe(0);
      console.log(stdout.trim());
      expect(JSON.parse(stdout)).toMatchObject({
        refusal: "storage_full",
        state: "full",
        parallel: ["storage_full"],
        readable: true,
        extra: 0,
        recovered: ["written", "ready"],
        sound: true,
        fatal: [],
      });
    } finally {
      removeFolder(folder);
    }
  });
});
