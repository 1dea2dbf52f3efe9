/**
 * The chain area in a real server process against real nodes: what several parts of it do together, over HTTP and event
 * streams.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError } from "../../src/sdk/errors.js";
import { createLog } from "../../src/platform/log.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { ANVIL_ACCOUNTS, startAnvil, type Anvil } from "../support/anvil.js";
import { openSocket, openSse } from "../support/event-streams.js";
import { provisioned, startServer, type Api, type TestServer } from "../support/server.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";
import { PING_ABI, PING_CREATION, pingCall } from "./events/ping.js";

const ETHER = "0xde0b6b3a7640000";
const RECEIVER = ANVIL_ACCOUNTS[1];
const MAINNET = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
const PRODUCT =
  "pragma circom 2.1.0; template Product() { signal input a; signal input b; signal output c; c <== a * b; } component main = Product();";

let anvil: Anvil;
let mainnet: Anvil;
let server: TestServer;
let folder: string;
const flags = (): string[] => [`--network-urls=mainnet=${mainnet.url}`];

interface Tenant {
  readonly api: Api;
  readonly token: string;
  readonly network: string;
  readonly account: { readonly id: string; readonly address: string };
}

beforeAll(async () => {
  folder = newFolder("chain-http");
  [anvil, mainnet] = await Promise.all([startAnvil(), startAnvil({ chainId: 1 })]);
  server = await startServer({ dataDir: join(folder, "data"), flags: flags() });
});
afterAll(async () => {
  await server.dispose();
  await Promise.all([anvil.stop("SIGKILL"), mainnet.stop("SIGKILL")]);
  removeFolder(folder);
});

async function withNetwork(token: string): Promise<Tenant> {
  const api = server.as(token);
  const network = (
    await api.createNetwork({
      body: {
        name: "local",
        config: { platform: "evm", chain: "local", native_currency: "ETH", json_rpc_url: anvil.url, confirmations: 1 },
      },
    })
  ).body.id;
  const account = (await api.createAccount({ body: { network_id: network } })).body;
  await anvil.request("anvil_setBalance", account.address, ETHER);
  return { api, token, network, account };
}
const newTenant = async (): Promise<Tenant> => await withNetwork((await server.newUser()).token);

const transfer = ({ network, account }: Tenant, value = 1) => ({
  network_id: network,
  account_id: account.id,
  to: RECEIVER,
  value,
});

/** Polls what has no event of its own. */
async function until<T>(read: () => Promise<T>, isDone: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read();
    if (isDone(value)) return value;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}

const untilMined = async ({ api }: Tenant, id: string) =>
  await until(
    async () => (await api.getTransaction({ params: { id } })).body,
    ({ status }) => status !== "pending",
  );

/** A contract whose every call is `emit Ping(first word of the call data)`. */
async function deployPing({ api, network, account }: Tenant) {
  const body = {
    network_id: network,
    name: "Ping",
    address: "0x",
    params: {
      account_id: account.id,
      compiled_artifact: { contractName: "Ping", abi: PING_ABI, bytecode: PING_CREATION },
    },
  };
  const { id } = (await api.createContract({ body })).body;
  return await until(
    async () => (await api.getContract({ params: { id } })).body,
    ({ address }) => address !== "0x",
  );
}

async function failure(call: Promise<unknown>): Promise<{ readonly status: number; readonly code: string }> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return { status: error.status, code: error.code };
  throw error instanceof Error ? error : new Error("the call succeeded");
}

describe("the list of transactions", () => {
  it("takes the words for a status, several of them, and no others", async () => {
    const { api } = await newTenant();
    for (const status of ["pending", "failed,success", "mined,replaced"])
      expect((await api.listTransactions({ query: { status } })).status).toBe(200);
    for (const status of ["bogus", "pending,bogus", "pendin", "pending,"])
      expect(await failure(api.listTransactions({ query: { status } })), status).toEqual({
        status: 422,
        code: "invalid_request",
      });
  });
});

