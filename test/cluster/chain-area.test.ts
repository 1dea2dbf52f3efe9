/** The whole chain area on two nodes of a cluster: what one does for both, and what both say alike. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createChain, type Chain } from "../../src/chain/create-chain.js";
import { PERMISSIONS, permissionBits, type PermissionName } from "../../src/platform/auth/permissions.js";
import { formatSubject, type Principal } from "../../src/platform/auth/principal.js";
import { systemClock } from "../../src/platform/clock.js";
import { notFound } from "../../src/platform/errors.js";
import { EventBus } from "../../src/platform/events/event-bus.js";
import type { StoredEvent } from "../../src/platform/events/event-log.js";
import { SubscriptionTokens } from "../../src/platform/events/subscription-token.js";
import { Jobs } from "../../src/platform/jobs/jobs.js";
import { ProcessTasks } from "../../src/platform/pool/process-task.js";
import { References } from "../../src/platform/references.js";
import { PING_ABI, PING_CREATION } from "../chain/events/ping.js";
import { ChainCluster, type OpenedNode } from "../support/chain-nodes.js";
import { eventually } from "../support/eventually.js";
import { Postgres } from "../support/postgres.js";

const TEN_ETHER = "0x8ac7230489e80000";
let postgres: Postgres;
let cluster: ChainCluster;
beforeAll(async () => {
  postgres = await Postgres.start();
});
beforeEach(async () => {
  cluster = await ChainCluster.open(postgres);
});
afterEach(async () => {
  await cluster.close();
});
afterAll(async () => {
  await postgres.dispose();
});

interface AreaNode extends OpenedNode {
  readonly chain: Chain;
  /** Calls a handler as the owner, with a strict read before it. */
  call<R>(id: keyof Chain["handlers"], request?: object): Promise<R>;
}

async function areaNode(): Promise<AreaNode> {
  const opened = await cluster.openNode();
  const { store, nodes, vault, log } = opened;
  const shared = { store, nodes, clock: systemClock, log };
  const events = new EventBus(
    { eventsMax: 10_000, daysMax: 1, streamsMax: 10, streamsPerSubjectMax: 10, streamsPerTokenMax: 10 },
    { ...shared },
  );
  const chain = createChain(
    {
      ...{ egressAllow: ["127.0.0.0/8"], egressPorts: [], publicUrls: new Map(), logConfirmations: 0 },
      ...{ dockerHost: undefined, dockerImages: "" },
    },
    {
      ...{ ...shared, events, vault: vault.service, tasks: new ProcessTasks(), references: new References() },
      jobs: new Jobs({}, { ...shared, nodes }),
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
  opened.onLeave(chain);
  const names = Object.keys(PERMISSIONS) as PermissionName[];
  const principal: Principal = {
    ...{ subject: cluster.owner, permissions: permissionBits(names), expiresAtSec: 2 ** 40 },
    ...{ tokenId: randomUUID(), sessionId: randomUUID() },
  };
  return {
    ...opened,
    chain,
    call: async <R>(id: keyof Chain["handlers"], request: object = {}): Promise<R> => {
      await store.confirm();
      const handler = chain.handlers[id] as (context: object) => Promise<{ readonly body: R }>;
      const context = { principal, params: {}, query: { page: 1, rpp: 25 }, signal: new AbortController().signal };
      return (await handler({ ...context, ...request })).body;
    },
  };
}

/** The subjects of the events that all nodes have. */
async function subjects({ store }: AreaNode): Promise<string[]> {
  await store.confirm();
  return store.range<StoredEvent>(["events"]).map(({ value }) => value.subjects.join(" "));
}

it("deploys a contract for a node that does not send, and publishes its logs once", async () => {
  const [sender, other] = [await areaNode(), await areaNode()];
  sender.chain.start();
  await eventually(() => {
    expect(sender.nodes.has("chain")).toBe(true);
  });
  other.chain.start();
  const network = await other.call<{ readonly id: string }>("createNetwork", {
    body: { name: "anvil", config: { json_rpc_url: cluster.anvil.url } },
  });
  const account = await other.call<{ readonly id: string; readonly address: string }>("createAccount", {
    body: { network_id: network.id },
  });
  await cluster.anvil.request("anvil_setBalance", account.address, TEN_ETHER);
  const artifact = { contractName: "Ping", abi: PING_ABI, bytecode: PING_CREATION };
  const { id } = await other.call<{ readonly id: string }>("createContract", {
    body: {
      ...{ name: "Ping", network_id: network.id, address: "0x" },
      params: { compiled_artifact: artifact, account_id: account.id },
    },
  });
  const contractOf = async (node: AreaNode): Promise<{ readonly status: string; readonly address: string }> =>
    await node.call("getContract", { params: { id } });
  const { address } = await eventually(async () => {
    const contract = await contractOf(other);
    expect(contract.status).toBe("deployed");
    return contract;
  });
  expect(await contractOf(sender)).toMatchObject({ status: "deployed", address });
  await other.call("createTransaction", {
    body: { network_id: network.id, account_id: account.id, to: address, data: `0x${"07".padStart(64, "0")}` },
  });
  const isLog = (subject: string): boolean => subject.includes(`.contracts.${address}`);
  await eventually(async () => {
    expect((await subjects(other)).filter(isLog)).toHaveLength(1);
  });
  await other.call("createTransaction", {
    body: { network_id: network.id, account_id: account.id, to: address, data: `0x${"08".padStart(64, "0")}` },
  });
  await eventually(async () => {
    expect((await subjects(sender)).filter(isLog)).toHaveLength(2);
  });
});

it("publishes the state of a network that only the other node uses, by one of both", async () => {
  const [sender, other] = [await areaNode(), await areaNode()];
  sender.chain.start();
  await eventually(() => {
    expect(sender.nodes.has("chain")).toBe(true);
  });
  other.chain.start();
  const { id } = await other.call<{ readonly id: string }>("createNetwork", {
    body: { name: "anvil", config: { json_rpc_url: cluster.anvil.url } },
  });
  expect(await other.call("getNetworkStatus", { params: { id } })).toMatchObject({ state: "running" });
  expect(await subjects(other)).toEqual([]);
  // The rounds of the node that publishes are fifteen seconds apart; a question to it is one.
  await eventually(() => {
    expect(sender.store.count(["chain_network_use", id])).toBe(1);
  });
  await sender.call("getNetworkStatus", { params: { id } });
  await other.call("getNetworkStatus", { params: { id } });
  expect(await subjects(other)).toEqual([`network.${id}.status`]);
});
