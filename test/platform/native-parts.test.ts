/** Which binaries an install without optional packages is completed with, by the lockfile of this repository. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { missingParts } from "../../.config/native-parts.js";

const { packages } = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")) as {
  packages: Record<string, object>;
};

describe("native packages that an install left out", () => {
  it.each([
    [{ os: "linux", cpu: "x64", libc: "glibc" }, ["lmdb-linux-x64", "argon2-linux-x64-gnu", "linux-x64"]],
    [{ os: "linux", cpu: "x64", libc: "musl" }, ["lmdb-linux-x64", "argon2-linux-x64-musl", "linux-x64"]],
    [{ os: "linux", cpu: "arm64", libc: "glibc" }, ["lmdb-linux-arm64", "argon2-linux-arm64-gnu", "linux-arm64"]],
    [{ os: "darwin", cpu: "arm64" }, ["lmdb-darwin-arm64", "argon2-darwin-arm64", "darwin-arm64"]],
    [{ os: "darwin", cpu: "x64" }, ["lmdb-darwin-x64", "argon2-darwin-x64", "darwin-x64"]],
    [{ os: "win32", cpu: "x64" }, ["lmdb-win32-x64", "argon2-win32-x64-msvc", "win32-x64"]],
  ])("are one of each for %o", (system, [lmdb = "", argon2 = "", esbuild = ""]) => {
    const parts = missingParts(packages, system, () => false);
    expect(parts).toEqual([`@lmdb/${lmdb}`, `@node-rs/${argon2}`, `@esbuild/${esbuild}`]);
    expect(parts.map((name) => "integrity" in (packages[`node_modules/${name}`] ?? {}))).toEqual([true, true, true]);
  });

  it("are none where all are there", () => {
    const system = { os: process.platform, cpu: process.arch };
    expect(missingParts(packages, system, () => true)).toEqual([]);
  });
});
