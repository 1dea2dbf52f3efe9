/**
 * What the routes of the area that create something keep of their answers: with all parts of the area over a real store
 * and vault, whose commits a test ends as a kill would, before or behind the one that makes the record.
 */
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createChain, type Chain } from "../../src/chain/create-chain.js";
import { chainRoutes } from "../../src/chain/routes.js";
import { PERMISSIONS, permissionBits, type PermissionName } from "../../src/platform/auth/permissions.js";
import { formatSubject, type Principal, type Subject } from "../../src/platform/auth/principal.js";
import { systemClock } from "../../src/platform/clock.js";
import type { Once } from "../../src/platform/contract/once.js";
import type { AnyReply } from "../../src/platform/contract/route.js";
import { notFound } from "../../src/platform/errors.js";
import { EventBus } from "../../src/platform/events/event-bus.js";
import { SubscriptionTokens } from "../../src/platform/events/subscription-token.js";
import { StoredIdempotency } from "../../src/platform/http/limits/idempotency-store.js";
import { runOnce, type IdempotencyClaim } from "../../src/platform/http/limits/idempotency.js";
import { Jobs } from "../../src/platform/jobs/jobs.js";
import { soloNodes } from "../../src/platform/nodes/solo-nodes.js";
import { ProcessTasks } from "../../src/platform/pool/process-task.js";
import { References } from "../../src/platform/references.js";
import type { AppendFeed, Store, StoreCommit, StoreKey } from "../../src/platform/store/store.js";
import { startAnvil, type Anvil } from "../support/anvil.js";
import { startKubo, type KuboDouble } from "../support/kubo-double.js";
import { recordedLog } from "../support/silent-log.js";
import { openTestVault, type TestVault } from "../vault/support.js";
import { PING_ABI, PING_CREATION } from "./events/ping.js";

type RouteId = keyof Chain["handlers"];
interface Call {
  readonly params?: object;
  readonly body?: object;
}
/** A commit at which the process ends. */
interface Cut {
  readonly at: (commit: StoreCommit) => boolean;
  /** Whether the commit is on disk before the end. */
  readonly isDurable: boolean;
}

const TEN_ETHER = "0x8ac7230489e80000";
const owner: Subject = { kind: "application", id: randomUUID() };
const principal: Principal = {
  ...{ subject: owner, permissions: permissionBits(Object.keys(PERMISSIONS) as PermissionName[]) },
  ...{ tokenId: randomUUID(), sessionId: randomUUID(), expiresAtSec: 2 ** 40 },
};

let anvil: Anvil;
let kubo: KuboDouble;
let vault: TestVault;
let store: Store;
let jobs: Jobs;
/** One that sends transactions, and one that asks others to. */
let chain: Chain;
let asking: Chain;
let network = "";
let account = "";
const commits: StoreCommit[] = [];
let cut: Cut | undefined;
let isDead = false;

