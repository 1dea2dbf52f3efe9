/** Guides and examples do what they say, against one new server: shell blocks run as pasted, and answers are compared. */
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTE_LIST } from "../../../src/api.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { SETTINGS } from "../../../src/platform/settings.js";
import { startServer, type TestServer } from "../../support/server.js";

const FOLDER = join(PACKAGE_ROOT, "src/docs/guides");
const textOf = (name: string): string => readFileSync(join(FOLDER, name), "utf8");
const guides = readdirSync(FOLDER).filter((name) => name.endsWith(".md"));
const blocksOf = (name: string): string[] =>
  [...textOf(name).matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] ?? "");
const run = promisify(execFile);

/** What the answers of a guide say, among other things; all guides with shell blocks are here. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  // First, because a new server has one bootstrap token.
  "production.md": ["is an administrator", '"mode": "production"', '"validation_hash":"'],
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
  "backup.md": ["Backed up", "manifest.json", "Restored"],
};

/** Names what differs from run to run, so that the rest can be compared. */
function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, name.endsWith("_ms") ? "time" : masked(member)]),
    );
  if (typeof value !== "string") return value;
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) return "id";
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return "time";
  if (/^[0-9a-f]{64,}$/.test(value)) return `${String(value.length)} hex digits`;
  return value.replace(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/, "JWT").replace(/^prt_[\w-]+$/, "refresh token");
}

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.dispose();
});

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
    for (const [name, texts] of Object.entries(EXPECTED)) {
      const script = blocksOf(name).join("\n").replaceAll("http://127.0.0.1:8080", server.url);
      const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], {
        cwd: PACKAGE_ROOT,
        env: { PATH: process.env.PATH, DATA_DIR: server.dataDir, TMPDIR: process.env.TMPDIR },
        timeout: 1_200_000,
      });
      for (const text of texts) expect(stdout, name).toContain(text);
    }
  });
});

describe("examples of answers in the API's document", () => {
  it("are what a server answers to the examples of requests", async () => {
    let token = "";
    const send = async (id: string, ids: Readonly<Record<string, string>>, body?: object) => {
      const route = ROUTE_LIST.find((one) => one.id === id)!;
      const path = route.path.replace(/:([a-z_]+)/g, (_whole, name: string) => ids[name]!);
      const sent = route.example?.body === undefined ? undefined : { ...(route.example.body as object), ...body };
      const answer = await fetch(server.url + path, {
        method: route.method,
        headers: {
          "content-type": "application/json",
          prefer: "wait=300",
          ...(token === "" ? {} : { authorization: `bearer ${token}` }),
        },
        ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      });
      const got = (await answer.json()) as Record<string, unknown>;
      expect(answer.status, id).toBe(Number(Object.keys(route.responses)[0]));
      // The analysis may be under way, or over.
      const shown = "analysis" in got ? { ...got, analysis: null } : got;
      expect(masked(shown), id).toEqual(masked(route.example?.answer));
      compared.push(id);
      return got as Readonly<Record<"id" | "proof", string>>;
    };
    const compared: string[] = [];
    await send("createUser", {});
    const { token: made } = (await send("authenticate", {})) as unknown as { token: { access_token: string } };
    token = made.access_token;
    const { id } = await send("createProver", {});
    await send("getProverStatus", { id });
    const { proof } = await send("prove", { id });
    await send("verify", { id }, { proof });
    const vault = await send("createVault", {});
    await send("createKey", { id: vault.id });
    await send("createSecret", { id: vault.id });
    await send("createOrganization", {});
    const withAnswers = ROUTE_LIST.filter(({ example }) => example?.answer !== undefined).map((route) => route.id);
    expect(compared.sort()).toEqual(withAnswers.sort());
  });
});