describe("Idempotency-Key of transactions", () => {
  it("answers the same transaction for the same body, and sends it once", async () => {
    const tenant = await newTenant();
    const call = async () =>
      (await tenant.api.createTransaction({ body: transfer(tenant), idempotencyKey: "pay-once" })).body;
    const first = await call();
    await untilMined(tenant, first.id);
    expect((await call()).id).toBe(first.id);
    expect((await tenant.api.listTransactions({ query: {} })).body).toHaveLength(1);
    expect(await anvil.request("eth_getTransactionCount", tenant.account.address, "latest")).toBe("0x1");
  });

  it("refuses another body under the same key, and sends nothing", async () => {
    const tenant = await newTenant();
    await tenant.api.createTransaction({ body: transfer(tenant, 1), idempotencyKey: "pay-once" });
    const other = await failure(
      tenant.api.createTransaction({ body: transfer(tenant, 2), idempotencyKey: "pay-once" }),
    );
    expect(other).toEqual({ status: 422, code: "idempotency_key_reused" });
    expect((await tenant.api.listTransactions({ query: {} })).body).toHaveLength(1);
  });

  it("is the caller's own: another tenant's key is another key", async () => {
    const [one, two] = [await newTenant(), await newTenant()];
    const [first, second] = [
      await one.api.createTransaction({ body: transfer(one), idempotencyKey: "same" }),
      await two.api.createTransaction({ body: transfer(two), idempotencyKey: "same" }),
    ];
    expect(second.body.id).not.toBe(first.body.id);
  });
});

describe("subscription tokens of contracts", () => {
  it("hear their contract's events and open nothing else", async () => {
    const tenant = await newTenant();
    const ping = await deployPing(tenant);
    const made = await tenant.api.createContractSubscription({ params: { id: ping.id }, body: {} });
    expect(made.headers.get("cache-control")).toBe("no-store");
    const { token, subscribe } = made.body;
    expect(subscribe).toEqual([ping.pubsub_prefix, `${ping.pubsub_prefix}.>`]);
    expect((await failure(server.as(token).listContracts({ query: {} }))).status).toBe(403);
    await expect(openSse(server.url, { token, subjects: ["network.>"] })).rejects.toThrow(/^403 /);
    const reader = await openSse(server.url, { token });
    await untilMined(tenant, (await tenant.api.createTransaction({ body: transfer(tenant) })).body.id);
    await anvil.request("eth_sendTransaction", { from: ANVIL_ACCOUNTS[0], to: ping.address, data: pingCall(7) });
    await reader.until(({ events }) => events().length > 0);
    // The transfer's own event came before and was not for this token.
    expect(reader.events()).toMatchObject([
      {
        subject: expect.stringContaining(ping.pubsub_prefix) as unknown,
        payload: { value: "7", type: "Ping", removed: false },
      },
    ]);
    reader.close();
  });

  it("may be limited to one event, and are nobody's for another's contract", async () => {
    const [tenant, other] = [await newTenant(), await newTenant()];
    const ping = await deployPing(tenant);
    const { token, subscribe } = (
      await tenant.api.createContractSubscription({ params: { id: ping.id }, body: { subject: "Pong" } })
    ).body;
    expect(subscribe).toEqual([`${ping.pubsub_prefix}.Pong`]);
    await expect(openSse(server.url, { token, subjects: [`${ping.pubsub_prefix}.Ping`] })).rejects.toThrow(/^403 /);
    expect(await failure(other.api.createContractSubscription({ params: { id: ping.id }, body: {} }))).toEqual({
      status: 404,
      code: "not_found",
    });
  });
});

describe("events of provers", () => {
  it("reach their owner by SSE and by WebSocket, in order, and nobody else", async () => {
    const [owner, other] = [await server.newUser(), await server.newUser()];
    const [sse, socket, stranger] = await Promise.all([
      openSse(server.url, { token: owner.token, subjects: ["privacy.>"] }),
      openSocket(server.url, { token: owner.token, subjects: ["privacy.>"] }),
      openSocket(server.url, { token: other.token }),
    ]);
    const id = await provisioned(owner.api, {
      name: "product",
      source: PRODUCT,
      provider: "circom",
      proving_scheme: "groth16",
      curve: "BN254",
    });
    await owner.api.prove({ params: { id }, body: { witness: { a: "3", b: "11" } } });
    const expected = [
      "privacy.prover.setup.pending",
      "privacy.prover.setup.complete",
      `privacy.prover.notification.${owner.userId}.${id}.note.deposited`,
    ];
    for (const reader of [sse, socket]) {
      await reader.until(({ events }) => events().length >= expected.length);
      expect(reader.events().map(({ subject }) => subject)).toEqual(expected);
    }
    expect(sse.events()).toEqual(socket.events());
    // The stranger's stream is alive: it gets its own event and none of the owner's.
    await other.api.createOrganization({ body: { name: "others" } });
    await stranger.until(({ events }) => events().length > 0);
    expect(stranger.events().filter(({ subject }) => subject?.startsWith("privacy.") === true)).toEqual([]);
    for (const reader of [sse, socket, stranger]) reader.close();
  });
});

