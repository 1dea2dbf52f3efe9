/**
 * Contracts behind the real HTTP front, with a real store, vault, job queue, transactions and node. A token is the id
 * of its subject.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createContracts, type Contracts } from "../../../src/chain/contracts/create-contracts.js";
import { contractRoutes } from "../../../src/chain/contracts/contract-routes.js";
import { createTransactions, type Transactions } from "../../../src/chain/transactions/create-transactions.js";
import type { NetworkRecord } from "../../../src/chain/networks/network-port.js";
import { PERMISSIONS, permissionBits, type PermissionName } from "../../../src/platform/auth/permissions.js";
import { formatSubject, type Principal, type Subject, type SubjectKind } from "../../../src/platform/auth/principal.js";
import type { RequireTenant } from "../../../src/platform/auth/said-owner.js";
import { systemClock } from "../../../src/platform/clock.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { AppError, notFound } from "../../../src/platform/errors.js";
import { References } from "../../../src/platform/references.js";
import { createServer } from "../../../src/platform/http/server.js";
import { testDriver } from "../../support/http-driver.js";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { SOLIDITY_PROCESS_LIMITS } from "../../../src/chain/contracts/builds/solidity-task.js";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { recordedLog } from "../../support/silent-log.js";
import { openTestVault } from "../../vault/support.js";
import { SpoiledRpc } from "../transactions/support.js";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}
/** JSON of an answer of any kind; the tests assert what they expect. */
export interface Json {
  readonly id: string;
  readonly ref: string;
  readonly address: string;
  readonly status: string;
  readonly type: string | null;
  readonly pubsub_prefix: string;
  readonly transaction_id: string | null;
  readonly accessed_at: string | null;
  readonly params?: { readonly bytecode?: string };
  readonly response: unknown;
  readonly error: unknown;
  readonly message: string;
  readonly errors: readonly { readonly code: string; readonly message: string; readonly path?: string }[];
}

export interface ContractsServer {
  readonly anvil: Anvil;
  readonly rpc: SpoiledRpc;
  readonly networkId: string;
  readonly owner: Subject;
  /** A funded account of the owner. */
  readonly account: { readonly id: string; readonly address: string };
  readonly contracts: Contracts;
  readonly transactions: Transactions;
  token(options?: { readonly kind?: SubjectKind; readonly without?: PermissionName }): string;
  subjectOf(token: string): Subject;
  call(method: string, path: string, body?: unknown, token?: string): Promise<Answer>;
  /** Waits until the contract satisfies a claim. */
  until(id: string, claim: (contract: Json) => boolean): Promise<Json>;
  /** Sends a write, waits until it is mined, and returns the transaction. */
  write(id: string, body: object): Promise<Json>;
  close(): Promise<void>;
}

const TEN_ETHER = "0x8ac7230489e80000";
const DEADLINE_MS = 50_000;

