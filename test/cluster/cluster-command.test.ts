/** From one server to a cluster and back, by the commands of an operator. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { canonicalPhrase, entropyPhrase, validationHash } from "../../src/crypto/wallets/seal-phrase.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { Postgres } from "../support/postgres.js";
import { provisioned, startServer, type TestServer } from "../support/server.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const INPUTS = JSON.parse(readFileSync(join(PACKAGE_ROOT, "circuits", "cubic", "inputs.json"), "utf8")) as {
  readonly satisfying: Record<string, unknown>;
};

let postgres: Postgres;
let folder: string;
let sealed: Record<string, string>;
const servers: TestServer[] = [];

beforeAll(async () => {
  postgres = await Postgres.start();
  folder = newFolder("operator");
  const phrase = Buffer.from(entropyPhrase(randomBytes(32))).toString("utf8");
  const canonical = canonicalPhrase(Buffer.from(phrase)) ?? new Uint8Array();
  sealed = {
    SEAL_UNSEAL_KEY: phrase,
    SEAL_UNSEAL_VALIDATION_HASH: Buffer.from(validationHash(canonical)).toString("hex"),
    PROOFWRIGHT_ISSUER: "https://moved.test",
  };
});
afterAll(async () => {
  for (const server of servers) await server.dispose();
  await postgres.dispose();
  removeFolder(folder);
});

async function start(name: string, env: Record<string, string>): Promise<TestServer> {
  const server = await startServer({ dataDir: join(folder, name), env: { ...sealed, ...env } });
  servers.push(server);
  return server;
}

/** A backup of a node has the files as well that only the cluster's storage has. */
async function backsUpWhole({
  idle,
  env,
}: {
  readonly idle: TestServer;
  readonly env: Record<string, string>;
}): Promise<void> {
  const filesIn = (name: string): string[] =>
    readdirSync(join(folder, name, "artifacts", "sha256"), { recursive: true, encoding: "utf8" });
  const args = ["backup", `--data-dir=${idle.dataDir}`, `--to=${join(folder, "backup")}`];
  expect(await proofwright(args, {})).toMatch(/refused: [^]*files that the records name/);
  expect(await proofwright(args, env)).toContain("Backed up");
  expect(filesIn("backup").length).toBeGreaterThan(4);
  // So that the node has none of them again.
  rmSync(join(folder, "idle", "artifacts", "sha256"), { recursive: true });
}

async function cluster(args: readonly string[], env: Record<string, string>): Promise<string> {
  return await proofwright(["cluster", ...args], env);
}

async function proofwright(args: readonly string[], env: Record<string, string>): Promise<string> {
  const command = [join(PACKAGE_ROOT, "dist/src/cli.js"), ...args];
  return await promisify(execFile)(process.execPath, command, { env: { PATH: process.env.PATH, ...env } }).then(
    ({ stdout }) => stdout,
    (error: unknown) => `refused: ${(error as { stderr: string }).stderr}`,
  );
}

it("a server becomes a cluster, and a node a server again, with tokens, keys, proofs and the audit chain", async () => {
  const env = {
    PROOFWRIGHT_DATABASE_URL: postgres.urlOf(await postgres.newDatabase()),
    PROOFWRIGHT_CLUSTER_KEY_FILE: join(folder, "cluster-key"),
  };
  const from = join(folder, "single");
  const single = await start("single", {});
  const { token } = await single.newUser();
  const body = {
    identifier: "cubic",
    proving_scheme: "groth16",
    curve: "BN254",
    provider: "circom",
    name: "p",
  } as const;
  const id = await provisioned(single.as(token), body);
  const prove = async (server: TestServer): Promise<unknown> => {
    const made = await server.as(token).prove({ params: { id }, body: { witness: INPUTS.satisfying } });
    return made.body.proof;
  };
  await prove(single);
  expect(await cluster(["init", `--from=${from}`], env)).toMatch(/refused: [^]*in use/);
  await single.end();

  expect(await cluster(["status"], env)).toMatch(/refused: [^]*no cluster/);
  expect(await cluster(["init", `--from=${from}`], env)).toContain(`is made with what ${from} has`);
  expect(statSync(env.PROOFWRIGHT_CLUSTER_KEY_FILE).mode & 0o777).toBe(0o600);
  expect(await cluster(["init", `--from=${from}`], env)).toMatch(/refused: [^]*holds a cluster already/);
  const one = await start("one", env);
  const other = await start("other", env);
  // Has the records, and not one file: it proves nothing.
  const idle = await start("idle", env);
  for (const server of [one, other]) {
    expect((await server.as(token).listProvers({})).body).toHaveLength(1);
    await prove(server);
  }
  expect(await cluster(["finalize"], env)).toContain("nothing to end");
  expect(await cluster(["leave", `--data-dir=${join(folder, "one")}`], env)).toMatch(/refused: [^]*in use/);
  await one.end();
  await other.end();
  await backsUpWhole({ idle, env });
  await idle.end();

  await expect(start("one", {})).rejects.toThrow(/replica of a cluster/);
  expect(await cluster(["leave", `--data-dir=${join(folder, "one")}`], env)).toContain("store of a single server now");
  expect(existsSync(join(folder, "one", "audit-key"))).toBe(true);
  const again = await start("one", {});
  await prove(again);
  expect((await again.as(token).listProofs({ params: { id } })).body).toHaveLength(4);
  await again.end();
  // From here on the cluster's database says where the files are that this folder has not got.
  const left = [`--data-dir=${join(folder, "idle")}`, `--cluster-key-file=${env.PROOFWRIGHT_CLUSTER_KEY_FILE}`];
  expect(await cluster(["leave", ...left], {})).toMatch(/refused: [^]*files that the records name/);
  expect(await cluster(["leave", ...left], env)).toContain("store of a single server now");
  const idleAgain = await start("idle", {});
  await prove(idleAgain);
  await idleAgain.end();
  // The same of the backup of the running node.
  const restored = [`--data-dir=${join(folder, "restored")}`];
  expect(await proofwright(["restore", `--from=${join(folder, "backup")}`, ...restored], {})).toContain("restored");
  expect(await cluster(["leave", ...restored, ...left.slice(1)], {})).toContain("store of a single server now");
  const restoredServer = await start("restored", {});
  await prove(restoredServer);
  await restoredServer.end();
  const command = [join(PACKAGE_ROOT, "dist/src/cli.js"), "audit", "verify", `--data-dir=${join(folder, "one")}`];
  const audit = await promisify(execFile)(process.execPath, command, { env: { PATH: process.env.PATH } }).catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(audit.stdout).toContain("all linked");
});

it("finalize migrates the records of an older version, when all nodes are stopped", async () => {
  const database = await postgres.newDatabase();
  const env = {
    PROOFWRIGHT_DATABASE_URL: postgres.urlOf(database),
    PROOFWRIGHT_CLUSTER_KEY_FILE: join(folder, "migrated-key"),
  };
  expect(await cluster(["init"], env)).toContain("is made");
  const node = await start("before", env);
  const user = await node.newUser();
  await postgres.query(database, "UPDATE pw_head SET schema_version = 1");
  expect(await cluster(["finalize"], env)).toMatch(/refused: [^]*all nodes must be stopped/);
  await node.end();
  await expect(start("before", env)).rejects.toThrow(/proofwright cluster finalize/);
  expect(await cluster(["finalize"], env)).toContain("Migrated the cluster: finds transactions by their hash.");
  const again = await start("before", env);
  await again.anonymous.authenticate({ body: { email: user.email, password: user.password } });
  await again.end();
});
