/** All lanes and watches: made from the open transactions of the store at start, and as transactions come. */
import type { Clock } from "../../../platform/clock.js";
import { newId } from "../../../platform/ids.js";
import type { Log } from "../../../platform/log.js";
import { entryOf, type QueuedTransaction } from "./queued-transaction.js";
import type { FeePolicy } from "../fees/fees.js";
import { Inclusions } from "../following/inclusions.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import { NonceQueue } from "./nonce-queue.js";
import type { TransactionWriter } from "../transaction-writer.js";
import type { TransactionNetworks } from "../transaction-ports.js";
import type { TransactionRecord } from "../transaction-record.js";
import type { TransactionRepository } from "../transaction-repository.js";
import type { TransactionSigning } from "../transaction-signing.js";
import { TransactionWatch, type TransactionWatchOptions } from "../following/transaction-watch.js";

export interface NonceQueuesDependencies {
  readonly repository: TransactionRepository;
  readonly ledger: TransactionWriter;
  readonly fees: FeePolicy;
  readonly signing: TransactionSigning;
  readonly networks: TransactionNetworks;
  /** Told when the chain of a network was seen to have moved. */
  readonly onHead: (networkId: string) => void;
  readonly clock: Clock;
  readonly log: Log;
}

const TICK_MS = 250;
/** Lanes that are kept although nothing is open in them, for what they know of their account. */
const IDLE_LANES_MAX = 10_000;
const FILLER_GAS = "50000";