describe("prices", () => {
  /** Answers any call with latestRoundData's five words: PUSH8 price into the second, the others zero. */
  const feed = (price: bigint): string => `0x67${price.toString(16).padStart(16, "0")}60205260a05ff3`;
  const FEEDS = {
    btcusd: "0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c",
    ethusd: "0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419",
  };

  it("come from the feeds on the operator's mainnet node, and only those that a feed answers", async () => {
    await mainnet.request("anvil_setCode", FEEDS.btcusd, feed(6_543_219_876_543n));
    await mainnet.request("anvil_setCode", FEEDS.ethusd, feed(250_012_345_678n));
    const { api } = await newTenant();
    expect((await api.getPrices()).body).toEqual({
      btcusd: 65_432.19876543,
      ethusd: 2500.12345678,
    });
    // The URL of the operator's node is shown to no user.
    expect(JSON.stringify((await api.getNetwork({ params: { id: MAINNET } })).body)).not.toContain(mainnet.url);
  });
});

describe("kill -9 of the server", () => {
  it("loses no contract event and keeps their order, whether it was stored or not when it died", async () => {
    const tenant = await newTenant();
    const ping = await deployPing(tenant);
    const subjects = [`${ping.pubsub_prefix}.>`];
    const values = Array.from({ length: 40 }, (_, at) => at);
    const before = await openSocket(server.url, { token: tenant.token, subjects });
    // Blocks come while events are stored and passed on; the first that is read ends the server.
    const sending = (async () => {
      for (const value of values)
        await anvil.request("eth_sendTransaction", {
          from: ANVIL_ACCOUNTS[0],
          to: ping.address,
          data: pingCall(value),
        });
    })();
    await before.until(({ events }) => events().length > 0);
    await server.end("SIGKILL");
    await Promise.all([sending, before.ended]);
    server = await startServer({ dataDir: join(folder, "data"), flags: flags() });
    const after = await openSocket(server.url, {
      token: tenant.token,
      subjects,
      lastEventId: before.events().at(-1)!.id!,
    });
    const heard = (): unknown[] =>
      [...before.events(), ...after.events()].map(({ payload }) => (payload as { value: string }).value);
    await after
      .until(() => heard().length >= values.length)
      .catch((error: unknown) => {
        throw new Error(`the second server ended the stream: ${server.output()}`, { cause: error });
      });
    expect(heard()).toEqual(values.map(String));
    after.close();
  });
});

describe("deletion of an application", () => {
  it("takes its networks, accounts, contracts, transactions, connectors and oracles with it", async () => {
    const user = await server.newUser();
    const { id } = (await user.api.createApplication({ body: { name: randomUUID() } })).body;
    const tenant = await withNetwork((await user.api.createToken({ body: { application_id: id } })).body.access_token);
    const { api, network } = tenant;
    const ping = await deployPing(tenant);
    await untilMined(tenant, (await api.createTransaction({ body: transfer(tenant) })).body.id);
    await api.createWallet({ body: { purpose: 44 } });
    await api.createConnector({
      body: {
        name: "files",
        network_id: network,
        type: "rest",
        config: { api_url: anvil.url, credentials: { authorization: "bearer of nothing" } },
      },
    });
    await api.createOracle({ body: { name: "prices", network_id: network, contract_id: ping.id, params: {} } });
    // One that will never be mined: it must not be followed any more either.
    await anvil.request("evm_setAutomine", false);
    await api.createTransaction({ body: transfer(tenant) });
    await user.api.deleteApplication({ params: { id } });
    await anvil.request("evm_setAutomine", true);
    expect((await failure(api.listNetworks({ query: {} }))).status).toBe(401);
    expect((await failure(user.api.getApplication({ params: { id } }))).status).toBe(404);
    expect(await server.end()).toBe(0);
    const store = await openStore({ path: join(folder, "data", "store") }, { log: createLog("silent") });
    try {
      const left = store
        .range([])
        .map(({ key }) => key)
        .filter((key) => String(key[0]).startsWith("chain_") && key.includes(id));
      expect(left).toEqual([]);
    } finally {
      await store.close();
    }
  });
});
