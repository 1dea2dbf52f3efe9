/**
 * The nonce queues of all accounts and the watches of all networks: made from the open transactions of the store at
 * each start, and as transactions come. Of several nodes on one store, one has them at a time; a node that starts again
 * after others had them keeps nothing of its earlier turn.
 */
import type { Clock } from "../../../platform/clock.js";
import { assert } from "../../../platform/errors.js";
import { newId } from "../../../platform/ids.js";
import type { Log } from "../../../platform/log.js";
import type { StoreKey } from "../../../platform/store/store.js";
import type { FeePolicy } from "../fees/fees.js";
import { EndedWatch } from "../following/ended-watch.js";
import { Inclusions } from "../following/inclusions.js";
import { ReceiptReader } from "../following/receipt-reader.js";
import { TransactionWatch, type TransactionWatchOptions } from "../following/transaction-watch.js";
import type { TransactionNetworks } from "../transaction-ports.js";
import { UNSENT, type TransactionFault, type TransactionRecord } from "../transaction-record.js";
import type { NonceAccount, TransactionRepository } from "../transaction-repository.js";
import type { TransactionSigning } from "../transaction-signing.js";
import type { TransactionWriter } from "../transaction-writer.js";
import { NonceQueue } from "./nonce-queue.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import { queuedTransaction, setAttempts, type QueuedTransaction, type QueueState } from "./queued-transaction.js";

export interface NonceQueuesDependencies {
  readonly repository: TransactionRepository;
  readonly writer: TransactionWriter;
  readonly fees: FeePolicy;
  readonly signing: TransactionSigning;
  readonly networks: TransactionNetworks;
  /** Called when the chain of a network was seen to have moved. */
  readonly onHead: (networkId: string) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is made anew whenever this node begins to send: what is left of an earlier turn stays ended. */
interface Turn {
  readonly context: NonceQueueContext;
  readonly receipts: ReceiptReader;
  readonly ended: EndedWatch;
  readonly stop: AbortController;
  readonly timer: NodeJS.Timeout;
}

const TICK_MS = 250;
/** Queues that are kept although they are empty, for the floor of nonces that they remember. */
const IDLE_QUEUES_MAX = 10_000;
const FILLER_GAS = "50000";

export class NonceQueues {
  readonly #options: TransactionWatchOptions;
  readonly #dependencies: NonceQueuesDependencies;
  readonly #inclusions: Inclusions;
  /**
   * By chain, address and owner: on a network of its own, any owner may submit bytes that another's account signed, and
   * its node may say anything of them.
   */
  readonly #queues = new Map<string, NonceQueue>();
  /** Open transactions and the queues that they are in, by the transaction's id. */
  readonly #open = new Map<string, { readonly queued: QueuedTransaction; readonly queue: NonceQueue }>();
  /** By the network's id. */
  readonly #watches = new Map<string, TransactionWatch>();
  #turn: Turn | undefined;