export async function startContractsServer(): Promise<ContractsServer> {
  const anvil = await startAnvil();
  const rpc = new SpoiledRpc(anvil.url);
  const vault = await openTestVault();
  const log = recordedLog();
  const networkId = randomUUID();
  const { store } = vault;
  const jobs = new Jobs({ retryDelayMs: 20, settleDelayMs: 20 }, { store, clock: systemClock, log });
  const record = (id: string): NetworkRecord => {
    if (id !== networkId) throw new AppError("not_found", { message: "network not found" });
    return {
      id,
      created_at: "2026-01-01T00:00:00.000Z",
      owner: null,
      name: "anvil",
      description: null,
      is_production: false,
      cloneable: false,
      enabled: true,
      layer2: false,
      layer3: false,
      chain_id: String(anvil.chainId),
      sidechain_id: null,
      network_id: null,
      config: {},
    };
  };
  const requireTenant: RequireTenant = (_principal, { kind }) => {
    throw notFound(kind);
  };
  const transactions = createTransactions(
    { pollMs: 30 },
    {
      store,
      vault: vault.vault,
      clock: systemClock,
      log,
      requireTenant,
      networks: { find: (_subject, id) => ({ id: record(id).id, chainId: anvil.chainId, rpc, confirmations: 1 }) },
    },
  );
  const references = new References();
  references.provide("network", (_subject, id) => record(id));
  const contracts = createContracts(
    { limits: { ...SOLIDITY_PROCESS_LIMITS, niceness: 0 } },
    {
      store,
      jobs,
      tasks: new ProcessTasks(),
      clock: systemClock,
      log,
      submissions: transactions.service,
      networks: { find: (_subject, id) => record(id), rpc: () => rpc },
      references,
      requireTenant,
      turnOf: formatSubject,
    },
  );
  transactions.start();
  await jobs.start();

  const principals = new Map<string, Principal>();
  const token: ContractsServer["token"] = ({ kind = "user", without } = {}) => {
    const id = randomUUID();
    const names = (Object.keys(PERMISSIONS) as PermissionName[]).filter((name) => name !== without);
    principals.set(id, {
      subject: { kind, id },
      permissions: permissionBits(names),
      tokenId: id,
      sessionId: id,
      expiresAtSec: 2 ** 40,
    });
    return id;
  };
  const principalOf = (bearer: string): Principal => {
    const principal = principals.get(bearer);
    if (principal === undefined) throw new Error("tests use known tokens");
    return principal;
  };
  const server = createServer(
    { host: "127.0.0.1", port: 0, limits: { rateLimits: false } },
    {
      driver: testDriver,
      routes: bindRoutes(contractRoutes, contracts.handlers),
      authenticate: principalOf,
      isUnsealed: () => true,
      log,
      clock: systemClock,
    },
  );
  const host = `127.0.0.1:${String((await server.listen()).port)}`;
  const own = token();
  const owner = principalOf(own).subject;
  const { id, address } = await transactions.accounts.create(owner, { network_id: networkId });
  await anvil.request("anvil_setBalance", address, TEN_ETHER);
  const call: ContractsServer["call"] = async (method, path, body, bearer = own) => {
    const answer = await fetch(`http://${host}/api/v1${path}`, {
      method,
      headers: {
        authorization: `bearer ${bearer}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: (text === "" ? {} : JSON.parse(text)) as Json };
  };
  const settled = async <T>(what: () => string, look: () => Promise<T | undefined>): Promise<T> => {
    const endMs = performance.now() + DEADLINE_MS;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (performance.now() > endMs)
        throw new Error(
          `${what()} did not come to its end; ${JSON.stringify(log.lines.filter(({ level }) => level !== "debug"))}`,
        );
      await new Promise((resolve) => {
        setTimeout(resolve, 25);
      });
    }
  };
  return {
    anvil,
    rpc,
    networkId,
    owner,
    account: { id, address },
    contracts,
    transactions,
    token,
    call,
    subjectOf: (bearer) => principalOf(bearer).subject,
    until: (contractId, claim) =>
      settled(
        () => `the contract ${JSON.stringify(contracts.repository.find(owner, contractId)?.value)}`,
        async () => {
          const { body } = await call("GET", `/contracts/${contractId}`);
          return claim(body) ? body : undefined;
        },
      ),
    write: async (contractId, body) => {
      const sent = await call("POST", `/contracts/${contractId}/execute`, body);
      if (sent.status !== 202) throw new Error(JSON.stringify(sent.body));
      return settled(
        () => `the transaction ${JSON.stringify(transactions.service.get(owner, sent.body.ref))}`,
        () => {
          const transaction = transactions.service.get(owner, sent.body.ref);
          return Promise.resolve(
            transaction.block === null && transaction.error === null ? undefined : (transaction as unknown as Json),
          );
        },
      );
    },
    close: async () => {
      await server.stop({ graceMs: 1_000 });
      await contracts.stop();
      await jobs.stop();
      await transactions.stop();
      await vault.close();
      await anvil.stop();
    },
  };
}

const OPENZEPPELIN = dirname(createRequire(import.meta.url).resolve("@openzeppelin/contracts/package.json"));

/** Returns a file and the files of OpenZeppelin that it imports, as a creation takes them. */
export function withImports(path: string, text: string): Record<string, string> {
  const files: Record<string, string> = { [path]: text };
  const open = [path];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    for (const [, target = ""] of (files[file] ?? "").matchAll(/^import\s[^;]*?["']([^"']+)["'];/gm)) {
      const name = target.startsWith(".") ? join(dirname(file), target) : target;
      if (files[name] !== undefined) continue;
      files[name] = readFileSync(join(OPENZEPPELIN, name.replace("@openzeppelin/contracts/", "")), "utf8");
      open.push(name);
    }
  }
  return files;
}
