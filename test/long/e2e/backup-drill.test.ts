/** The drill: a running server is backed up, restored into an empty folder and started, and does what it did before. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { SERVER_KEY_FILES } from "../../../src/commands/backup/backup-manifest.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { canonicalPhrase, entropyPhrase, validationHash } from "../../../src/crypto/wallets/seal-phrase.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const run = promisify(execFile);
const CLI = join(PACKAGE_ROOT, "dist/src/cli.js");
const CUBIC = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "cubic" } as const;
/** What a server had when it was backed up. */
interface Past {
  readonly email: string;
  readonly password: string;
  readonly token: string;
  readonly prover: string;
  readonly proof: string;
  readonly vault: string;
  readonly key: string;
  readonly signature: string;
  readonly secret: string;
}

const BEFORE = "11".repeat(32);
const AFTER = "22".repeat(32);
const open: TestServer[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map(async (server) => await server.dispose()));
});

async function start(...options: Parameters<typeof startServer>): Promise<TestServer> {
  const server = await startServer(...options);
  open.push(server);
  return server;
}

async function command(...args: readonly string[]): Promise<string> {
  return (await run(process.execPath, [CLI, ...args])).stdout;
}

async function signatureOf(api: Api, params: { id: string; key_id: string }, message: string): Promise<string> {
  const { body } = await api.signMessage({ params, body: { message } });
  if (!("signature" in body)) throw new Error("the answer has no signature");
  return body.signature;
}

/** Makes what the restored server must still have: a user, a prover with a proof, a key that has signed, a secret. */
async function populate(server: TestServer): Promise<Past> {
  const user = await server.newUser();
  const { api } = user;
  const prover = await provisioned(api, CUBIC);
  const { body: made } = await api.prove({ params: { id: prover }, body: { witness: { X: "3", Y: "35" } } });
  const vault = (await api.createVault({ body: { name: "drill" } })).body.id;
  const key = (
    await api.createKey({
      params: { id: vault },
      body: { type: "asymmetric", usage: "sign/verify", spec: "secp256k1", name: "payer" },
    })
  ).body.id;
  const secret = (
    await api.createSecret({ params: { id: vault }, body: { name: "database", type: "password", value: "a battery" } })
  ).body.id;
  const signature = await signatureOf(api, { id: vault, key_id: key }, BEFORE);
  return { ...user, prover, proof: made.proof, vault, key, signature, secret };
}

/** Logs in, proves with the old prover, checks the old proof, signs with the old key, opens the old secret. */
async function expectAllOf(past: Past, server: TestServer): Promise<void> {
  const { email, password, prover, proof, vault, key, signature, secret } = past;
  const { body: login } = await server.anonymous.authenticate({ body: { email, password } });
  const api = server.as(login.token.access_token);
  const verified = await api.verify({ params: { id: prover }, body: { witness: { Y: "35" }, proof } });
  expect(verified.body.result).toBe(true);
  const { body: made } = await api.prove({ params: { id: prover }, body: { witness: { X: "3", Y: "35" } } });
  expect(made.proof).toMatch(/^[0-9a-f]{256}$/);
  const params = { id: vault, key_id: key };
  expect((await api.verifySignature({ params, body: { message: BEFORE, signature } })).body).toEqual({
    verified: true,
  });
  const fresh = await signatureOf(api, params, AFTER);
  const body = { message: AFTER, signature: fresh };
  expect((await api.verifySignature({ params, body })).body).toEqual({ verified: true });
  expect((await api.getSecret({ params: { id: vault, secret_id: secret } })).body.value).toBe("a battery");
}

describe("the drill", () => {
  it("brings a development server back, sessions and all, from a backup of the running server", async () => {
    const root = folderOfTest("drill");
    const server = await start({ dataDir: join(root, "data") });
    const past = await populate(server);
    const known = [
      ...SERVER_KEY_FILES,
      "development-seal-phrase",
      "bootstrap-token",
      "store",
      "artifacts",
      "mail",
      "key-images",
    ];
    // A new file of the data folder must be considered by the backup as well.
    expect(readdirSync(server.dataDir).filter((name) => !known.includes(name))).toEqual([]);
    await command("backup", `--to=${join(root, "backup")}`, `--data-dir=${server.dataDir}`);
    await server.dispose();
    const dataDir = join(root, "restored");
    await command("restore", `--from=${join(root, "backup")}`, `--data-dir=${dataDir}`);
    expect(await command("scrub", `--data-dir=${dataDir}`)).toContain("all sound");
    const restored = await start({ dataDir });
    await expectAllOf(past, restored);
    expect((await restored.as(past.token).getProver({ params: { id: past.prover } })).body.status).toBe("provisioned");
    await restored.end();
    expect(await command("audit", "verify", `--data-dir=${dataDir}`)).toContain("all linked");
  });

  it("brings a production server back sealed, and whole with its seal key and the keys kept apart", async () => {
    const root = folderOfTest("drill");
    const phrase = Buffer.from(entropyPhrase(randomBytes(32))).toString("utf8");
    const hash = Buffer.from(validationHash(canonicalPhrase(Buffer.from(phrase)) ?? new Uint8Array())).toString("hex");
    const env = { SEAL_UNSEAL_VALIDATION_HASH: hash };
    const server = await start({ dataDir: join(root, "data"), env });
    const first = await server.newUser();
    await first.api.unseal({ body: { key: phrase } });
    const past = await populate(server);
    const [backup, keys] = [join(root, "backup"), join(root, "keys")];
    const said = await command("backup", `--to=${backup}`, `--keys-to=${keys}`, `--data-dir=${server.dataDir}`);
    expect(said).toContain("holds nothing that unseals the vault");
    await server.dispose();
    const files = readdirSync(backup, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const words = phrase.split(" ").slice(0, 3).join(" ");
    for (const file of files) expect(readFileSync(join(file.parentPath, file.name)).includes(words)).toBe(false);
    const dataDir = join(root, "restored");
    await command("restore", `--from=${backup}`, `--keys=${keys}`, `--data-dir=${dataDir}`);
    const restored = await start({ dataDir, env });
    const api = restored.as(past.token);
    const params = { id: past.vault, key_id: past.key };
    await expect(api.signMessage({ params, body: { message: AFTER } })).rejects.toMatchObject({ code: "vault_sealed" });
    await api.unseal({ body: { key: phrase } });
    await expectAllOf(past, restored);
    await restored.end();
    expect(await command("audit", "verify", `--data-dir=${dataDir}`)).toContain("all linked");
  });

  it("does not start a server on a restore that was killed", async () => {
    const root = folderOfTest("drill");
    const server = await start({ dataDir: join(root, "data") });
    await command("backup", `--to=${join(root, "backup")}`, `--data-dir=${server.dataDir}`);
    const dataDir = join(root, "restored");
    mkdirSync(dataDir);
    const restoring = execFile(process.execPath, [
      CLI,
      "restore",
      `--from=${join(root, "backup")}`,
      `--data-dir=${dataDir}`,
    ]);
    onTestFinished(() => void restoring.kill("SIGKILL"));
    await new Promise<void>((resolve) => {
      const watcher = watch(dataDir, (_, name) => {
        if (name !== "restore-in-progress") return;
        watcher.close();
        restoring.once("exit", () => {
          resolve();
        });
        restoring.kill("SIGKILL");
      });
    });
    await expect(start({ dataDir })).rejects.toThrow("has not ended");
  });
});
