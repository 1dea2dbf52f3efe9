/**
 * Follows the open transactions of one network, round by round: which nonces the chain has used, the receipts of our
 * transactions among them, and whether the blocks that were seen are still there. A round is read against one head and
 * thrown away when that head is no longer part of the chain.
 */
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import { requestMany, resultOf } from "../../rpc/rpc-batch.js";
import { RpcRefusal, type Rpc, type RpcCall, type RpcOptions } from "../../rpc/rpc.js";
import { readBlock, readInteger, type BlockHead, type Receipt } from "../node-values.js";
import type { NonceQueue } from "../sending/nonce-queue.js";
import { findReceipt, looksForNonce, missReceipt, type QueuedTransaction } from "../sending/queued-transaction.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import type { Inclusions } from "./inclusions.js";
import type { ReceiptAnswer, ReceiptReader } from "./receipt-reader.js";

export interface TransactionWatchOptions {
  /** Pause between two rounds. */
  readonly pollMs: number;
  /** How long a used nonce without a receipt is not taken for another's transaction: a node may count it early. */
  readonly patienceMs: number;
  /** How long a pool is trusted to keep a transaction before it is asked. */
  readonly resendMs: number;
}

export interface TransactionWatchDependencies {
  /** Throws when the network does not exist any more. */
  readonly network: () => TransactionNetwork;
  readonly queueOf: (queued: QueuedTransaction) => NonceQueue | undefined;
  readonly inclusions: Inclusions;
  readonly receipts: ReceiptReader;
  readonly log: Log;
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly rpcOptions: RpcOptions;
  readonly isStopped: () => boolean;
  /** Called when the chain was seen to have moved. */
  readonly onHead: () => void;
  /** Called when the network's record was deleted. */
  readonly onNetworkGone: (transactions: readonly QueuedTransaction[]) => Promise<void>;
}

/** Transactions whose receipts are asked for in one round; more are left to the next round. */
const RECEIPTS_MAX = 512;
/** Longest pause after failures. */
const PAUSE_MAX_MS = 15_000;

export class TransactionWatch {
  readonly #options: TransactionWatchOptions;
  readonly #dependencies: TransactionWatchDependencies;
  /** By id. */
  readonly #watched = new Map<string, QueuedTransaction>();
  /** Those in blocks of which it is not known whether they are still there, since a reorganisation. */
  readonly #doubtful = new Set<QueuedTransaction>();
  /** The head of the last round. */
  #lastHead: BlockHead | undefined;
  #loop: Promise<void> | undefined;
  #endPause: (() => void) | undefined;
  #failures = 0;