  constructor(options: TransactionWatchOptions, dependencies: NonceQueuesDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    const { writer } = dependencies;
    this.#inclusions = new Inclusions({
      writer,
      queueOf: (queued) => this.#open.get(queued.id)?.queue,
      onFinal: (queued) => {
        this.forget(queued);
      },
    });
    writer.onEnded(() => {
      this.#turn?.ended.wake();
    });
  }

  /** Takes up what was open when the server ended: the same bytes are sent again, in the order of nonces. */
  start(): void {
    assert(!this.isStarted, "the queues stop before they start again");
    for (const map of [this.#queues, this.#open, this.#watches]) map.clear();
    const turn = this.#newTurn();
    this.#turn = turn;
    const signed = new Map<NonceQueue, QueuedTransaction[]>();
    for (const record of this.#dependencies.repository.open()) {
      const { queued, queue } = this.#restore(record);
      if (queued.state.phase === "signed") signed.set(queue, [...(signed.get(queue) ?? []), queued]);
    }
    for (const [queue, transactions] of signed) queue.resend(transactions);
    turn.ended.wake();
  }

  /** Begins nothing any more; resolves when what was under way has ended. */
  async stop(): Promise<void> {
    const turn = this.#turn;
    if (turn === undefined) return;
    clearInterval(turn.timer);
    turn.stop.abort(new Error("this server sends no transactions any more"));
    await Promise.all([
      turn.ended.stop(),
      ...[...this.#watches.values()].map(async (watch) => {
        await watch.settled();
      }),
      ...[...this.#queues.values()].map(async (queue) => {
        await queue.settled();
      }),
    ]);
  }

  /** Whether this node sends transactions. Before, its queues are empty; afterwards they are what they were. */
  get isStarted(): boolean {
    return this.#turn?.stop.signal.aborted === false;
  }

  /** Takes a stored transaction that waits for its nonce, unless another node does, or it came with the start. */
  add(record: TransactionRecord): void {
    if (!this.isStarted || this.#open.has(record.id)) return;
    const { queued, queue } = this.#queue(record, { isRestored: false });
    queue.add(queued);
  }

  /**
   * Takes up the transactions that other nodes have stored, and drops those that they have deleted. So it does with
   * what this node has stored by commits that were answered as failed, since the database could not say otherwise.
   * @param keys of records that were changed
   */
  takeUp(keys: readonly StoreKey[]): void {
    if (!this.isStarted) return;
    for (const key of keys) {
      const record = this.#dependencies.repository.at(key)?.value;
      if (record === undefined) this.drop(String(key.at(-1)));
      else if (record.state === "created") this.add(record);
      else if (record.state === "signed") this.#takeUpSigned(record);
      this.#noteAttempts(record);
    }
  }

  /** Drops a transaction whose record was deleted. What nodes have taken cannot be taken back. */
  drop(id: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    const { queued, queue } = open;
    if (!queue.withdraw(id)) queue.release(queued, { isUsed: true });
    this.forget(queued);
  }

  /** Takes a stored transaction that its caller signed. */
  adopt(record: TransactionRecord): { readonly queue: NonceQueue; readonly queued: QueuedTransaction } {
    const present = this.#open.get(record.id);
    if (present !== undefined) return present;
    const { queued, queue } = this.#queue(record, { isRestored: false });
    queue.adopt(queued);
    this.#watchOf(queued).add(queued);
    return { queue, queued };
  }

  /** Returns the queue of an account, made when there is none. */
  queueFor({ chain_id: chainId, from, owner_kind: kind, owner_id: owner }: NonceAccount): NonceQueue {
    const name = `${String(chainId)} ${from} ${kind} ${owner}`;
    const present = this.#queues.get(name);
    if (present !== undefined) return present;
    if (this.#queues.size >= IDLE_QUEUES_MAX) {
      for (const [other, queue] of this.#queues) if (queue.isEmpty) this.#queues.delete(other);
    }
    const queue = new NonceQueue(from, this.#requireTurn().context);
    this.#queues.set(name, queue);
    return queue;
  }

  /** Drops a transaction that has ended. */
  forget(queued: QueuedTransaction): void {
    this.forgetId(queued.id);
  }

  /** Drops a transaction that holds no nonce. */
  forgetId(id: string): void {
    const queued = this.#open.get(id)?.queued;
    if (queued !== undefined) this.#watches.get(queued.networkId)?.remove(queued);
    this.#open.delete(id);
  }

  /** Returns what the store does not say of an open transaction: when a node took it, and why none takes it now. */
  progressOf({ id }: TransactionRecord): Pick<QueueState, "broadcastAt" | "sendFault"> | undefined {
    return this.#open.get(id)?.queued.state;
  }

  /** Transactions whose end is not known yet; none where another node sends. */
  get openCount(): number {
    return this.isStarted ? this.#open.size : 0;
  }

  /** Returns the number of the newest block of a network that was seen; undefined when none was. */
  headOf(networkId: string): number | undefined {
    return this.#watches.get(networkId)?.head;
  }

  /** Returns the ids of the networks whose chains are watched, each with the number of its newest block. */
  heads(): (readonly [networkId: string, head: number])[] {
    return [...this.#watches].flatMap(([id, { head }]) => (head === undefined ? [] : [[id, head] as const]));
  }

  /** Returns the ids of the open transactions that cannot be signed or sent at present, each with the reason. */
  sendFaults(): (readonly [id: string, fault: TransactionFault])[] {
    return [...this.#open].flatMap(([id, { queued }]) =>
      queued.state.sendFault === undefined ? [] : [[id, queued.state.sendFault] as const],
    );
  }

  /** Goes on with what waits in all queues. */
  wake(): void {
    for (const queue of this.#queues.values()) if (!queue.isEmpty) queue.wake();
  }

  #queue(
    record: TransactionRecord,
    { isRestored }: { readonly isRestored: boolean },
  ): { readonly queued: QueuedTransaction; readonly queue: NonceQueue } {
    const queued = queuedTransaction(record, { isRestored, resendMs: this.#options.resendMs });
    const open = { queued, queue: this.queueFor(record) };
    this.#open.set(queued.id, open);
    return open;
  }

  /** Puts a stored transaction into its queue as after a restart; a signed one is still to be sent. */
  #restore(record: TransactionRecord): { readonly queued: QueuedTransaction; readonly queue: NonceQueue } {
    const { queued, queue } = this.#queue(record, { isRestored: true });
    if (queued.state.phase === "waiting") queue.add(queued);
    else {
      // The nonce of one that ended and that a block had later may be another's by now.
      if (!isReopened(record)) queue.adopt(queued);
      this.#watchOf(queued).add(queued);
    }
    return { queued, queue };
  }

  #takeUpHolder({ owner, id }: QueuedTransaction, nonce: number): boolean {
    const { repository, writer, log } = this.#dependencies;
    const account = writer.find(owner, id)?.value;
    const holder = account === undefined ? undefined : repository.holderOfNonce(account, nonce);
    if (holder === undefined || this.#open.has(holder.id)) return false;
    log.warn("a stored transaction that no queue had has the next nonce of its account; it goes on", {
      address: holder.from,
    });
    this.#takeUpSigned(holder);
    return true;
  }

  #takeUpSigned(record: TransactionRecord): void {
    if (this.#open.has(record.id) || !record.watched) return;
    const { queued, queue } = this.#restore(record);
    queue.resend([queued]);
  }

  /** Makes sure that all signatures of an open transaction are looked for in blocks. */
  #noteAttempts(record: TransactionRecord | undefined): void {
    const queued = record === undefined ? undefined : this.#open.get(record.id)?.queued;
    if (record === undefined || queued === undefined || queued.state.phase === "waiting") return;
    if (record.attempts.length > queued.state.hashes.length)
      queued.state = setAttempts(
        queued.state,
        record.attempts.map(({ hash }) => hash),
      );
  }

  /** Follows a transaction that ended, as far as was known, and that a block has; it holds no nonce any more. */
  #follow(record: TransactionRecord): void {
    const { queued } = this.#queue(record, { isRestored: true });
    this.#watchOf(queued).add(queued);
  }

  #requireTurn(): Turn {
    assert(this.#turn !== undefined, "only a node that sends, or did, has queues");
    return this.#turn;
  }

  #newTurn(): Turn {
    const { log } = this.#dependencies;
    const stop = new AbortController();
    const context = this.#newContext(stop.signal);
    const receipts = new ReceiptReader({
      nowMs: context.nowMs,
      rpcOptions: context.rpcOptions,
      onUnreadable: (hash, code) => {
        log.warn("the receipt of a transaction cannot be read now", { path: hash, code });
      },
    });
    const timer = setInterval(() => {
      for (const queue of this.#queues.values()) if (!queue.isEmpty) queue.tick();
    }, TICK_MS).unref();
    return { context, receipts, ended: this.#endedWatch(context, receipts), stop, timer };
  }

  #newContext(signal: AbortSignal): NonceQueueContext {
    const { writer, fees, signing, networks, log, clock } = this.#dependencies;
    const { patienceMs, resendMs } = this.#options;
    return {
      ...{ writer, fees, signing, networks, log, patienceMs, resendMs },
      rpcOptions: { signal },
      nowMs: () => clock.monotonicMs(),
      isStopped: () => signal.aborted,
      watch: (queued) => {
        this.#watchOf(queued).add(queued);
      },
      unwatch: (queued) => {
        this.#watches.get(queued.networkId)?.remove(queued);
      },
      forget: (queued) => {
        this.forget(queued);
      },
      takeUpHolder: (account, nonce) => this.#takeUpHolder(account, nonce),
      takeUpSigned: ({ owner, id }) => {
        const record = writer.find(owner, id)?.value;
        if (record?.state === "signed") this.#takeUpSigned(record);
      },
      fillGap: async (template, nonce) => {
        await this.#fillGap(template, nonce);
      },
    };
  }

  #endedWatch({ rpcOptions, isStopped }: NonceQueueContext, receipts: ReceiptReader): EndedWatch {
    const { repository, writer, networks, log, clock } = this.#dependencies;
    return new EndedWatch(
      { pauseMs: this.#options.patienceMs },
      {
        ...{ repository, writer, networks, receipts, rpcOptions, clock, isStopped },
        onFound: (record) => {
          log.warn("a transaction that was refused is in a block all the same; its record follows", {
            path: record.id,
          });
          this.#follow(record);
        },
        onFailure: (error) => {
          log.warn("ended transactions cannot be looked for now", { error });
        },
      },
    );
  }

  #watchOf({ owner, networkId }: QueuedTransaction): TransactionWatch {
    const present = this.#watches.get(networkId);
    if (present !== undefined) return present;
    const { networks, log, onHead } = this.#dependencies;
    const { context, receipts } = this.#requireTurn();
    const { nowMs, rpcOptions, isStopped } = context;
    const watch = new TransactionWatch(this.#options, {
      ...{ receipts, log, nowMs, rpcOptions, isStopped },
      network: () => networks.find(owner, networkId),
      queueOf: ({ id }) => this.#open.get(id)?.queue,
      inclusions: this.#inclusions,
      onHead: () => {
        onHead(networkId);
      },
      onNetworkGone: async (transactions) => {
        await this.#failAll(transactions);
      },
    });
    this.#watches.set(networkId, watch);
    return watch;
  }

  async #failAll(transactions: readonly QueuedTransaction[]): Promise<void> {
    for (const queued of transactions) {
      await this.#dependencies.writer.fail(queued.owner, queued.id, {
        code: "network_gone",
        message: "its network was deleted",
      });
      this.#open.get(queued.id)?.queue.release(queued, { isUsed: true });
      this.forget(queued);
    }
  }

  async #fillGap(template: QueuedTransaction, nonce: number): Promise<void> {
    const { writer, log } = this.#dependencies;
    const record = writer.find(template.owner, template.id)?.value;
    if (record === undefined || record.signer === null) return;
    log.warn("a nonce of an account is missing below open transactions; an empty one fills it", {
      address: record.from,
    });
    const id = newId();
    const filler: TransactionRecord = {
      ...record,
      ...UNSENT,
      id,
      ref: id,
      created_at: writer.now(),
      to: record.from,
      value: "0",
      data: "0x",
      gas: FILLER_GAS,
      wishes: { nonce },
      description: "fills a gap in the account's nonces",
      contract_id: null,
    };
    await writer.insert(filler);
    this.add(filler);
  }
}

/** True for a transaction that ended and that a block had later: its nonce may be another's by now. */
function isReopened({ state, block }: TransactionRecord): boolean {
  return block === null && (state === "failed" || state === "replaced" || state === "cancelled");
}
