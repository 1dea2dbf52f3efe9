/** A prover registry with a chain area behind it, over one store, one vault, one queue of jobs and a real node. */
import { randomUUID } from "node:crypto";
import { createContracts, type Contracts } from "../../../src/chain/contracts/create-contracts.js";
import type { ContractPort } from "../../../src/chain/contracts/contract-port.js";
import { SOLIDITY_PROCESS_LIMITS } from "../../../src/chain/contracts/builds/solidity-task.js";
import type { NetworkRecord } from "../../../src/chain/networks/network-port.js";
import { createTransactions, type Transactions } from "../../../src/chain/transactions/create-transactions.js";
import { formatSubject, type Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import { notFound } from "../../../src/platform/errors.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { References } from "../../../src/platform/references.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { verifierRoutes } from "../../../src/prover/on-chain/verifier-routes.js";
import type { CreateVerifier, Verifier } from "../../../src/prover/on-chain/verifier-schemas.js";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { SpoiledRpc } from "../../chain/transactions/support.js";
import { never, openTestRegistry, principalOf, type TestRegistry } from "../support.js";

export interface ChainedRegistry extends TestRegistry {
  readonly anvil: Anvil;
  readonly rpc: SpoiledRpc;
  readonly owner: Subject;
  /** Of the owner alone. */
  readonly networkId: string;
  readonly transactions: Transactions;
  readonly contracts: Contracts;
  /** A new account of the owner, with ten ether unless said otherwise. */
  account(options?: { readonly isPoor: boolean }): Promise<{ readonly id: string; readonly address: string }>;
  /** Calls a route of verifiers as the front does, for the owner unless another subject is given. */
  call(id: keyof typeof verifierRoutes, request: RouteCall): Promise<unknown>;
  /** Deploys a verifier and waits for the end of the work. */
  deploy(proverId: string, request: Omit<CreateVerifier, "network_id">): Promise<Verifier>;
}

export interface RouteCall {
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly subject?: Subject;
  readonly waitSec?: number;
}

const TEN_ETHER = "0x8ac7230489e80000";
const WAIT_SEC = 300;
/** Long enough for any answer, and short enough for a node that never gives one. */
const PATIENCE = { nodePatienceMs: 300, followMs: 60_000 };

export async function openChainedRegistry(): Promise<ChainedRegistry> {
  const anvil = await startAnvil();
  const rpc = new SpoiledRpc(anvil.url);
  const owner: Subject = { kind: "user", id: randomUUID() };
  const networkId = randomUUID();
  const made: { port?: ContractPort } = {};
  const test = await openTestRegistry({
    idle: true,
    verifierPatience: PATIENCE,
    chain: () => {
      if (made.port === undefined) throw new Error("the chain is made before it is asked");
      return made.port;
    },
  });
  const { store, jobs, log } = test;
  const find = (subject: Subject, id: string): NetworkRecord => {
    if (id !== networkId || subject.id !== owner.id) throw notFound("network");
    return networkRecord(networkId, anvil);
  };
  const requireTenant = (_principal: unknown, { kind }: { kind: string }): never => {
    throw notFound(kind);
  };
  const common = { store, clock: systemClock, log, requireTenant };
  const transactions = createTransactions(
    { pollMs: 30 },
    {
      ...common,
      vault: test.vault.vault,
      networks: {
        find: (subject, id) => ({ id: find(subject, id).id, chainId: anvil.chainId, rpc, confirmations: 1 }),
      },
    },
  );
  const references = new References();
  references.provide("network", find);
  const contracts = createContracts(
    { limits: { ...SOLIDITY_PROCESS_LIMITS, niceness: 0 } },
    {
      ...{ ...common, jobs, references, tasks: new ProcessTasks(), turnOf: formatSubject },
      submissions: transactions.service,
      networks: { find, rpc: () => rpc },
    },
  );
  made.port = contracts.port({
    confirmationsOf: (subject, id) => {
      find(subject, id);
      return 1;
    },
    requireOwnSigner: (subject, { account_id: id, wallet_id: walletId }) => {
      if (id !== undefined) transactions.accounts.find(subject, id);
      if (walletId !== undefined) transactions.wallets.find(subject, walletId);
    },
  });
  await jobs.start();
  transactions.start();
  const bound = bindRoutes(verifierRoutes, test.registry.handlers);
  const call: ChainedRegistry["call"] = async (id, { params = {}, body, subject = owner, waitSec = 0 }) => {
    const handler = bound.find(({ route }) => route.id === id)?.handler;
    if (handler === undefined) throw new Error(`there is no route ${id}`);
    const principal = principalOf(subject);
    const request = { principal, params, body, query: { page: 1, rpp: 25 }, preferWaitSec: waitSec, signal: never };
    return (await handler(request as never)).body;
  };
  return {
    ...test,
    ...{ anvil, rpc, owner, networkId, transactions, contracts, call },
    account: async ({ isPoor } = { isPoor: false }) => {
      const { id, address } = await transactions.accounts.create(owner, { network_id: networkId });
      if (!isPoor) await anvil.request("anvil_setBalance", address, TEN_ETHER);
      return { id, address };
    },
    deploy: async (proverId, request) =>
      (await call("createVerifier", {
        params: { id: proverId },
        body: { network_id: networkId, ...request },
        waitSec: WAIT_SEC,
      })) as Verifier,
    close: async (closing) => {
      await jobs.stop();
      await contracts.stop();
      await transactions.stop();
      await test.close(closing);
      await anvil.stop();
    },
  };
}

function networkRecord(id: string, { chainId }: Anvil): NetworkRecord {
  return {
    ...{ id, created_at: "2026-01-01T00:00:00.000Z", owner: null, name: "anvil", description: null },
    ...{ is_production: false, cloneable: false, enabled: true, layer2: false, layer3: false },
    ...{ chain_id: String(chainId), sidechain_id: null, network_id: null, config: {} },
  };
}