export class NonceQueues {
  readonly #options: TransactionWatchOptions;
  readonly #dependencies: NonceQueuesDependencies;
  readonly #context: NonceQueueContext;
  readonly #inclusions: Inclusions;
  readonly #lanes = new Map<string, NonceQueue>();
  readonly #laneOfEntry = new Map<string, NonceQueue>();
  /** The same keys. */
  readonly #entries = new Map<string, QueuedTransaction>();
  readonly #watches = new Map<string, TransactionWatch>();
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TransactionWatchOptions, dependencies: NonceQueuesDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    const { ledger, fees, signing, networks, log, clock } = dependencies;
    this.#context = {
      ledger,
      fees,
      signing,
      networks,
      log,
      patienceMs: options.patienceMs,
      resendMs: options.resendMs,
      rpcOptions: { signal: this.#stop.signal },
      nowMs: () => clock.monotonicMs(),
      isStopped: () => this.#stop.signal.aborted,
      watch: (entry) => {
        this.#watchOf(entry).add(entry);
      },
      unwatch: (entry) => {
        this.#watches.get(entry.networkId)?.remove(entry);
      },
      forget: (entry) => {
        this.#forget(entry);
      },
      fillGap: async (template, nonce) => {
        await this.#fillGap(template, nonce);
      },
    };
    this.#inclusions = new Inclusions({
      ledger,
      laneOf: (entry) => this.#laneOfEntry.get(entry.id),
      onFinal: (entry) => {
        this.#forget(entry);
      },
    });
  }

  /** Takes up what was open when the server ended: the same bytes go out again, in the order of nonces. */
  start(): void {
    const signed = new Map<NonceQueue, QueuedTransaction[]>();
    for (const record of this.#dependencies.repository.open()) {
      const entry = entryOf(record, { isRestored: true, resendMs: this.#options.resendMs });
      const lane = this.#laneFor(record);
      this.#keep(entry, lane);
      if (entry.phase === "waiting") {
        lane.add(entry);
        continue;
      }
      lane.adopt(entry);
      this.#context.watch(entry);
      if (entry.phase === "signed") signed.set(lane, [...(signed.get(lane) ?? []), entry]);
    }
    for (const [lane, entries] of signed) lane.resend(entries);
    this.#timer = setInterval(() => {
      for (const lane of this.#lanes.values()) if (!lane.isEmpty) lane.tick();
    }, TICK_MS);
    this.#timer.unref();
  }

  /** Nothing is begun any more; resolves when what was under way has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort(new Error("the server is stopping"));
    await Promise.all([
      ...[...this.#watches.values()].map(async (watch) => {
        await watch.settled();
      }),
      ...[...this.#lanes.values()].map(async (lane) => {
        await lane.settled();
      }),
    ]);
  }

  /** A stored transaction that waits for its nonce. */
  add(record: TransactionRecord): void {
    const lane = this.#laneFor(record);
    const entry = entryOf(record, { isRestored: false, resendMs: this.#options.resendMs });
    this.#keep(entry, lane);
    lane.add(entry);
  }

  /** A stored transaction that its caller signed. */
  adopt(record: TransactionRecord): { readonly lane: NonceQueue; readonly entry: QueuedTransaction } {
    const lane = this.#laneFor(record);
    const entry = entryOf(record, { isRestored: false, resendMs: this.#options.resendMs });
    this.#keep(entry, lane);
    lane.adopt(entry);
    this.#context.watch(entry);
    return { lane, entry };
  }

  /** The lane of an account, made when there is none. */
  laneFor(record: Pick<TransactionRecord, "chain_id" | "from">): NonceQueue {
    return this.#laneFor(record);
  }

  /** Forgets an open transaction that was ended by its owner. */
  forget(entry: QueuedTransaction): void {
    this.#forget(entry);
  }

  forgetId(id: string): void {
    this.#laneOfEntry.delete(id);
    this.#entries.delete(id);
  }

  /** What is known of an open transaction before the store says so: when a node took it, and why none does. */
  underWay({ id }: TransactionRecord): Pick<QueuedTransaction, "broadcastAt" | "tooCheap"> | undefined {
    return this.#entries.get(id);
  }

  /** The newest block of a network that was seen; undefined when none was. */
  headOf(networkId: string): number | undefined {
    return this.#watches.get(networkId)?.head;
  }

  wake(): void {
    for (const lane of this.#lanes.values()) if (!lane.isEmpty) lane.wake();
  }

  #laneFor({ chain_id: chainId, from }: Pick<TransactionRecord, "chain_id" | "from">): NonceQueue {
    const name = `${String(chainId)} ${from}`;
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    if (this.#lanes.size >= IDLE_LANES_MAX) {
      for (const [other, lane] of this.#lanes) if (lane.isEmpty) this.#lanes.delete(other);
    }
    const lane = new NonceQueue(from, this.#context);
    this.#lanes.set(name, lane);
    return lane;
  }

  #watchOf(entry: QueuedTransaction): TransactionWatch {
    const known = this.#watches.get(entry.networkId);
    if (known !== undefined) return known;
    const { networks, log, onHead } = this.#dependencies;
    const watch = new TransactionWatch(this.#options, {
      network: () => networks.find(entry.owner, entry.networkId),
      laneOf: (other) => this.#laneOfEntry.get(other.id),
      inclusions: this.#inclusions,
      log,
      nowMs: this.#context.nowMs,
      rpcOptions: this.#context.rpcOptions,
      isStopped: this.#context.isStopped,
      onHead: () => {
        onHead(entry.networkId);
      },
      onNetworkGone: async (entries) => {
        for (const other of entries) {
          await this.#dependencies.ledger.fail(other.owner, other.id, {
            code: "network_gone",
            message: "its network was deleted",
          });
          this.#laneOfEntry.get(other.id)?.release(other, { isUsed: true });
          this.#forget(other);
        }
      },
    });
    this.#watches.set(entry.networkId, watch);
    return watch;
  }

  #forget(entry: QueuedTransaction): void {
    this.#watches.get(entry.networkId)?.remove(entry);
    this.forgetId(entry.id);
  }

  #keep(entry: QueuedTransaction, lane: NonceQueue): void {
    this.#laneOfEntry.set(entry.id, lane);
    this.#entries.set(entry.id, entry);
  }

  async #fillGap(template: QueuedTransaction, nonce: number): Promise<void> {
    const { ledger, log } = this.#dependencies;
    const record = ledger.read(template.owner, template.id);
    if (record === undefined || record.signer === null) return;
    log.warn("a nonce of an account is missing below open transactions; an empty one fills it", {
      address: record.from,
    });
    const id = newId();
    const filler: TransactionRecord = {
      ...record,
      id,
      ref: id,
      created_at: ledger.now(),
      to: record.from,
      value: "0",
      data: "0x",
      gas: FILLER_GAS,
      wishes: { nonce },
      description: "fills a gap in the account's nonces",
      contract_id: null,
      state: "created",
      nonce: null,
      attempts: [],
      hash: null,
      broadcast_at: null,
      cancel_requested_at: null,
    };
    await ledger.insert(filler);
    this.add(filler);
  }
}
