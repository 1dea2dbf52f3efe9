/**
 * Every `NChain` method of npm provide-js 1.10.0, unchanged, against a real server and a real node: also those that the
 * original answered 404 or 501. SOURCE: the client's own code; a method that is not called here fails the test.
 */
import { NChain, nchainClientFactory } from "provide-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ANVIL_ACCOUNTS, startAnvil, type Anvil } from "../support/anvil.js";
import { freePort } from "../support/line-doubles.js";
import { startServer, type TestServer } from "../support/server.js";

type Json = Record<string, unknown> & { id: string };
interface Listed {
  results: Json[];
  totalResultsCount: number;
}
type Methods = Record<string, (...args: unknown[]) => Promise<Json & Listed>>;

/** Answers any call with the word 42: PUSH1 42, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN. */
const RETURNS_42 = "0x602a5f5260205ff3";
/** Copies the six bytes after it, which are that answer, into a new contract. */
const CREATES_IT = "0x6008600b5f3960085ff3fe602a5f5260205ff3";
const PLACE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const VIEW_ABI = [
  { type: "function", name: "answer", stateMutability: "view", inputs: [], outputs: [{ type: "uint256" }] },
];

const called = new Set<string>();
let anvil: Anvil;
let server: TestServer;
let application: Methods;
let user: Methods;
/** The chain area's own address, as such clients use it: there /tokens are token contracts. */
let chainHost: string;
let network: string;

beforeAll(async () => {
  anvil = await startAnvil();
  chainHost = `127.0.0.1:${String(await freePort())}`;
  server = await startServer({ flags: [`--chain-listen=${chainHost}`] });
  const { api, token } = await server.newUser();
  const { id } = (await api.createApplication({ body: {} })).body;
  application = client((await api.createToken({ body: { application_id: id } })).body.access_token);
  user = client(token);
  network = (
    await application.createNetwork!({
      name: "local",
      config: { json_rpc_url: anvil.url, platform: "evm", chain: "local", native_currency: "ETH" },
    })
  ).id;
});
afterAll(async () => {
  await server.dispose();
  await anvil.stop("SIGKILL");
});

/**
 * The client, noting which methods are called; answers as plain JSON, because its own types are narrower than its
 * answers.
 */
function client(token: string): Methods {
  return new Proxy(nchainClientFactory(token, "http", chainHost), {
    get: (object, name) => {
      const method: unknown = Reflect.get(object, name);
      if (typeof method === "function") called.add(String(name));
      return typeof method === "function" ? (method.bind(object) as unknown) : method;
    },
  }) as never;
}

