/** The server as a process: how it starts, refuses to start, stops, and comes back after a kill. */
import { execFile } from "node:child_process";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ApiError } from "../../src/sdk/errors.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { provisioned, startServer, type TestServer } from "../support/server.js";
import { newFolder } from "../support/temporary-folder.js";

const run = promisify(execFile);
const CLI = join(PACKAGE_ROOT, "dist/src/cli.js");
const CUBIC = {
  identifier: "cubic",
  proving_scheme: "groth16",
  curve: "BN254",
  provider: "circom",
  name: "cubic",
} as const;
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
    server = await startServer();
  });
  afterAll(async () => {
    await server.dispose();
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

describe("a server with a past", () => {
  /**
   * What a server left that was killed: a user, and a prover with one proof. Each test goes on with a copy of its own.
   */
  let left: string;
  let past: {
    readonly token: string;
    readonly email: string;
    readonly password: string;
    readonly id: string;
    readonly proof: string;
  };
  beforeAll(async () => {
    left = newFolder("process");
    const server = await startServer({ dataDir: left });
    try {
      const { api, token, email, password } = await server.newUser();
      const id = await provisioned(api, CUBIC);
      const {
        body: { proof },
      } = await api.prove({ params: { id }, body: { witness: { X: "3", Y: "35" } } });
      past = { token, email, password, id, proof };
    } finally {
      await server.dispose();
    }
  });
  afterAll(() => {
    rmSync(left, { recursive: true, force: true });
  });

  async function goOn(): Promise<TestServer> {
    const dataDir = join(folder(), "data");
    cpSync(left, dataDir, { recursive: true });
    return await start({ dataDir });
  }

  it("keeps users, provers, keys and proofs", async () => {
    const { token, id, proof } = past;
    const api = (await goOn()).as(token);
    expect((await api.getProver({ params: { id } })).body.status).toBe("provisioned");
    expect((await api.verify({ params: { id }, body: { witness: { Y: "35" }, proof } })).body.result).toBe(true);
    expect((await api.listProofs({ params: { id } })).total).toBe(1);
  });

  it("drains on SIGTERM: proofs under way are answered, and the exit status is 0", async () => {
    const { token, id } = past;
    const server = await goOn();
    const api = server.as(token);
    let isStopping = false;
    // Far more than the threads can prove until the signal arrives.
    const proving = Array.from({ length: 48 }, async () => {
      const { body } = await api.prove({ params: { id }, body: { witness: { X: "3", Y: "35" } } });
      return { proof: body.proof, afterSignal: isStopping };
    });
    await Promise.race(proving);
    isStopping = true;
    const ended = server.end("SIGTERM");
    const settled = await Promise.allSettled(proving);
    const answered = settled.filter((result) => result.status === "fulfilled").map(({ value }) => value);
    expect(answered.filter(({ afterSignal }) => afterSignal).length).toBeGreaterThan(0);
    expect(answered.every(({ proof }) => /^[0-9a-f]{256}$/.test(proof))).toBe(true);
    for (const result of settled)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ status: 503 });
    expect(await ended).toBe(0);
  });

  it("is backed up while it runs, and the copy is sound and serves", async () => {
    const { email, password, id } = past;
    const server = await goOn();
    const copy = join(folder(), "copy");
    await run(process.execPath, [CLI, "backup", `--to=${copy}`, `--data-dir=${server.dataDir}`]);
    expect((await run(process.execPath, [CLI, "scrub", `--data-dir=${copy}`])).stdout).toContain("all sound");
    const manifest = JSON.parse(readFileSync(join(copy, "manifest.json"), "utf8")) as {
      files: readonly { path: string }[];
    };
    expect(manifest.files.some(({ path }) => path.startsWith("store/"))).toBe(true);
    const restored = await start({ dataDir: copy });
    const { body } = await restored.anonymous.authenticate({ body: { email, password } });
    const provers = await restored.as(body.token.access_token).listProvers();
    expect(provers.body.map((prover) => prover.id)).toContain(id);
  });
});

describe("the command", () => {
  it("explains itself", async () => {
    const { stdout } = await run(process.execPath, [CLI, "--help"]);
    for (const command of ["server", "quickstart", "openapi", "backup", "scrub"]) expect(stdout).toContain(command);
    expect((await run(process.execPath, [CLI, "server", "--help"])).stdout).toContain("PROOFWRIGHT_PORT");
  });
});
