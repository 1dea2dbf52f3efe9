/** Server processes as nodes of one cluster: what one has provisioned, the others hand out and prove with. */
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { TestCluster } from "../support/cluster.js";
import type { TestServer } from "../support/server.js";

const INPUTS = JSON.parse(readFileSync(join(PACKAGE_ROOT, "circuits", "poseidon_preimage", "inputs.json"), "utf8")) as {
  readonly satisfying: Record<string, unknown>;
};

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await TestCluster.make();
});
afterAll(async () => {
  await cluster.dispose();
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
  const [one, other] = [await cluster.start("one"), await cluster.start("other")];
  const { api, token } = await one.newUser();
  const { body: created } = await api.createProver({
    body: {
      ...{ identifier: "poseidon_preimage", proving_scheme: "groth16", curve: "BN254" },
      ...{ provider: "circom", name: "shared" },
    },
  });
  const params = { id: created.id };
  const status = async () => (await other.as(token).getProver({ params })).body.status;
  await expect.poll(status, { interval: 50 }).toBe("provisioned");
  const hash = await keyHash(one, token, created.id);
  expect(await keyHash(other, token, created.id)).toBe(hash);
  expect(await one.end("SIGKILL")).toBeNull();
  rmSync(one.dataDir, { recursive: true });
  const third = await cluster.start("third");
  expect(await keyHash(third, token, created.id)).toBe(hash);
  const { body: made } = await third.as(token).prove({ params, body: { witness: INPUTS.satisfying } });
  const { body: verified } = await other
    .as(token)
    .verify({ params, body: { proof: made.proof, witness: INPUTS.satisfying } });
  expect(verified.result).toBe(true);
  expect(await other.end()).toBe(0);
});
