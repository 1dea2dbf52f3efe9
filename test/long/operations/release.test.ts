/** The script of a release, in a repository of a package with one program: what it refuses, and what it makes. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const run = promisify(execFile);
const CHANGES =
  "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n- One thing.\n\n## [1.2.2] - 2026-01-01\n\n- Old.\n";

interface Repository {
  readonly folder: string;
  readonly write: (name: string, text: string) => void;
  readonly git: (...args: readonly string[]) => Promise<void>;
  /** Runs the script; its exit status and what it said. */
  readonly release: (target: string) => Promise<{ readonly code: number; readonly said: string }>;
}

/** A repository of version 1.2.3, committed and tagged. */
async function repository(): Promise<Repository> {
  const folder = folderOfTest("release");
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "tag.gpgSign=false"];
  const git = async (...args: readonly string[]): Promise<void> => {
    await run("git", [...identity, ...args], { cwd: folder });
  };
  mkdirSync(join(folder, ".ci"));
  copyFileSync(join(PACKAGE_ROOT, ".ci/release"), join(folder, ".ci/release"));
  chmodSync(join(folder, ".ci/release"), 0o755);
  const named = { name: "proofwright", version: "1.2.3" };
  write("package.json", JSON.stringify({ ...named, bin: { proofwright: "cli.js" }, files: ["cli.js"] }));
  write("package-lock.json", JSON.stringify({ ...named, lockfileVersion: 3, packages: { "": named } }));
  write("cli.js", '#!/usr/bin/env node\nconsole.log("1.2.3");\n');
  write("CHANGELOG.md", CHANGES);
  await git("init", "--quiet");
  await git("add", "--all");
  await git("commit", "--quiet", "--message=release: 1.2.3");
  await git("tag", "v1.2.3");
  return {
    folder,
    write,
    git,
    release: async (target) =>
      await run(join(folder, ".ci/release"), [target], { cwd: folder }).then(
        ({ stdout }) => ({ code: 0, said: stdout }),
        (failed: unknown) => {
          const { code, stderr } = failed as { readonly code: number; readonly stderr: string };
          return { code, said: stderr };
        },
      ),
  };
}

it("packs, tries and describes what the tag holds", async () => {
  const { release } = await repository();
  const made = folderOfTest("made");
  const { code, said } = await release(made);
  expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining("npm publish") as string });
  expect(readdirSync(made).sort()).toEqual(["NOTES.md", "SHA256SUMS", "proofwright-1.2.3.tgz"]);
  const hash = createHash("sha256")
    .update(readFileSync(join(made, "proofwright-1.2.3.tgz")))
    .digest("hex");
  expect(readFileSync(join(made, "SHA256SUMS"), "utf8")).toBe(`${hash}  proofwright-1.2.3.tgz\n`);
  const notes = readFileSync(join(made, "NOTES.md"), "utf8");
  expect(notes).toContain("- One thing.");
  expect(notes).not.toContain("- Old.");
  expect(await release(made)).toEqual({ code: 1, said: `release: ${made} is not empty\n` });
});

it("refuses what does not agree, and makes nothing of it", async () => {
  const { write, git, release } = await repository();
  const made = folderOfTest("made");
  const refusal = async (): Promise<string> => {
    const { code, said } = await release(made);
    expect([code, readdirSync(made)]).toEqual([1, []]);
    return said;
  };
  write("cli.js", "changed");
  expect(await refusal()).toContain("not committed");
  await git("commit", "--quiet", "--all", "--message=change");
  expect(await refusal()).toContain("HEAD has no tag v1.2.3");
  write("CHANGELOG.md", CHANGES.replace("[Unreleased]\n", "[Unreleased]\n\n- Not yet.\n"));
  await git("commit", "--quiet", "--all", "--message=changelog");
  await git("tag", "--force", "v1.2.3");
  expect(await refusal()).toContain("1 entries under Unreleased");
  write("CHANGELOG.md", CHANGES.replace("[1.2.3]", "[1.2.4]"));
  await git("commit", "--quiet", "--all", "--message=changelog");
  await git("tag", "--force", "v1.2.3");
  expect(await refusal()).toContain("no section [1.2.3]");
  // What is packed must be the version that it says.
  write("CHANGELOG.md", CHANGES);
  await git("commit", "--quiet", "--all", "--message=changelog");
  await git("tag", "--force", "v1.2.3");
  const { code, said } = await release(made);
  expect([code, said]).toEqual([1, expect.stringContaining("does not tell version 1.2.3")]);
});
