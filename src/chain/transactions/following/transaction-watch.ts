/**
 * Follows the open transactions of one network, round by round: which nonces the chain has used, the receipts of ours
 * among them, and whether the blocks that were seen are still there. A round is read against one head and thrown away
 * when that head went.
 */
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import { requestMany, resultOf } from "../../rpc/rpc-batch.js";
import { RpcRefusal, type Rpc, type RpcCall, type RpcOptions } from "../../rpc/rpc.js";
import type { QueuedTransaction } from "../sending/queued-transaction.js";
import type { NonceQueue } from "../sending/nonce-queue.js";
import { readBlock, readInteger, readReceipt, type BlockHead, type Receipt } from "../node-values.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import type { Inclusions } from "./inclusions.js";

export interface TransactionWatchOptions {
  /** Pause between two rounds. */
  readonly pollMs: number;
  /** A node may count a nonce before it has the receipt: how long that is not taken for another's transaction. */
  readonly patienceMs: number;
  /** How long a pool is trusted to keep a transaction before it is asked. */
  readonly resendMs: number;
}

export interface TransactionWatchDependencies {
  /** Throws when the network is gone. */
  readonly network: () => TransactionNetwork;
  readonly laneOf: (entry: QueuedTransaction) => NonceQueue | undefined;
  readonly inclusions: Inclusions;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly rpcOptions: RpcOptions;
  readonly isStopped: () => boolean;
  /** Called when the chain was seen to have moved. */
  readonly onHead: () => void;
  /** Called when the network's record is gone for good. */
  readonly onNetworkGone: (entries: readonly QueuedTransaction[], fault: AppError) => Promise<void>;
}

/** Receipts of one round. */
const RECEIPTS_MAX = 512;
/** Longest pause after failures. */
const PAUSE_MAX_MS = 15_000;

export class TransactionWatch {
  readonly #options: TransactionWatchOptions;
  readonly #dependencies: TransactionWatchDependencies;
  readonly #entries = new Map<string, QueuedTransaction>();
  #anchor: BlockHead | undefined;
  #loop: Promise<void> | undefined;
  #wakeUp: (() => void) | undefined;
  #failures = 0;

