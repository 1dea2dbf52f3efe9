/** Server processes as nodes of one cluster: what one has provisioned, the others hand out and prove with. */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AUDIT_SECRET, clusterSecret } from "../../src/platform/cluster/cluster-secrets.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { Postgres } from "../support/postgres.js";
import { startServer, type TestServer } from "../support/server.js";
import { recordedLog } from "../support/silent-log.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";
import { PHRASE, PHRASE_HASH } from "../vault/support.js";

const INPUTS = JSON.parse(readFileSync(join(PACKAGE_ROOT, "circuits", "poseidon_preimage", "inputs.json"), "utf8")) as {
  readonly satisfying: Record<string, unknown>;
};

let postgres: Postgres;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  postgres = await Postgres.start();
  folder = newFolder("cluster");
  const [databaseUrl, clusterKey] = [postgres.urlOf(await postgres.newDatabase()), randomBytes(32)];
  const from = join(folder, "store");
  const store = await openStore({ path: from }, { log: recordedLog() });
  await clusterSecret(AUDIT_SECRET, { store, clusterKey }).create(randomBytes(32));
  await store.close();
  await initCluster({ databaseUrl, clusterKey, from });
  const keyFile = join(folder, "cluster-key");
  writeFileSync(keyFile, `${clusterKey.toString("hex")}\n`, { mode: 0o600 });
  env = {
    PROOFWRIGHT_DATABASE_URL: databaseUrl,
    PROOFWRIGHT_CLUSTER_KEY_FILE: keyFile,
    PROOFWRIGHT_ISSUER: "https://cluster.example.com",
    SEAL_UNSEAL_KEY: PHRASE,
    SEAL_UNSEAL_VALIDATION_HASH: PHRASE_HASH,
  };
});
afterAll(async () => {
  await postgres.dispose();
  removeFolder(folder);
});

async function keyHash(server: TestServer, token: string, id: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${server.url}/api/v1/provers/${id}/artifacts/proving_key`, { headers });
  expect(answer.status).toBe(200);
  return createHash("sha256")
    .update(Buffer.from(await answer.arrayBuffer()))
    .digest("hex");
}

it("hands out keys and proves on nodes that did not make them, also when the one that did is gone", async () => {
  const servers: TestServer[] = [];
  const start = async (): Promise<TestServer> => {
    const server = await startServer({ env });
    servers.push(server);
    return server;
  };
  try {
    const [one, other] = [await start(), await start()];
    const { api, token } = await one.newUser();
    const { body: created } = await api.createProver({
      body: {
        ...{ identifier: "poseidon_preimage", proving_scheme: "groth16", curve: "BN254" },
        ...{ provider: "circom", name: "shared" },
      },
    });
    const params = { id: created.id };
    const status = async () => (await other.as(token).getProver({ params })).body.status;
    await expect.poll(status, { interval: 50, timeout: 60_000 }).toBe("provisioned");
    const hash = await keyHash(one, token, created.id);
    expect(await keyHash(other, token, created.id)).toBe(hash);
    expect(await one.end("SIGKILL")).toBeNull();
    rmSync(one.dataDir, { recursive: true });
    const third = await start();
    expect(await keyHash(third, token, created.id)).toBe(hash);
    const { body: made } = await third.as(token).prove({ params, body: { witness: INPUTS.satisfying } });
    const { body: verified } = await other
      .as(token)
      .verify({ params, body: { proof: made.proof, witness: INPUTS.satisfying } });
    expect(verified.result).toBe(true);
    expect(await other.end()).toBe(0);
  } finally {
    for (const server of servers) await server.dispose();
  }
});
