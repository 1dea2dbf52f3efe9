/**
 * Asks for the receipts of many transactions, each for itself: one that is too long or makes no sense stops none of the
 * others. Of a receipt that is too long to be kept its members are read, and its logs are counted. What is remembered
 * here only saves requests; it is found again after a restart.
 */
import { LRUCache } from "lru-cache";
import { AppError } from "../../../platform/errors.js";
import { isTooLong } from "../../rpc/endpoint.js";
import { requestMany } from "../../rpc/rpc-batch.js";
import { RpcRefusal, type RpcOptions, type RpcOutcome } from "../../rpc/rpc.js";
import { readReceipt, type Receipt } from "../node-values.js";
import type { TransactionNetwork } from "../transaction-ports.js";

/** A receipt; "none" where the node has none; "unknown" where it could not be read now. */
export type ReceiptAnswer = Receipt | "none" | "unknown";

export interface ReceiptReaderDependencies {
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly rpcOptions: RpcOptions;
  /** Called once for each transaction whose receipt cannot be read, with its hash and the error's code. */
  readonly onUnreadable: (hash: string, code: string) => void;
}

type AskedNetwork = Pick<TransactionNetwork, "id" | "rpc">;

const METHOD = "eth_getTransactionReceipt";
/** Pauses before a receipt that could not be read is asked for again. */
const PAUSE_MS = 15_000;
const PAUSE_MAX_MS = 300_000;
const REMEMBERED_MAX = 10_000;

export class ReceiptReader {
  readonly #dependencies: ReceiptReaderDependencies;
  /** Transactions whose receipts are too long to be kept; by network and hash, because nodes need not agree. */
  readonly #long = new LRUCache<string, true>({ max: REMEMBERED_MAX });
  readonly #paused = new LRUCache<string, { readonly untilMs: number; readonly pauseMs: number }>({
    max: REMEMBERED_MAX,
  });

  constructor(dependencies: ReceiptReaderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns what the network's node has of each transaction, in their order. Reads one long receipt a call, so that the
   * others do not wait for many; the rest are unknown until a later call.
   * @param hashes lower case
   * @throws what the first call failed with, where the node answered none of them
   */
  async read(network: AskedNetwork, hashes: readonly string[]): Promise<ReceiptAnswer[]> {
    const answers = new Map<string, ReceiptAnswer>();
    const due = hashes.filter((hash) => this.#isDue(nameOf(network, hash)));
    const asked = due.filter((hash) => !this.#long.has(nameOf(network, hash)));
    const outcomes = await requestMany(
      network.rpc,
      asked.map((hash) => ({ method: METHOD, params: [hash] })),
      this.#dependencies.rpcOptions,
    );
    const failures = outcomes.filter(isFailureOfNode);
    if (failures.length > 0 && failures.length === asked.length) throw failures[0]?.error;
    for (const [at, hash] of asked.entries()) answers.set(hash, this.#answerOf(network, hash, outcomes[at]));
    const long = due.find((hash) => this.#long.has(nameOf(network, hash)));
    if (long !== undefined) answers.set(long, await this.#readLong(network, long));
    return hashes.map((hash) => answers.get(hash) ?? "unknown");
  }

  #isDue(name: string): boolean {
    const paused = this.#paused.get(name);
    return paused === undefined || this.#dependencies.nowMs() >= paused.untilMs;
  }

  #answerOf(network: AskedNetwork, hash: string, outcome: RpcOutcome | undefined): ReceiptAnswer {
    if (outcome === undefined) return "unknown";
    if (outcome.ok) return this.#read(network, hash, outcome.result);
    if (isTooLong(outcome.error)) this.#long.set(nameOf(network, hash), true);
    return "unknown";
  }

  async #readLong(network: AskedNetwork, hash: string): Promise<ReceiptAnswer> {
    const { rpcOptions } = this.#dependencies;
    try {
      return this.#read(network, hash, await network.rpc.request(METHOD, [hash], { ...rpcOptions, isOutline: true }));
    } catch (error) {
      rpcOptions.signal?.throwIfAborted();
      this.#pause(network, hash, error);
      return "unknown";
    }
  }

  #read(network: AskedNetwork, hash: string, result: unknown): ReceiptAnswer {
    try {
      const answer = readReceipt(result, hash) ?? "none";
      this.#paused.delete(nameOf(network, hash));
      return answer;
    } catch (error) {
      this.#pause(network, hash, error);
      return "unknown";
    }
  }

  /** Throws what is no failure of a node. */
  #pause(network: AskedNetwork, hash: string, error: unknown): void {
    if (!(error instanceof AppError || error instanceof RpcRefusal)) throw error;
    const name = nameOf(network, hash);
    const before = this.#paused.get(name);
    const pauseMs = before === undefined ? PAUSE_MS : Math.min(PAUSE_MAX_MS, 2 * before.pauseMs);
    this.#paused.set(name, { untilMs: this.#dependencies.nowMs() + pauseMs, pauseMs });
    const code = error instanceof AppError ? error.code : "network_answer_invalid";
    if (before === undefined) this.#dependencies.onUnreadable(hash, code);
  }
}

function nameOf({ id }: AskedNetwork, hash: string): string {
  return `${id} ${hash}`;
}

/** True for a failure that is not that of one receipt. */
function isFailureOfNode(outcome: RpcOutcome): outcome is Extract<RpcOutcome, { ok: false }> {
  return !outcome.ok && !isTooLong(outcome.error);
}
