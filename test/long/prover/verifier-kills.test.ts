/** A server that is killed while it deploys a verifier: it deploys one all the same, and no second one. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { seededRandom } from "../../support/seeded.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const KILLS = 12;
/** A deployment with its checks takes two seconds on an idle machine. */
const KILLED_WITHIN_MS = 2_500;
const ETHER = "0xde0b6b3a7640000";
const ENV = { PROOFWRIGHT_ISSUER: "https://kills.example.com", PROOFWRIGHT_MODE: "development" };

const random = seededRandom();
let folder: string;
let anvil: Anvil;
let server: TestServer;
let api: Api;
let token: string;
let prover: string;
let network: string;

beforeAll(async () => {
  folder = newFolder("verifier-kills");
  anvil = await startAnvil();
  server = await start();
  ({ api, token } = await server.newUser());
  const config = { json_rpc_url: anvil.url, confirmations: 1 };
  network = (await api.createNetwork({ body: { name: "n", config } })).body.id;
  prover = await provisioned(api, { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" });
}, 240_000);
afterAll(async () => {
  await server.dispose();
  await anvil.stop("SIGKILL");
  removeFolder(folder);
});

async function start(): Promise<TestServer> {
  return await startServer({ dataDir: `${folder}/data`, env: ENV });
}

async function restart(): Promise<void> {
  await server.end("SIGKILL");
  server = await start();
  api = server.as(token);
}

/** An account of its own, whose nonce counts what was sent. */
async function deploy(): Promise<{ readonly address: string; readonly id: string }> {
  const account = (await api.createAccount({ body: { network_id: network } })).body;
  await anvil.request("anvil_setBalance", account.address, ETHER);
  const body = { network_id: network, account_id: account.id };
  return { address: account.address, id: (await api.createVerifier({ params: { id: prover }, body })).body.id };
}

async function expectOne({ address, id }: { readonly address: string; readonly id: string }): Promise<void> {
  const params = { id: prover, verifier_id: id };
  await expect.poll(async () => (await api.getVerifier({ params })).body.status, { timeout: 120_000 }).toBe("ready");
  expect(await anvil.request("eth_getTransactionCount", address, "latest")).toBe("0x1");
  const { body } = await api.listTransactions({ query: { from: address } });
  expect(body).toHaveLength(1);
}

it(`deploys one verifier each, killed at any moment, seed ${String(random.seed)}`, async () => {
  for (let kill = 0; kill < KILLS; kill += 1) {
    const sent = await deploy();
    const afterMs = random.below(KILLED_WITHIN_MS);
    await new Promise((resolve) => {
      setTimeout(resolve, afterMs);
    });
    await restart();
    await expectOne(sent);
  }
}, 600_000);

it("goes on with a transaction that waits for a block", async () => {
  await anvil.request("evm_setAutomine", false);
  const sent = await deploy();
  const params = { id: prover, verifier_id: sent.id };
  for (let kill = 0; kill < 3; kill += 1) {
    await expect.poll(async () => (await api.getVerifier({ params })).body.status).toBe("deploying");
    await restart();
  }
  await anvil.request("evm_setAutomine", true);
  await anvil.request("evm_mine");
  await expectOne(sent);
}, 300_000);
