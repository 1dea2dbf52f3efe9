/** The server as a process: how it starts, and refuses to start. */
import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ApiError } from "../../src/sdk/errors.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { startServer, type TestServer } from "../support/server.js";
import { newFolder } from "../support/temporary-folder.js";

const run = promisify(execFile);
const CLI = join(PACKAGE_ROOT, "dist/src/cli.js");
const open: TestServer[] = [];
const folders: string[] = [];

function folder(): string {
  const path = newFolder("process");
  folders.push(path);
  return path;
}

async function start(...options: Parameters<typeof startServer>): Promise<TestServer> {
  const server = await startServer(...options);
  open.push(server);
  return server;
}

async function refused(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stderr: string }> {
  const error: unknown = await run(process.execPath, [CLI, ...args], { env: { PATH: process.env.PATH, ...env } }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) throw new Error("the command succeeded");
  const { code, stderr } = error as { code: number; stderr: string };
  return { code, stderr };
}

afterEach(async () => {
  await Promise.all(
    open.splice(0).map(async (server) => {
      await server.dispose();
    }),
  );
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

describe("a server in development mode", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ flags: ["--metrics-port=0"] });
  });
  afterAll(async () => {
    await server.dispose();
  });

  it("tells its figures to whoever asks at the address of the metrics, and nothing else", async () => {
    const url = /^Proofwright serves metrics on (http:\S+)$/m.exec(server.output())?.[1] ?? "";
    const answer = await fetch(`${url}/metrics`);
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await answer.text();
    const value = (line: string): string | undefined =>
      text
        .split("\n")
        .find((found) => found.startsWith(`${line} `))
        ?.slice(line.length + 1);
    const version = (JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as { version: string })
      .version;
    expect(text).toContain(`proofwright_build_info{version="${version}",node="${process.versions.node}",`);
    expect(value('proofwright_vault_seal_state{state="unsealed"}')).toBe("1");
    expect(value('proofwright_vault_seal_state{state="sealed"}')).toBe("0");
    expect(value('proofwright_store_state{state="ready"}')).toBe("1");
    for (const name of ["store_bytes", "store_max_bytes", "data_free_bytes", "event_streams_max"])
      expect(Number(value(`proofwright_${name}`))).toBeGreaterThan(0);
    expect(value("proofwright_transactions_open")).toBe("0");
    expect(value("proofwright_event_streams")).toBe("0");
    for (const lane of ["prove", "prove-jobs", "interactive"])
      expect(value(`proofwright_lane_waiting{lane="${lane}"}`), lane).toBe("0");
    for (const path of ["/status", "/", "/api/v1/provers"]) expect((await fetch(`${url}${path}`)).status).toBe(404);
  });

  it.each(["alerts.yaml", "dashboard.json"])("has every metric that %s of operators names", async (file) => {
    const url = /^Proofwright serves metrics on (http:\S+)$/m.exec(server.output())?.[1] ?? "";
    const text = await (await fetch(`${url}/metrics`)).text();
    const known = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = "", kind]) =>
      kind === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    const rules = readFileSync(join(PACKAGE_ROOT, "src", "operations", file), "utf8");
    const named = rules.match(/\b(proofwright|process|nodejs)_[a-z0-9_]+/g) ?? [];
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  it("says in plain words that it is in development mode, and unseals itself", async () => {
    expect(server.output()).toMatch(
      /Development mode[^]*own data folder, signing keys and seal key[^]*unsealed itself/,
    );
    expect(await (await fetch(`${server.url}/readyz`)).json()).toMatchObject({ ready: true });
  });

  it("keeps its data folder: another server is refused on it", async () => {
    const { code, stderr } = await refused(["server", "--port=0", `--data-dir=${server.dataDir}`]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(String(server.child.pid));
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it("keeps its port: another server is refused on it, naming it", async () => {
    const { port } = new URL(server.url);
    const { code, stderr } = await refused(["server", `--port=${port}`, `--data-dir=${folder()}`]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(port);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it("takes heads of nearly 8 KiB, and answers 431 to longer ones", async () => {
    const statusOf = async (characters: number): Promise<number> =>
      (await fetch(`${server.url}/livez`, { headers: { "X-Long": "a".repeat(characters) } })).status;
    expect(await statusOf(7800)).toBe(200);
    expect(await statusOf(8300)).toBe(431);
  });

  it("answers the document that the command prints", async () => {
    const { stdout } = await run(process.execPath, [CLI, "openapi"], { maxBuffer: 16 * 1024 * 1024 });
    expect(JSON.parse(stdout)).toEqual(await (await fetch(`${server.url}/openapi.json`)).json());
  });
});

describe("start", () => {
  it.each([
    ["beyond loopback in development mode", ["server", "--host=0.0.0.0", "--port=0"], "loopback only"],
    ["with an unknown flag", ["server", "--colour=red"], "--colour is not a setting"],
    ["with a flag without a value", ["server", "--port"], "--port needs a value"],
    ["for an unknown command", ["serve"], '"serve" is not a command'],
  ])("is refused with one sentence %s", async (_case, args, sentence) => {
    const { code, stderr } = await refused([
      ...args,
      ...(args[0] === "server" && args.length > 2 ? [`--data-dir=${folder()}`] : []),
    ]);
    expect(code).toBe(2);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toContain(sentence);
  });

  it("with an incomplete seal provider is refused, and leaves the folder to another mode", async () => {
    const dataDir = folder();
    const { code, stderr } = await refused(["server", "--port=0", `--data-dir=${dataDir}`], {
      SEAL_UNSEAL_PROVIDER: "container_secret",
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain("SEAL_UNSEAL_KEY_SECRET_PATH");
    const server = await start({ dataDir });
    expect(server.output()).toContain("unsealed itself");
  });

  it("in development mode with a configured key does not say that it made one", async () => {
    const server = await start({
      env: {
        PROOFWRIGHT_MODE: "development",
        SEAL_UNSEAL_VALIDATION_HASH: "0x69be79ef3c28f55d7cb84db2dd3c18dfff45eeefebd09b8c5f7f3489b8ba09ac",
      },
    });
    expect(server.output()).toMatch(/Development mode: [^]*The vault is sealed; unseal it/);
    expect(server.output()).not.toContain("no seal key was configured");
  });

  it("stays sealed in production mode until somebody unseals it", async () => {
    // SOURCE: 32 zero bytes as BIP-39 words; the hash is SHA-256 of the phrase.
    const phrase = `${"abandon ".repeat(23)}art`;
    const server = await start({
      env: { SEAL_UNSEAL_VALIDATION_HASH: "0x69be79ef3c28f55d7cb84db2dd3c18dfff45eeefebd09b8c5f7f3489b8ba09ac" },
    });
    const { api } = await server.newUser();
    const sealed: unknown = await api.listVaults().catch((error: unknown) => error);
    expect(sealed).toMatchObject({ status: 503, code: "vault_sealed" });
    expect((sealed as ApiError).retryAfterSec).toBeGreaterThan(0);
    await expect(api.unseal({ body: { key: `${"zoo ".repeat(23)}vote` } })).rejects.toMatchObject({ status: 403 });
    expect((await api.unseal({ body: { key: phrase } })).status).toBe(204);
    expect((await api.createVault({ body: { name: "v" } })).status).toBe(201);
    expect((await api.seal({ body: { key: phrase } })).status).toBe(204);
    await expect(api.listVaults()).rejects.toMatchObject({ status: 503 });
    expect(server.output()).not.toContain("abandon");
  });
});

describe("the command", () => {
  it("explains itself", async () => {
    const { stdout } = await run(process.execPath, [CLI, "--help"]);
    for (const command of ["server", "quickstart", "openapi", "backup", "scrub"]) expect(stdout).toContain(command);
    expect((await run(process.execPath, [CLI, "server", "--help"])).stdout).toContain("PROOFWRIGHT_PORT");
  });
});