async function untilMined(id: string): Promise<Json> {
  for (;;) {
    const transaction = await application.fetchTransactionDetails!(id);
    if (transaction["status"] !== "pending") return transaction;
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
}

describe("provide-js NChain", () => {
  it("makes, changes and reads networks and what is on them", async () => {
    expect((await application.fetchNetworks!({})).results.map(({ id }) => id)).toEqual([network]);
    await application.updateNetwork!(network, { description: "for trials" });
    // The client writes some members in camel case.
    expect(await application.fetchNetworkDetails!(network)).toMatchObject({
      description: "for trials",
      chainId: "31337",
    });
    expect(await application.fetchNetworkStatus!(network)).toMatchObject({ state: "running" });
    for (const method of [
      "fetchNetworkAccounts",
      "fetchNetworkBridges",
      "fetchNetworkConnectors",
      "fetchNetworkContracts",
      "fetchNetworkOracles",
      "fetchNetworkTokenContracts",
      "fetchNetworkTransactions",
    ]) {
      expect((await application[method]!(network, {})).results, method).toEqual([]);
    }
    expect((await application.fetchNetworkBlocks!(network, {})).results[0]).toMatchObject({ number: 0 });
    const node = await application.createNetworkNode!(network, {
      config: { json_rpc_url: anvil.url.replace("127.0.0.1", "localhost") },
    });
    expect((await application.fetchNetworkNodes!(network, {})).results).toHaveLength(2);
    expect(await application.fetchNetworkNodeDetails!(network, node.id)).toMatchObject({ id: node.id, role: "peer" });
    expect(await application.fetchNetworkNodeLogs!(network, node.id, {})).toHaveProperty("logs");
    await application.deleteNetworkNode!(network, node.id);
    expect((await application.fetchNetworkNodes!(network, {})).results).toHaveLength(1);
    expect((await user.fetchNetworks!({ public: true })).totalResultsCount).toBe(3);
  });

  it("makes accounts and wallets, sends transactions, deploys and calls contracts", async () => {
    const account = await application.createAccount!({ network_id: network });
    await anvil.request("anvil_setBalance", account["address"], "0xde0b6b3a7640000");
    expect((await application.fetchAccounts!({})).results).toHaveLength(1);
    expect(await application.fetchAccountDetails!(account.id)).toMatchObject({ balance: "1000000000000000000" });
    const wallet = await application.createWallet!({ purpose: 44 });
    expect((await application.fetchWallets!({})).results).toHaveLength(1);
    expect(await application.fetchWalletDetails!(wallet.id)).toMatchObject({ id: wallet.id, purpose: 44 });
    expect((await application.fetchWalletAccounts!(wallet.id)).totalResultsCount).toBe(2 ** 31);
    const sent = await application.createTransaction!({
      network_id: network,
      account_id: account.id,
      to: ANVIL_ACCOUNTS[0],
      value: 5,
    });
    expect(await untilMined(sent.id)).toMatchObject({ status: "success", value: expect.anything() as unknown });
    expect((await application.fetchTransactions!({})).totalResultsCount).toBe(1);
    expect(await application.fetchNetworkTransactionDetails!(network, sent.id)).toMatchObject({ id: sent.id });
    const contract = await application.createContract!({
      network_id: network,
      name: "answer",
      address: "0x",
      params: {
        account_id: account.id,
        compiled_artifact: { contractName: "Answer", abi: VIEW_ABI, bytecode: CREATES_IT },
      },
    });
    for (;;) {
      const { address } = await application.fetchContractDetails!(contract.id);
      if (address !== "0x") break;
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
    }
    expect((await application.fetchContracts!({})).results).toHaveLength(1);
    expect(await application.fetchNetworkContractDetails!(network, contract.id)).toMatchObject({ id: contract.id });
    expect(await application.executeContract!(contract.id, { method: "answer", params: [] })).toMatchObject({
      response: expect.anything() as unknown,
    });
    expect(await application.authorizeContractSubscription!(contract.id, {})).toHaveProperty("token");
  });

  it("keeps oracles, bridges and connectors", async () => {
    const oracle = await application.createOracle!({
      name: "feed",
      network_id: network,
      feed_url: "https://feed.example.com",
    });
    expect((await application.fetchOracles!({})).results).toHaveLength(1);
    expect(await application.fetchOracleDetails!(oracle.id)).toMatchObject({ name: "feed" });
    const bridge = await application.createBridge!({ name: "link", network_id: network });
    expect((await application.fetchBridges!({})).results).toHaveLength(1);
    expect(await application.fetchBridgeDetails!(bridge.id)).toMatchObject({ name: "link" });
    const connector = await application.createConnector!({
      name: "files",
      network_id: network,
      type: "ipfs",
      config: { api_url: "http://127.0.0.1:9" },
      is_virtual: true,
    });
    expect((await application.fetchConnectors!({})).results).toHaveLength(1);
    expect(await application.fetchConnectorDetails!(connector.id, {})).toMatchObject({ id: connector.id });
    await application.fetchConnectorLoadBalancers!(connector.id, {});
    await application.fetchConnectorNodes!(connector.id, {});
    expect(await application.authorizeConnectorSubscription!(connector.id, {})).toHaveProperty("token");
    // Its peer is not there: each says so instead of hanging or failing inside.
    for (const call of [
      () => application.fetchConnectedEntities!(connector.id, {}),
      () => application.createConnectedEntity!(connector.id, { raw: "x" }),
      () => application.fetchConnectedEntityDetails!(connector.id, "bafkqaaa", {}),
      () => application.updateConnectedEntity!(connector.id, "bafkqaaa", { raw: "x" }),
      () => application.deleteConnectedEntity!(connector.id, "bafkqaaa"),
    ])
      await expect(call()).rejects.toThrow();
    await application.deleteConnector!(connector.id);
  });

  it("registers token contracts under /tokens of the chain area's own address", async () => {
    await anvil.request("anvil_setCode", PLACE, RETURNS_42);
    const token = await application.createTokenContract!({
      network_id: network,
      address: PLACE,
      type: "erc20",
      name: "T",
      symbol: "T",
      decimals: 0,
    });
    expect((await application.fetchTokenContracts!({})).results.map(({ id }) => id)).toContain(token.id);
    expect(await application.fetchTokenContractDetails!(token.id)).toMatchObject({ symbol: "T" });
    const [account] = (await application.fetchAccounts!({})).results;
    // The client rewrites the token's id, which is the member's name.
    expect(Object.values(await application.fetchAccountBalance!(account!.id, token.id))).toEqual(["42"]);
  });

  it("has no method that is not called here", () => {
    const methods = Object.getOwnPropertyNames(NChain.prototype).filter((name) => name !== "constructor");
    expect(methods.length).toBeGreaterThan(50);
    expect(methods.filter((name) => !called.has(name))).toEqual([]);
  });
});