/** A view of a store with another `commit`. */
function withCommit<S extends Store>(target: S, commit: Store["commit"]): S {
  return new Proxy(target, {
    get: (_target, member) => {
      const value: unknown = member === "commit" ? commit : Reflect.get(target, member, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function openChain(isSending: boolean): Chain {
  const log = recordedLog();
  const nodes = isSending ? soloNodes() : { ...soloNodes(), has: () => false };
  const shared = { store: store as Store & AppendFeed, clock: systemClock, log };
  const streams = { streamsMax: 10, streamsPerSubjectMax: 10, streamsPerTokenMax: 10 };
  const opened = createChain(
    {
      ...{ egressAllow: ["127.0.0.0/8"], egressPorts: [], publicUrls: new Map(), logConfirmations: 0 },
      ...{ dockerHost: undefined, dockerImages: "" },
    },
    {
      ...{ ...shared, nodes, vault: vault.vault, tasks: new ProcessTasks(), references: new References() },
      events: new EventBus({ eventsMax: 10_000, daysMax: 1, ...streams }, shared),
      // Only the one that sends runs them.
      jobs: isSending ? jobs : new Jobs({}, shared),
      subscriptionTokens: new SubscriptionTokens(
        { key: new Uint8Array(32) },
        { clock: systemClock, standingOf: () => undefined },
      ),
      requireTenant: (_principal, { kind }) => {
        throw notFound(kind);
      },
      hasVault: () => true,
      turnOf: formatSubject,
    },
  );
  if (isSending) opened.start();
  return opened;
}

beforeAll(async () => {
  [anvil, kubo, vault] = await Promise.all([
    startAnvil(),
    startKubo(),
    openTestVault({
      wrapStore: (opened) =>
        withCommit(opened, async (commit) => {
          const isEnd = cut?.at(commit) === true;
          if (!isEnd || cut?.isDurable === true) await opened.commit(commit);
          if (!isEnd) {
            commits.push(commit);
            return;
          }
          [cut, isDead] = [undefined, true];
          throw new Error("killed");
        }),
    }),
  ]);
  ({ store } = vault);
  jobs = new Jobs({ retryDelayMs: 20, settleDelayMs: 20 }, { store, clock: systemClock, log: recordedLog() });
  [chain, asking] = [openChain(true), openChain(false)];
  await jobs.start();
  network = await idOf("createNetwork", { body: { name: "anvil", config: { json_rpc_url: anvil.url } } });
  account = await idOf("createAccount", { body: { network_id: network } });
  const { address } = (await plain("getAccount", { params: { id: account } })).body as { readonly address: string };
  await anvil.request("anvil_setBalance", address, TEN_ETHER);
});
afterAll(async () => {
  await chain.stop();
  await asking.stop();
  await jobs.stop();
  await vault.close();
  await kubo.stop();
  await anvil.stop("SIGKILL");
});

async function plain(id: RouteId, call: Call, more: { readonly once?: Once; readonly of?: Chain } = {}) {
  const { of = chain, ...once } = more;
  const handler = of.handlers[id] as (request: object) => Promise<AnyReply>;
  const rest = { principal, params: {}, query: { page: 1, rpp: 25 }, signal: new AbortController().signal };
  return await handler({ ...rest, ...call, ...once });
}

async function idOf(route: RouteId, call: Call): Promise<string> {
  return ((await plain(route, call)).body as { readonly id: string }).id;
}

/** A request under a key, which may be sent again to the next process. */
class Keyed {
  readonly claim: IdempotencyClaim;
  readonly #route: RouteId;
  readonly #call: Call;
  readonly #of: Chain;

  constructor(route: RouteId, call: Call, of = chain) {
    const { keepsOnce = false } = chainRoutes[route] as { readonly keepsOnce?: boolean };
    this.claim = { subject: formatSubject(owner), routeId: route, key: randomUUID(), requestHash: "", keepsOnce };
    [this.#route, this.#call, this.#of] = [route, call, of];
  }

  get key(): StoreKey {
    const { subject, routeId, key } = this.claim;
    return ["idempotency", subject, routeId, key];
  }

  async send(): Promise<AnyReply> {
    isDead = false;
    // A process that was killed writes no more.
    const mortal = withCommit(store, async (commit) => {
      if (isDead) throw new Error("killed");
      await store.commit(commit);
    });
    const idempotency = new StoredIdempotency({ store: mortal, clock: systemClock });
    return await runOnce(
      idempotency,
      this.claim,
      async (once) => await plain(this.#route, this.#call, { once, of: this.#of }),
    );
  }

  async sendUntil(end: Cut): Promise<void> {
    cut = end;
    await expect(this.send()).rejects.toThrow("killed");
  }
}

const keysOf = ({ puts = [] }: StoreCommit): readonly StoreKey[] => puts.map(({ key }) => key);
const hasKey = (commit: StoreCommit, key: StoreKey): boolean =>
  keysOf(commit).some((one) => String(one) === String(key));

interface Route {
  readonly title: string;
  readonly route: RouteId;
  readonly table: string;
  readonly call: () => Call | Promise<Call>;
  /** How many records there are more then; one unless given. */
  readonly adds?: number;
}

const newAddress = (): string => privateKeyToAccount(generatePrivateKey()).address;
const artifact = { contractName: "Ping", abi: PING_ABI, bytecode: PING_CREATION };
const connectorOf = async (type: string, url: string): Promise<string> => {
  const config = { api_url: url };
  const id = await idOf("createConnector", { body: { name: "c", network_id: network, type, config } });
  await expect
    .poll(async () => ((await plain("getConnector", { params: { id } })).body as { status: string }).status)
    .toBe("available");
  return id;
};
const signed = async (): Promise<Call> => {
  const signer = privateKeyToAccount(generatePrivateKey());
  await anvil.request("anvil_setBalance", signer.address, TEN_ETHER);
  const fees = { maxFeePerGas: 5_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
  const values = { type: "eip1559", nonce: 0, to: signer.address, value: 1n, gas: 21_000n } as const;
  const raw = await signer.signTransaction({ ...values, ...fees, chainId: anvil.chainId });
  return { body: { network_id: network, raw_transaction: raw } };
};

const ROUTES: readonly Route[] = [
  {
    ...{ title: "createNetwork, with the key of its node", route: "createNetwork", table: "chain_network" },
    call: () => ({ body: { name: "n", chain_id: "7", config: { rpc_api_user: "u", rpc_api_key: "secret" } } }),
  },
  {
    ...{ title: "createNetworkNode", route: "createNetworkNode", table: "chain_node" },
    call: async () => ({
      params: { id: await idOf("createNetwork", { body: { name: "n", chain_id: "31337", config: {} } }) },
      body: { config: { json_rpc_url: anvil.url } },
    }),
  },
  {
    ...{ title: "createOracle", route: "createOracle", table: "chain_oracle" },
    call: () => ({ body: { name: "o", network_id: network } }),
  },
  {
    ...{ title: "createBridge", route: "createBridge", table: "chain_bridge" },
    call: () => ({ body: { name: "b", network_id: network } }),
  },
  {
    ...{ title: "createAccount", route: "createAccount", table: "chain_account" },
    call: () => ({ body: { network_id: network } }),
  },
  { title: "createWallet", route: "createWallet", table: "chain_wallet", call: () => ({ body: {} }) },
  { title: "broadcastTransaction", route: "broadcastTransaction", table: "chain_transaction", call: signed },
  {
    ...{ title: "createConnector, with credentials", route: "createConnector", table: "connector" },
    call: () => ({
      body: {
        ...{ name: "c", network_id: network, type: "redis", is_virtual: true },
        config: { host: "127.0.0.1", port: 1, credentials: { password: "secret" } },
      },
    }),
  },
  {
    ...{ title: "createConnectorEntity of IPFS", route: "createConnectorEntity", table: "connector_entity" },
    call: async () => ({ params: { id: await connectorOf("ipfs", kubo.url) }, body: { raw: randomUUID(), name: "e" } }),
  },
  {
    ...{ title: "createContract of an address", route: "createContract", table: "chain_contract" },
    call: () => ({ body: { network_id: network, address: newAddress() } }),
  },
  {
    ...{ title: "createContract, deployed", route: "createContract", table: "chain_contract" },
    call: () => ({
      body: { network_id: network, address: "0x", params: { account_id: account, compiled_artifact: artifact } },
    }),
  },
  {
    ...{ title: "createContract from source", route: "createContract", table: "chain_contract" },
    call: () => ({
      body: { network_id: network, address: "0x", params: { raw_source: "pragma solidity ^0.8.0; contract A {}" } },
    }),
  },
  {
    ...{ title: "createPublicContract", route: "createPublicContract", table: "chain_contract" },
    call: () => ({ body: { network_id: network, address: newAddress() } }),
  },
  {
    ...{ title: "createTokenContract of an address", route: "createTokenContract", table: "chain_contract" },
    call: () => ({ body: { network_id: network, address: newAddress(), type: "erc20", name: "T" } }),
  },
  {
    ...{ title: "createTokenContract of a contract", route: "createTokenContract", table: "chain_contract", adds: 0 },
    call: async () => ({
      body: {
        ...{ type: "erc20", name: "T" },
        contract_id: await idOf("createContract", { body: { network_id: network, address: newAddress() } }),
      },
    }),
  },
  {
    ...{ title: "executeContract that deploys", route: "executeContract", table: "chain_transaction" },
    call: async () => {
      const body = { network_id: network, address: "0x", params: { compiled_artifact: artifact } };
      return { params: { id: await idOf("createContract", { body }) }, body: { account_id: account } };
    },
  },
  {
    ...{ title: "executeContract that calls", route: "executeContract", table: "chain_transaction" },
    call: async () => {
      const abi = [{ type: "function", name: "run", inputs: [], outputs: [], stateMutability: "nonpayable" }];
      const params = { compiled_artifact: { contractName: "Runs", abi } };
      const id = await idOf("createContract", { body: { network_id: network, address: newAddress(), params } });
      return { params: { id }, body: { account_id: account, method: "run" } };
    },
  },
];

it("is a promise of every route of the area that creates something", () => {
  const creating = Object.values(chainRoutes).filter((route) => "creates" in route);
  const keeping = creating.filter((route) => "keepsOnce" in route).map(({ id }) => id);
  expect(keeping).toEqual(creating.map(({ id }) => id));
  // kept-answers.test.ts of transactions has the other one.
  expect(new Set(keeping)).toEqual(new Set(["createTransaction", ...ROUTES.map(({ route }) => route)]));
});

describe.each(ROUTES)("$title", ({ route, table, call, adds = 1 }) => {
  /** True for the commit that makes a request's record and keeps its answer; others go on meanwhile. */
  const making =
    ({ key }: Keyed): Cut["at"] =>
    (commit) =>
      hasKey(commit, key) && keysOf(commit).some(([name]) => name === table);
  const count = (): number => store.count([table]);

  it("keeps what it answers in the commit of its record", async () => {
    const request = new Keyed(route, await call());
    commits.length = 0;
    const reply = await request.send();
    const made = commits.find(making(request));
    expect(made).toBeDefined();
    const kept = made?.puts?.find(({ key }) => String(key) === String(request.key))?.value as {
      readonly answer: { readonly status: number; readonly headers: object; readonly body: string };
    };
    const { answer } = kept;
    const body = JSON.parse(answer.body) as object;
    expect({ status: answer.status, headers: answer.headers }).toEqual({
      ...{ status: reply.status, headers: reply.headers ?? {} },
    });
    // Bytes that were not sent yet when the answer was kept have been by now.
    const ofItsTime =
      route === "broadcastTransaction" ? { state: "signed", broadcast_at: null, queue_latency: null } : {};
    expect(body).toEqual({ ...(JSON.parse(JSON.stringify(reply.body)) as object), ...ofItsTime });
    expect(answer.body).not.toContain("secret");
  });

  it("answers the repeat of a request that was cut off behind that commit", async () => {
    const request = new Keyed(route, await call());
    const before = count();
    await request.sendUntil({ at: making(request), isDurable: true });
    const after = count();
    const again = await request.send();
    expect(again.headers).toMatchObject({ "Idempotency-Replayed": "true" });
    const { id, ref } = again.body as { readonly id?: string; readonly ref?: string };
    expect(JSON.stringify(store.range([table]))).toContain(id ?? ref);
    expect(count()).toBe(after);
    expect(after - before).toBe(adds);
  });

  it("runs the repeat of a request that was cut off before it", async () => {
    const request = new Keyed(route, await call());
    const before = count();
    await request.sendUntil({ at: making(request), isDurable: false });
    const again = await request.send();
    expect(again.headers ?? {}).not.toHaveProperty("Idempotency-Replayed");
    expect((await request.send()).body).toEqual(JSON.parse(JSON.stringify(again.body)));
    expect(count() - before).toBe(adds);
  });
});

describe("an entity of a peer that names it anew each time", () => {
  let peer: Server;
  let posts = 0;
  let onPost = (): void => undefined;
  beforeAll(async () => {
    peer = createServer((request, response) => {
      request.resume();
      if (request.method === "POST") {
        posts += 1;
        onPost();
      }
      response.setHeader("content-type", "application/json").end(JSON.stringify({ id: String(posts) }));
    });
    await new Promise<void>((resolve) => {
      peer.listen(0, "127.0.0.1", resolve);
    });
  });
  afterAll(() => {
    peer.closeAllConnections();
    peer.close();
  });
  const newRequest = async (): Promise<Keyed> => {
    const url = `http://127.0.0.1:${String((peer.address() as AddressInfo).port)}`;
    const call = { params: { id: await connectorOf("rest", url) }, body: { metadata: { a: 1 } } };
    return new Keyed("createConnectorEntity", call);
  };

  it("is not asked for again once the peer may have been asked", async () => {
    const request = await newRequest();
    onPost = () => {
      isDead = true;
    };
    await expect(request.send()).rejects.toThrow("killed");
    const asked = posts;
    await expect(request.send()).rejects.toMatchObject({
      ...{ code: "idempotency_in_progress", message: expect.stringContaining("began to take effect") as string },
    });
    expect(posts).toBe(asked);
  });

  it("is asked for where the process ended before", async () => {
    const request = await newRequest();
    onPost = () => undefined;
    const asked = posts;
    const isBegun = ({ puts = [] }: StoreCommit): boolean =>
      puts.some(({ key, value }) => String(key) === String(request.key) && Object.hasOwn(value as object, "begun"));
    await request.sendUntil({ at: isBegun, isDurable: false });
    expect((await request.send()).status).toBe(201);
    expect(posts).toBe(asked + 1);
  });
});

it("is no second wish for signed bytes that another node may have sent", async () => {
  const request = new Keyed("broadcastTransaction", await signed(), asking);
  const at = (commit: StoreCommit): boolean => keysOf(commit).some(([table]) => table === "chain_wish");
  await request.sendUntil({ at, isDurable: true });
  expect(store.count(["chain_wish"])).toBe(1);
  await expect(request.send()).rejects.toMatchObject({
    ...{ code: "idempotency_in_progress", message: expect.stringContaining("began to take effect") as string },
  });
  expect(store.count(["chain_wish"])).toBe(1);
});
