/** The guides do what they say: every shell block of them runs as pasted, against one new server. */
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { SETTINGS } from "../../src/platform/settings.js";
import { startServer } from "../support/server.js";

const FOLDER = join(PACKAGE_ROOT, "src/docs/guides");
const textOf = (name: string): string => readFileSync(join(FOLDER, name), "utf8");
const guides = readdirSync(FOLDER).filter((name) => name.endsWith(".md"));
const blocksOf = (name: string): string[] =>
  [...textOf(name).matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] ?? "");
const run = promisify(execFile);

/** What the answers of a guide say, among other things; all guides with shell blocks are here. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  // First, because a new server has one bootstrap token.
  "production.md": ['"validation_hash":"'],
  "operator.md": ['"live":true', '"ready":true', '"name":"Proofwright"'],
  "circom-developer.md": [
    '"status":"provisioned"',
    '"verdict":',
    '{"result":true}',
    '{"result":false}',
    '"protocol":"groth16"',
    "pragma solidity",
  ],
  "backend-engineer.md": [
    '"address":"0x',
    '"signature":"',
    '{"data":"attack at dawn"}',
    "one vault",
    '{"result":true}',
  ],
  "backup.md": ["Backed up", "manifest.json"],
};

describe("guides", () => {
  it("name only settings that exist", () => {
    const known = Object.values(SETTINGS).map(({ env }): string => env);
    for (const name of guides) {
      const named = textOf(name).match(/\b(PROOFWRIGHT|SEAL|PROVER|VAULT|IDENTITY|CHAIN)_[A-Z_]+\b/g) ?? [];
      expect(
        named.filter((setting) => !known.includes(setting)),
        name,
      ).toEqual([]);
    }
  });

  it("are all expected to run where they have something to run", () => {
    expect(guides.filter((name) => blocksOf(name).length > 0).sort()).toEqual(Object.keys(EXPECTED).sort());
  });

  it("run as pasted", async () => {
    const server = await startServer();
    try {
      for (const [name, texts] of Object.entries(EXPECTED)) {
        const script = blocksOf(name).join("\n").replaceAll("http://127.0.0.1:8080", server.url);
        const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], {
          cwd: PACKAGE_ROOT,
          env: { PATH: process.env.PATH, DATA_DIR: server.dataDir, TMPDIR: process.env.TMPDIR },
          timeout: 200_000,
        });
        for (const text of texts) expect(stdout, name).toContain(text);
      }
    } finally {
      await server.dispose();
    }
  });
});