  constructor(options: TransactionWatchOptions, dependencies: TransactionWatchDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /** Number of the newest block that was seen; undefined before the first round. */
  get head(): number | undefined {
    return this.#anchor?.number;
  }

  add(entry: QueuedTransaction): void {
    this.#entries.set(entry.id, entry);
    this.#follow();
  }

  remove(entry: QueuedTransaction): void {
    this.#entries.delete(entry.id);
  }

  /** Ends the pause. */
  kick(): void {
    this.#wakeUp?.();
  }

  async settled(): Promise<void> {
    this.kick();
    await this.#loop;
  }

  #follow(): void {
    this.#loop ??= this.#run().finally(() => {
      this.#loop = undefined;
      // Added after the last look at the entries and before this.
      if (this.#entries.size > 0 && !this.#dependencies.isStopped()) this.#follow();
    });
  }

  async #run(): Promise<void> {
    while (this.#entries.size > 0 && !this.#dependencies.isStopped()) {
      try {
        const isWhole = await this.#round();
        this.#failures = 0;
        if (!isWhole) continue;
      } catch (error) {
        await this.#failed(error);
      }
      await this.#pause();
    }
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#dependencies.isStopped()) return;
    if (error instanceof AppError && error.code === "not_found") {
      await this.#dependencies.onNetworkGone([...this.#entries.values()], error);
      return;
    }
    this.#failures += 1;
    // The first failure of a series is news.
    if (this.#failures > 1) return;
    const code =
      error instanceof AppError
        ? error.code
        : error instanceof RpcRefusal
          ? "network_answer_invalid"
          : "internal_error";
    const isExpected = error instanceof AppError || error instanceof RpcRefusal;
    this.#dependencies.log.warn("the transactions of a network cannot be followed now", {
      code,
      ...(isExpected ? {} : { error }),
    });
  }

  async #pause(): Promise<void> {
    if (this.#dependencies.isStopped()) return;
    const ms = Math.min(
      this.#options.pollMs * 2 ** Math.min(this.#failures, 6),
      Math.max(this.#options.pollMs, PAUSE_MAX_MS),
    );
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wakeUp = undefined;
  }

  /** False when the chain moved beneath it and nothing can be concluded. */
  async #round(): Promise<boolean> {
    const network = this.#dependencies.network();
    const { rpc } = network;
    const head = readBlock(await this.#ask(rpc, "eth_getBlockByNumber", ["latest", false]));
    if (head === undefined) return true;
    const isSameChain = await this.#isOn(rpc, head);
    const entries = [...this.#entries.values()];
    const counts = await this.#counts(
      rpc,
      entries.filter(({ phase }) => phase === "sent" || phase === "signed"),
    );
    const suspects = entries
      .filter((entry) => {
        if (entry.phase === "included") return !isSameChain;
        const count = counts.get(this.#dependencies.laneOf(entry));
        return entry.nonce !== undefined && count !== undefined && entry.nonce < count;
      })
      .slice(0, RECEIPTS_MAX);
    const found = await this.#receipts(rpc, suspects);
    if (
      suspects.length > 0 &&
      readBlock(await this.#ask(rpc, "eth_getBlockByNumber", [hex(head.number), false]))?.hash !== head.hash
    )
      return false;
    await this.#conclude(network, head, found);
    const isNews = this.#anchor?.hash !== head.hash;
    this.#anchor = head;
    if (isNews) this.#dependencies.onHead();
    await this.#dependencies.inclusions.confirm(
      network,
      head,
      entries.filter(({ phase }) => phase === "included"),
    );
    await this.#reconcile(rpc, entries);
    return suspects.length < RECEIPTS_MAX;
  }

  /** Whether the newest block of the last round is part of the chain that ends in this head. */
  async #isOn(rpc: Rpc, head: BlockHead): Promise<boolean> {
    const anchor = this.#anchor;
    if (anchor === undefined || head.number < anchor.number) return false;
    if (head.number === anchor.number) return head.hash === anchor.hash;
    return readBlock(await this.#ask(rpc, "eth_getBlockByNumber", [hex(anchor.number), false]))?.hash === anchor.hash;
  }

  /** How many nonces the chain has used, of each lane that has something under way. */
  async #counts(rpc: Rpc, entries: readonly QueuedTransaction[]): Promise<ReadonlyMap<NonceQueue | undefined, number>> {
    return await this.#countsOf(rpc, this.#lanesOf(entries), "latest");
  }

  /** The receipt of whichever attempt was mined, the latest first; undefined for those of which none was. */
  async #receipts(
    rpc: Rpc,
    entries: readonly QueuedTransaction[],
  ): Promise<ReadonlyMap<QueuedTransaction, Receipt | undefined>> {
    const found = new Map<QueuedTransaction, Receipt | undefined>(entries.map((entry) => [entry, undefined]));
    let open = entries.map((entry) => ({ entry, hashes: [...entry.hashes].reverse() }));
    while (open.length > 0) {
      const asked = open.flatMap(({ entry, hashes: [hash, ...rest] }) =>
        hash === undefined ? [] : [{ entry, hash, hashes: rest }],
      );
      const answers = await this.#askMany(
        rpc,
        asked.map(({ hash }) => ({ method: "eth_getTransactionReceipt", params: [hash] })),
      );
      open = asked.filter(({ entry, hash }, at) => {
        const receipt = readReceipt(answers[at], hash);
        if (receipt !== undefined) found.set(entry, receipt);
        return receipt === undefined;
      });
    }
    return found;
  }

  #lanesOf(entries: readonly QueuedTransaction[]): NonceQueue[] {
    return [...new Set(entries.map((entry) => this.#dependencies.laneOf(entry)).filter((lane) => lane !== undefined))];
  }

  async #countsOf(
    rpc: Rpc,
    lanes: readonly NonceQueue[],
    block: "latest" | "pending",
  ): Promise<ReadonlyMap<NonceQueue | undefined, number>> {
    const counts = await this.#askMany(
      rpc,
      lanes.map(({ from }) => ({ method: "eth_getTransactionCount", params: [from, block] })),
    );
    return new Map(lanes.map((lane, at) => [lane, readInteger(counts[at], "nonce")]));
  }

  async #conclude(
    network: TransactionNetwork,
    head: BlockHead,
    found: ReadonlyMap<QueuedTransaction, Receipt | undefined>,
  ): Promise<void> {
    const { inclusions, laneOf, nowMs } = this.#dependencies;
    const included: [QueuedTransaction, Receipt][] = [];
    const dropped: QueuedTransaction[] = [];
    for (const [entry, receipt] of found) {
      if (receipt === undefined) {
        if (entry.phase === "included") dropped.push(entry);
        else entry.missingSinceMs ??= nowMs();
        continue;
      }
      entry.missingSinceMs = undefined;
      // Of a block above the head: the next round sees it on firm ground.
      if (receipt.blockNumber <= head.number && entry.block?.hash !== receipt.blockHash)
        included.push([entry, receipt]);
    }
    await inclusions.include(network, head, included);
    await inclusions.drop(dropped);
    for (const entry of dropped) {
      entry.resendDelayMs = this.#options.resendMs;
      entry.sentAtMs = nowMs();
    }
    for (const lane of this.#lanesOf([...found.keys()])) {
      lane.resend(dropped.filter((entry) => laneOf(entry) === lane));
      lane.wake();
    }
    const lost = [...found.keys()].filter(
      ({ missingSinceMs: since, phase }) =>
        since !== undefined && phase !== "included" && nowMs() - since >= this.#options.patienceMs,
    );
    await inclusions.replace(lost);
  }

  async #reconcile(rpc: Rpc, entries: readonly QueuedTransaction[]): Promise<void> {
    const doubtful = this.#lanesOf(entries).filter((lane) => lane.isDoubtful());
    await Promise.all(
      [...(await this.#countsOf(rpc, doubtful, "pending"))].map(async ([lane, pending]) => {
        await lane?.reconcile(pending);
      }),
    );
  }

  async #ask(rpc: Rpc, method: string, params: readonly unknown[]): Promise<unknown> {
    return await rpc.request(method, params, this.#dependencies.rpcOptions);
  }

  /** The results in the order of the calls; throws when one of them failed. */
  async #askMany(rpc: Rpc, calls: readonly RpcCall[]): Promise<unknown[]> {
    return (await requestMany(rpc, calls, this.#dependencies.rpcOptions)).map(resultOf);
  }
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
