/** Files that must be on disk, and that nobody else may read: on systems that have modes and flush folders, and on Windows. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { rename } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { replaceFile, syncFolder, syncPath } from "../../../src/platform/files/durable-files.js";
import { PrivateFileError, createPrivateFile, readPrivateFile } from "../../../src/platform/files/private-file.js";
import { moveInto } from "../../../src/platform/store/artifact-files.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const folder = newFolder("durable");
afterAll(() => {
  removeFolder(folder);
});

describe("what is forced to disk", () => {
  it.each(["linux", "win32"] as const)("are files and folders that are there, on %s", async (platform) => {
    const file = join(folder, `file-${platform}`);
    writeFileSync(file, "content");
    await syncPath(file, platform);
    await syncPath(folder, platform);
    syncFolder(folder, platform);
    await expect(syncPath(join(folder, "missing"), platform)).rejects.toThrow("ENOENT");
  });

  it("are no folders on Windows, which refuses to flush them", () => {
    const missing = join(folder, "missing");
    expect(() => {
      syncFolder(missing, "linux");
    }).toThrow("ENOENT");
    syncFolder(missing, "win32");
  });
});

/** Renames as Windows does while somebody reads the target: not, for a number of times. */
function whileRead(times: number, code = "EPERM"): { readonly move: typeof rename; readonly calls: () => number } {
  let calls = 0;
  const move = (from: string, to: string): Promise<void> => {
    calls += 1;
    if (calls <= times) return Promise.reject(Object.assign(new Error(code), { code }));
    renameSync(from, to);
    return Promise.resolve();
  };
  return { move: move as typeof rename, calls: () => calls };
}

describe("a file that is replaced", () => {
  const [from, to] = [join(folder, "new"), join(folder, "old")];

  it.each(["EPERM", "EACCES", "EBUSY"])("waits on Windows until nobody reads what it replaces: %s", async (code) => {
    writeFileSync(from, "new");
    writeFileSync(to, "old");
    const { move, calls } = whileRead(3, code);
    await replaceFile(from, to, { platform: "win32", move });
    expect(readFileSync(to, "utf8")).toBe("new");
    expect(calls()).toBe(4);
  });

  it("waits neither for long, nor elsewhere, nor for other failures", async () => {
    writeFileSync(from, "new");
    writeFileSync(to, "old");
    for (const [platform, code, times] of [
      ["win32", "EPERM", 11],
      ["win32", "ENOSPC", 1],
      ["linux", "EPERM", 1],
    ] as const) {
      const { move, calls } = whileRead(100, code);
      await expect(replaceFile(from, to, { platform, move })).rejects.toThrow(code);
      expect(calls()).toBe(times);
    }
    expect(readFileSync(to, "utf8")).toBe("old");
  });

  it("is dropped in favour of an artifact of its content that is being read, and not of a damaged one", async () => {
    const sha256 = createHash("sha256").update("content").digest("hex");
    const path = join(folder, sha256);
    const how = { platform: "win32", move: whileRead(100).move } as const;
    writeFileSync(from, "content");
    writeFileSync(path, "content");
    await moveInto(path, { temporary: from, sha256 }, how);
    expect(existsSync(from)).toBe(false);
    writeFileSync(from, "content");
    writeFileSync(path, "CONTENT");
    await expect(moveInto(path, { temporary: from, sha256 }, how)).rejects.toThrow("EPERM");
    await moveInto(path, { temporary: from, sha256 });
    expect(readFileSync(path, "utf8")).toBe("content");
  });
});

describe("a private file", () => {
  const { getuid } = process;
  afterEach(() => {
    if (getuid !== undefined) process.getuid = getuid;
  });

  it("is refused when others may read it, or own it", async () => {
    const path = join(folder, "key");
    await createPrivateFile(path, Buffer.from("secret"));
    expect((await readPrivateFile(path))?.toString()).toBe("secret");
    process.getuid = () => (getuid?.() ?? 0) + 1;
    await expect(readPrivateFile(path)).rejects.toThrow(`id is ${String(getuid?.())}`);
    process.getuid = getuid as () => number;
    chmodSync(path, 0o644);
    await expect(readPrivateFile(path)).rejects.toThrow(PrivateFileError);
  });

  it("is read where the system has no modes, unless it is no plain file or too large", async () => {
    const [path, large, inner] = ["open", "large", "folder"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(path, "secret", { mode: 0o666 });
    chmodSync(path, 0o666);
    writeFileSync(large, Buffer.alloc(2 ** 20));
    mkdirSync(inner);
    // As on Windows, where every file that may be written has mode 666.
    Reflect.deleteProperty(process, "getuid");
    expect((await readPrivateFile(path))?.toString()).toBe("secret");
    await expect(readPrivateFile(large)).rejects.toThrow("too large");
    await expect(readPrivateFile(inner)).rejects.toThrow("not a regular file");
  });
});
