/** A server that is killed while it deploys a verifier: it deploys one all the same, and no second one. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { seededRandom } from "../../support/seeded.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

/** A kill comes when one of them is seen, or a step later where it went by unseen. */
const STATUSES = ["queued", "deploying", "checking", "registering"];
/** After the status was seen: about as long as a step takes. */
const KILLED_WITHIN_MS = 400;
/** Short beside a step, long beside an answer: the server's cores are for the deployment. */
const POLL_MS = 20;
/** A deployment and a registration. */
const SENT_PER_VERIFIER = 2;
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
/** Owns the registry; its nonce counts all that was sent. */
let keeper: { readonly id: string; readonly address: string };
let registry: string;

beforeAll(async () => {
  folder = newFolder("verifier-kills");
  anvil = await startAnvil();
  server = await start();
  ({ api, token } = await server.newUser());
  const config = { json_rpc_url: anvil.url, confirmations: 1 };
  network = (await api.createNetwork({ body: { name: "n", config } })).body.id;
  keeper = (await api.createAccount({ body: { network_id: network } })).body;
  await anvil.request("anvil_setBalance", keeper.address, ETHER);
  const made = await api.createVerifierRegistry({ body: { network_id: network, account_id: keeper.id } });
  registry = made.body.contract_id;
  for (let status = ""; status !== "deployed";)
    ({ status } = (await api.getContract({ params: { id: registry } })).body);
  const verifiers = [{ network_id: network, account_id: keeper.id }];
  prover = await provisioned(api, { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", verifiers });
  const { body: deployed } = await api.listVerifiers({ params: { id: prover }, query: {} });
  expect(deployed.map(({ status }) => status)).toEqual(["ready"]);
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

async function deploy(): Promise<string> {
  const body = { network_id: network, account_id: keeper.id, registry_contract_id: registry };
  return (await api.createVerifier({ params: { id: prover }, body })).body.id;
}

async function statusOf(id: string): Promise<string> {
  return (await api.getVerifier({ params: { id: prover, verifier_id: id } })).body.status;
}

async function nonce(): Promise<number> {
  return Number(await anvil.request("eth_getTransactionCount", keeper.address, "latest"));
}

/** It is deployed and registered, and nothing else was sent. */
async function expectOne(id: string, before: number): Promise<void> {
  await expect.poll(async () => await statusOf(id), { timeout: 120_000 }).toMatch(/ready|failed/);
  const { body } = await api.getVerifier({ params: { id: prover, verifier_id: id } });
  expect(body).toMatchObject({ status: "ready", errors: [], registry: { status: "registered" } });
  expect((await nonce()) - before).toBe(SENT_PER_VERIFIER);
}

it(`deploys and registers one verifier each, killed in any step, seed ${String(random.seed)}`, async () => {
  for (const status of STATUSES) {
    const before = await nonce();
    const id = await deploy();
    const awaited = [...STATUSES.slice(STATUSES.indexOf(status)), "ready"];
    while (!awaited.includes(await statusOf(id))) await pause(POLL_MS);
    await pause(random.below(KILLED_WITHIN_MS));
    await restart();
    await expectOne(id, before);
  }
}, 600_000);

it("goes on with a transaction that waits for a block", async () => {
  const before = await nonce();
  await anvil.request("evm_setAutomine", false);
  const id = await deploy();
  for (let kill = 0; kill < 3; kill += 1) {
    await expect.poll(async () => await statusOf(id)).toBe("deploying");
    await restart();
  }
  await anvil.request("evm_setAutomine", true);
  await anvil.request("evm_mine");
  await expectOne(id, before);
}, 300_000);
