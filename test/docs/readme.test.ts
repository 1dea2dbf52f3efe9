/** The documents tell the truth: what they name exists, and the commands of the README do what they say when pasted. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
  .filter((block) => /\b(curl|call|request) /.test(block));

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
  '"code":"note_double_spend"',
];

/** Shell blocks of the documents that users paste from, by document. */
const BLOCKS = [
  "README.md",
  ...readdirSync(join(PACKAGE_ROOT, "src/docs/guides"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `src/docs/guides/${name}`),
].map((document) => {
  const text = readFileSync(join(PACKAGE_ROOT, document), "utf8");
  return { document, blocks: [...text.matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] ?? "") };
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script as a shell does into which it is pasted, or with `-e` one that stops at the first failure. */
async function runScript(script: string, flags: "-uo" | "-euo"): Promise<Ran> {
  const options = { env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR }, timeout: 230_000 };
  return run("bash", [flags, "pipefail", "-c", script], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (failed: unknown) => failed as Ran,
  );
}

/** The walk-through for a server at `url` and a node at `node`. */
function walkThrough(url: string, node: string): string {
  return WALK_THROUGH.join("\n")
    .replaceAll("http://127.0.0.1:8080", url)
    .replaceAll("http://127.0.0.1:8545", node)
    .replace("-o product.zkey", "-o /dev/null");
}

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
      const { code, stdout, stderr } = await runScript(walkThrough(server.value.url, node.value.url), "-euo");
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) as string });
      for (const text of EXPECTED) expect(stdout).toContain(text);
      expect(stdout).toMatch(/"signature":"[0-9a-f]{130}"/);
    } finally {
      if (server.status === "fulfilled") await server.value.dispose();
      if (node.status === "fulfilled") await node.value.stop();
    }
  });
});

describe("shell blocks that are pasted", () => {
  it.each(BLOCKS)("of $document fail when a request does, and wait for nothing without end", ({ blocks }) => {
    for (const block of blocks) {
      for (const line of block.split("\n").filter((one) => /(^|[|(] ?)curl /.test(one))) expect(line).toMatch(/--fail/);
      expect(block).not.toMatch(/^\s*(until|while)\b/m);
      // Prints `undefined` for a member that is not there, and ends well.
      expect(block).not.toMatch(/node -(p|pe) /);
    }
  });

  it("show what a server refuses, and send nothing on that was not answered", async () => {
    const asked: string[] = [];
    const refusing = createServer((request, response) => {
      request.setEncoding("utf8").on("data", (text: string) => asked.push(text));
      asked.push(`${String(request.method)} ${String(request.url)}`);
      request.on("end", () => response.writeHead(500).end('{"message":"out of order"}'));
    });
    await new Promise<void>((done) => refusing.listen(0, "127.0.0.1", done));
    try {
      const url = `http://127.0.0.1:${String((refusing.address() as AddressInfo).port)}`;
      const script = walkThrough(url, url);
      const stopped = await runScript(script, "-euo");
      expect(stopped.code).toBe(22);
      expect(stopped.stdout).toContain("out of order");
      expect(asked.filter((text) => text.startsWith("POST"))).toEqual(["POST /api/v1/users"]);

      // Without the receipt's command, which takes no part in this.
      const { stderr } = await runScript(script.replace(/^npx .*$/m, "true"), "-uo");
      expect(stderr).toContain("the answer has no token.access_token");
      expect(asked.length).toBeGreaterThan(50);
      expect(asked.join("\n")).not.toContain("undefined");
    } finally {
      refusing.closeAllConnections();
      await new Promise((done) => refusing.close(done));
    }
  });

  it("give up waiting after 60 answers, at a failure, and at a request that fails", async () => {
    const waitFor = /^wait_for\(\) \{[^]*?^\}$/m.exec(WALK_THROUGH.join("\n"))?.[0] ?? "";
    const waiting = (call: string) =>
      runScript(
        `${waitFor}\nsleep() { :; }\ncall() { echo asked >&2; ${call}; }\nwait_for /x '"status":"deployed"'`,
        "-euo",
      );
    const asked = ({ code, stderr }: Ran) => ({ code, times: stderr.split("asked").length - 1 });
    expect(asked(await waiting(`echo '{"status":"deployed"}'`))).toEqual({ code: 0, times: 1 });
    const pending = await waiting(`echo '{"status":"created"}'`);
    expect(asked(pending)).toEqual({ code: 1, times: 60 });
    expect(pending.stderr).toContain('/x does not say "status":"deployed" but {"status":"created"}');
    expect(asked(await waiting(`echo '{"status":"failed"}'`))).toEqual({ code: 1, times: 1 });
    expect(asked(await waiting("false"))).toEqual({ code: 1, times: 1 });
  });
});
