/** The documents tell the truth: what they name exists, and the commands of the README do what they say when pasted. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { SETTINGS } from "../../src/platform/settings.js";
import { startAnvil } from "../support/anvil.js";
import { startServer } from "../support/server.js";

const README = readFileSync(join(PACKAGE_ROOT, "README.md"), "utf8");
const run = promisify(execFile);

/** Shell blocks that belong to the walk-through: those that call the API. */
const WALK_THROUGH = [...README.matchAll(/```sh\n([^]*?)```/g)]
  .map((match) => match[1] ?? "")
  .filter((block) => block.includes("curl"));

/** What its answers say, among other things. */
const EXPECTED = [
  '{"result":true}',
  '{"result":false}',
  '"status":"provisioned"',
  '"protocol":"groth16"',
  '{"data":"attack at dawn"}',
  '"public_signals":["91"]',
  "The receipt is genuine: the proof is valid.",
  '"response":"12"',
  '"count":"12"',
  '"status":"ready"',
  '"on_chain":{"verifier_id"',
  '"access_token":"ppt_',
];

describe("README", () => {
  it("names only settings that exist", () => {
    const known = Object.values(SETTINGS).map(({ env }): string => env);
    const named = README.match(/\b(PROOFWRIGHT|SEAL|PROVER|VAULT|IDENTITY|CHAIN)_[A-Z_]+\b/g) ?? [];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(5);
  });

  it.each(["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "src/ARCHITECTURE.md"])(
    "%s links only to files that exist",
    (document) => {
      const text = readFileSync(join(PACKAGE_ROOT, document), "utf8");
      const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map((match) => match[1] ?? "");
      expect(links.filter((link) => !existsSync(join(PACKAGE_ROOT, dirname(document), link)))).toEqual([]);
    },
  );

  it("names only files that exist, here and in ARCHITECTURE", () => {
    for (const [document, folder] of [
      ["README.md", ""],
      ["CONTRIBUTING.md", ""],
      ["src/ARCHITECTURE.md", "src"],
    ] as const) {
      const text = readFileSync(join(PACKAGE_ROOT, document), "utf8");
      const named = [...text.matchAll(/`((?:[a-z0-9-]+\/)+[a-zA-Z0-9-]+\.(?:ts|md|json))`/g)].map(
        (match) => match[1] ?? "",
      );
      const missing = named.filter(
        (path) => ![folder, "", "src"].some((base) => existsSync(join(PACKAGE_ROOT, base, path))),
      );
      expect(missing, document).toEqual([]);
    }
  });

  it("names only npm scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const documents = ["README.md", "CONTRIBUTING.md", "src/ARCHITECTURE.md", "src/DECISIONS.md", "bench/README.md"];
    for (const document of documents)
      for (const [, name] of readFileSync(join(PACKAGE_ROOT, document), "utf8").matchAll(/npm run ([a-z:]+)/g))
        expect(Object.keys(scripts), document).toContain(name);
  });

  it("holds a walk-through that runs as pasted", async () => {
    const started = await Promise.allSettled([startServer(), startAnvil()]);
    const [server, node] = started;
    try {
      if (server.status === "rejected" || node.status === "rejected")
        throw new Error("a server did not start", { cause: started });
      const script = WALK_THROUGH.join("\n")
        .replaceAll("http://127.0.0.1:8080", server.value.url)
        .replaceAll("http://127.0.0.1:8545", node.value.url)
        .replace("-o product.zkey", "-o /dev/null");
      const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], {
        env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR },
        timeout: 230_000,
      });
      for (const text of EXPECTED) expect(stdout).toContain(text);
      expect(stdout).toMatch(/"signature":"[0-9a-f]{130}"/);
    } finally {
      if (server.status === "fulfilled") await server.value.dispose();
      if (node.status === "fulfilled") await node.value.stop();
    }
  });
});