  constructor(options: TransactionWatchOptions, dependencies: TransactionWatchDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /** Number of the newest block that was seen; undefined before the first round. */
  get head(): number | undefined {
    return this.#lastHead?.number;
  }

  /** Follows a signed transaction. */
  add(queued: QueuedTransaction): void {
    this.#watched.set(queued.id, queued);
    this.#follow();
  }

  /** Stops following a transaction. */
  remove(queued: QueuedTransaction): void {
    this.#watched.delete(queued.id);
    this.#doubtful.delete(queued);
  }

  /** Ends the pause, and resolves when the loop has ended; to be called once the server stops. */
  async settled(): Promise<void> {
    this.#endPause?.();
    await this.#loop;
  }

  #follow(): void {
    this.#loop ??= this.#run().finally(() => {
      this.#loop = undefined;
      // Added after the loop has ended and before this.
      if (this.#watched.size > 0 && !this.#dependencies.isStopped()) this.#follow();
    });
  }

  async #run(): Promise<void> {
    while (this.#watched.size > 0 && !this.#dependencies.isStopped()) {
      try {
        const isComplete = await this.#round();
        this.#failures = 0;
        if (!isComplete) continue;
      } catch (error) {
        await this.#fail(error);
      }
      await this.#pause();
    }
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#dependencies.isStopped()) return;
    if (error instanceof AppError && error.code === "not_found") {
      await this.#dependencies.onNetworkGone([...this.#watched.values()]);
      return;
    }
    this.#failures += 1;
    // One line for a series of failures.
    if (this.#failures > 1) return;
    const isExpected = error instanceof AppError || error instanceof RpcRefusal;
    this.#dependencies.log.warn("the transactions of a network cannot be followed now", {
      code: codeOf(error),
      ...(isExpected ? {} : { error }),
    });
  }

  async #pause(): Promise<void> {
    if (this.#dependencies.isStopped()) return;
    const { pollMs } = this.#options;
    const ms = Math.min(pollMs * 2 ** Math.min(this.#failures, 6), Math.max(pollMs, PAUSE_MAX_MS));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endPause = undefined;
  }

  /** Returns false when another round should follow at once: the chain moved meanwhile, or there are more receipts. */
  async #round(): Promise<boolean> {
    const network = this.#dependencies.network();
    const { rpc } = network;
    const head = await this.#block(rpc, "latest");
    if (head === undefined) return true;
    const watched = [...this.#watched.values()];
    const candidates = await this.#withPossibleReceipts(rpc, head, watched);
    const receipts = await this.#receipts(network, candidates);
    if (candidates.length > 0 && (await this.#block(rpc, head.number))?.hash !== head.hash) return false;
    for (const queued of receipts.keys()) this.#doubtful.delete(queued);
    await this.#applyReceipts(network, head, receipts);
    const isNewHead = this.#lastHead?.hash !== head.hash;
    this.#lastHead = head;
    if (isNewHead) this.#dependencies.onHead();
    await this.#dependencies.inclusions.confirm(
      network,
      head,
      watched.filter((queued) => queued.state.phase === "included" && !this.#doubtful.has(queued)),
    );
    await this.#reconcile(rpc, watched);
    return candidates.length < RECEIPTS_MAX;
  }

  /** Those whose nonce the chain has used, and after a reorganisation those that were in a block. */
  async #withPossibleReceipts(
    rpc: Rpc,
    head: BlockHead,
    watched: readonly QueuedTransaction[],
  ): Promise<QueuedTransaction[]> {
    if (!(await this.#extendsLastHead(rpc, head)))
      for (const queued of watched) if (queued.state.phase === "included") this.#doubtful.add(queued);
    const underWay = watched.filter(({ state }) => state.phase === "sent" || state.phase === "signed");
    const counts = await this.#counts(rpc, this.#queuesOf(underWay), "latest");
    return watched
      .filter((queued) => {
        const { state } = queued;
        if (state.phase === "included") return this.#doubtful.has(queued);
        const queue = this.#dependencies.queueOf(queued);
        const count = queue === undefined ? undefined : counts.get(queue);
        return state.nonce !== undefined && count !== undefined && state.nonce < count;
      })
      .slice(0, RECEIPTS_MAX);
  }

  /** Whether the head of the last round is part of the chain that ends in this head. */
  async #extendsLastHead(rpc: Rpc, head: BlockHead): Promise<boolean> {
    const last = this.#lastHead;
    if (last === undefined || head.number < last.number) return false;
    if (head.number === last.number) return head.hash === last.hash;
    return (await this.#block(rpc, last.number))?.hash === last.hash;
  }

  /**
   * The receipt of whichever attempt was mined, the latest attempt asked first; undefined where none was. Transactions
   * of which that is not known now are left out.
   */
  async #receipts(
    network: TransactionNetwork,
    transactions: readonly QueuedTransaction[],
  ): Promise<ReadonlyMap<QueuedTransaction, Receipt | undefined>> {
    const found = new Map<QueuedTransaction, ReceiptAnswer>(transactions.map((queued) => [queued, "none"]));
    let open = transactions.map((queued) => ({ queued, hashes: [...queued.state.hashes].reverse() }));
    while (open.length > 0) {
      const asked = open.flatMap(({ queued, hashes: [hash, ...rest] }) =>
        hash === undefined ? [] : [{ queued, hash, hashes: rest }],
      );
      const answers = await this.#dependencies.receipts.read(
        network,
        asked.map(({ hash }) => hash),
      );
      open = asked.filter(({ queued }, at) => {
        const answer = answers[at] ?? "unknown";
        if (answer !== "none") found.set(queued, answer);
        return typeof answer === "string";
      });
    }
    return new Map(
      [...found].flatMap(([queued, answer]): [QueuedTransaction, Receipt | undefined][] =>
        answer === "unknown" ? [] : [[queued, answer === "none" ? undefined : answer]],
      ),
    );
  }

  async #applyReceipts(
    network: TransactionNetwork,
    head: BlockHead,
    receipts: ReadonlyMap<QueuedTransaction, Receipt | undefined>,
  ): Promise<void> {
    const { inclusions, queueOf, nowMs } = this.#dependencies;
    const included: [QueuedTransaction, Receipt][] = [];
    const dropped: QueuedTransaction[] = [];
    for (const [queued, receipt] of receipts) {
      if (receipt !== undefined) {
        queued.state = findReceipt(queued.state);
        // A receipt of a block above the head is left to the next round, which reads against that block.
        if (receipt.blockNumber <= head.number && !isIn(queued, receipt)) included.push([queued, receipt]);
      } else if (queued.state.phase === "included") dropped.push(queued);
      else queued.state = missReceipt(queued.state, nowMs());
    }
    await inclusions.include(network, head, included);
    await inclusions.drop(dropped, { nowMs: nowMs(), resendMs: this.#options.resendMs });
    for (const queue of this.#queuesOf([...receipts.keys()])) {
      queue.resend(dropped.filter((queued) => queueOf(queued) === queue));
      queue.wake();
    }
    await inclusions.replace([...receipts.keys()].filter(({ state }) => this.#isReplaced(state)));
  }

  #isReplaced(state: QueuedTransaction["state"]): boolean {
    const { receiptMissingSinceMs: sinceMs, phase } = state;
    return (
      sinceMs !== undefined &&
      phase !== "included" &&
      !looksForNonce(state) &&
      this.#dependencies.nowMs() - sinceMs >= this.#options.patienceMs
    );
  }

  async #reconcile(rpc: Rpc, watched: readonly QueuedTransaction[]): Promise<void> {
    const queues = this.#queuesOf(watched).filter((queue) => queue.needsCount());
    await Promise.all(
      [...(await this.#counts(rpc, queues, "pending"))].map(async ([queue, pending]) => {
        await queue.reconcile(pending);
      }),
    );
  }

  #queuesOf(transactions: readonly QueuedTransaction[]): NonceQueue[] {
    const queues = transactions.map((queued) => this.#dependencies.queueOf(queued));
    return [...new Set(queues.filter((queue) => queue !== undefined))];
  }

  /** How many nonces the account of each queue has used. */
  async #counts(
    rpc: Rpc,
    queues: readonly NonceQueue[],
    block: "latest" | "pending",
  ): Promise<ReadonlyMap<NonceQueue, number>> {
    const counts = await this.#requestMany(
      rpc,
      queues.map(({ from }) => ({ method: "eth_getTransactionCount", params: [from, block] })),
    );
    return new Map(queues.map((queue, at) => [queue, readInteger(counts[at], "nonce")]));
  }

  /** Undefined when the node has no such block. */
  async #block(rpc: Rpc, block: number | "latest"): Promise<BlockHead | undefined> {
    const position = block === "latest" ? block : `0x${block.toString(16)}`;
    return readBlock(await rpc.request("eth_getBlockByNumber", [position, false], this.#dependencies.rpcOptions));
  }

  /** The results in the order of the calls; throws when one of them failed. */
  async #requestMany(rpc: Rpc, calls: readonly RpcCall[]): Promise<unknown[]> {
    return (await requestMany(rpc, calls, this.#dependencies.rpcOptions)).map(resultOf);
  }
}

function isIn({ state }: QueuedTransaction, { blockHash }: Receipt): boolean {
  return state.phase === "included" && state.block.hash === blockHash;
}

function codeOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  return error instanceof RpcRefusal ? "network_answer_invalid" : "internal_error";
}
