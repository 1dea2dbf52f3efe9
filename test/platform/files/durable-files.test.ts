/** Files that must be on disk, and that nobody else may read: on systems that have modes and flush folders, and on Windows. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { syncFolder, syncPath } from "../../../src/platform/files/durable-files.js";
import { PrivateFileError, createPrivateFile, readPrivateFile } from "../../../src/platform/files/private-file.js";
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
