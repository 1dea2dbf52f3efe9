/** Transactions over a real store, a real vault and a real node, with a network whose answers a test can spoil. */
import { randomUUID } from "node:crypto";
import {
  createTransactions,
  type Transactions,
  type TransactionsDependencies,
} from "../../../src/chain/transactions/create-transactions.js";
import { RpcRefusal, type Rpc } from "../../../src/chain/rpc/rpc.js";
import type { TransactionNetwork, TransactionNetworks } from "../../../src/chain/transactions/transaction-ports.js";
import type { TransactionJson } from "../../../src/chain/transactions/transaction-schemas.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import { AppError, notFound, type ErrorCode } from "../../../src/platform/errors.js";
import { ANVIL_ACCOUNTS, startAnvil, type Anvil } from "../../support/anvil.js";
import { recordedLog, type RecordedLog } from "../../support/silent-log.js";
import { openTestVault, type TestVault } from "../../vault/support.js";

/**
 * What happens to a call on its way: nothing, or it is lost before or after the node has it, or answered by the test,
 * without the node or after the node has it.
 */
export type Fault =
  | "lost"
  | "answer lost"
  | { readonly answer: unknown }
  | { readonly refusal: RpcRefusal }
  | { readonly refusalOfTaken: RpcRefusal }
  | undefined;

export class SpoiledRpc implements Rpc {
  readonly url: string;
  spoil: (method: string, params: readonly unknown[]) => Fault = () => undefined;
  /** Every call that reached the node, in order. */
  readonly calls: { readonly method: string; readonly params: readonly unknown[] }[] = [];

  constructor(url: string) {
    this.url = url;
  }

  async request(method: string, params: readonly unknown[]): Promise<unknown> {
    const fault = this.spoil(method, params);
    if (fault === "lost") throw unreachable();
    if (typeof fault === "object" && "answer" in fault) return fault.answer;
    if (typeof fault === "object" && "refusal" in fault) throw fault.refusal;
    this.calls.push({ method, params });
    const response = await fetch(this.url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    }).catch(() => {
      throw unreachable();
    });
    const body = (await response.json()) as {
      result?: unknown;
      error?: { code: number; message: string; data?: string };
    };
    if (fault === "answer lost") throw unreachable();
    if (typeof fault === "object") throw fault.refusalOfTaken;
    if (body.error !== undefined) throw new RpcRefusal(body.error.message, body.error.code, body.error.data);
    return body.result;
  }

  sent(): number {
    return this.calls.filter(({ method }) => method === "eth_sendRawTransaction").length;
  }
}

function unreachable(): AppError {
  return new AppError("network_unreachable", { message: "the node does not answer" });
}

export interface Bench {
  readonly anvil: Anvil;
  readonly rpc: SpoiledRpc;
  readonly vault: TestVault;
  readonly owner: Subject;
  readonly log: RecordedLog;
  readonly networkId: string;
  readonly networks: TransactionNetworks;
  /** The present instance; `restart` makes another on the same store. */
  transactions: Transactions;
  network: Partial<TransactionNetwork>;
  restart(patienceMs?: number): Promise<void>;
  /** A funded account of the owner. */
  account(): Promise<{ id: string; address: string }>;
  /** Waits until the transaction satisfies a claim. */
  until(id: string, claim: (transaction: TransactionJson) => boolean): Promise<TransactionJson>;
  close(): Promise<void>;
}

export const RECEIVER = ANVIL_ACCOUNTS[1];
const TEN_ETHER = "0x8ac7230489e80000";
/** Long enough for a machine that does ten other things; a wait ends as soon as its claim holds. */
const DEADLINE_MS = 60_000;

const PATIENCE_MS = 400;

export async function openBench(
  options: { readonly confirmations?: number; readonly dependencies?: Partial<TransactionsDependencies> } = {},
): Promise<Bench> {
  const anvil = await startAnvil();
  const rpc = new SpoiledRpc(anvil.url);
  const vault = await openTestVault();
  const owner: Subject = { kind: "user", id: randomUUID() };
  const networkId = randomUUID();
  const log = recordedLog();
  const networks: TransactionNetworks = {
    find: (subject, id) => {
      if (id !== networkId || subject.id !== owner.id)
        throw new AppError("not_found", { message: "network not found" });
      return { id, chainId: anvil.chainId, rpc, confirmations: options.confirmations ?? 1, ...bench.network };
    },
  };
  const make = (patienceMs = PATIENCE_MS): Transactions => {
    const made = createTransactions(
      { pollMs: 40, patienceMs, resendMs: 400 },
      {
        store: vault.store,
        vault: vault.vault,
        clock: systemClock,
        log,
        networks,
        requireTenant: (_principal, { kind }) => {
          throw notFound(kind);
        },
        ...options.dependencies,
      },
    );
    made.start();
    return made;
  };
  const bench: Bench = {
    anvil,
    rpc,
    vault,
    owner,
    log,
    networkId,
    networks,
    network: {},
    transactions: undefined as unknown as Transactions,
    restart: async (patienceMs) => {
      await bench.transactions.stop();
      bench.transactions = make(patienceMs);
    },
    account: async () => {
      const { id, address } = await bench.transactions.accounts.create(owner, { network_id: networkId });
      await anvil.request("anvil_setBalance", address, TEN_ETHER);
      return { id, address };
    },
    until: async (id, claim) => {
      const endMs = performance.now() + DEADLINE_MS;
      for (;;) {
        const transaction = bench.transactions.service.get(owner, id);
        if (claim(transaction)) return transaction;
        if (performance.now() > endMs)
          throw new Error(`the transaction stayed ${JSON.stringify(transaction)}; ${JSON.stringify(log.lines)}`);
        await new Promise((resolve) => {
          setTimeout(resolve, 20);
        });
      }
    },
    close: async () => {
      await bench.transactions.stop();
      await vault.close();
      await anvil.stop("SIGKILL");
    },
  };
  bench.transactions = make();
  return bench;
}

/** The nonces that the chain has seen of an address, from all its blocks, in order. */
export async function minedNonces(anvil: Anvil, address: string): Promise<{ nonce: number; hash: string }[]> {
  const head = Number(await anvil.request("eth_blockNumber"));
  const found: { nonce: number; hash: string }[] = [];
  for (let from = 0; from <= head; from += 50) {
    const numbers = Array.from({ length: Math.min(50, head - from + 1) }, (_, at) => from + at);
    const blocks = await Promise.all(
      numbers.map(
        async (number) =>
          (await anvil.request("eth_getBlockByNumber", `0x${number.toString(16)}`, true)) as {
            transactions: { from: string; nonce: string; hash: string }[];
          },
      ),
    );
    for (const block of blocks) {
      for (const { from: sender, nonce, hash } of block.transactions)
        if (sender.toLowerCase() === address.toLowerCase()) found.push({ nonce: Number(nonce), hash });
    }
  }
  return found;
}

export async function failsWith(work: Promise<unknown>): Promise<{ code: ErrorCode; message: string }> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("nothing failed");
}
