/**
 * The only writer of transaction records: every change reads, decides and commits with a check, and what listeners and
 * the event log have to say about an ending goes into the same commit.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Events } from "../../platform/events/events.js";
import { StoreConflict, type StoreCommit, type StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import type { Settlement } from "./submission-port.js";
import { ownerOf, statusOf, withoutRaw, type TransactionFault, type TransactionRecord } from "./transaction-record.js";
import type { TransactionRepository } from "./transaction-repository.js";

/** Returns what must be written in the commit that records the settlement. */
export type SettlementListener = (settlement: Settlement) => StoreCommit | Promise<StoreCommit>;
/** Returns the record as it should be, or undefined to leave it. */
export type Decision = (record: TransactionRecord) => TransactionRecord | undefined;

/** Another stored transaction of the account has the nonce that a first signature is for. */
export class NonceTaken extends Error {
  override readonly name = "NonceTaken";
}

export interface EndOptions {
  readonly state?: "failed" | "replaced" | "cancelled";
  readonly isInvalid?: boolean;
}

export interface WriterOptions {
  /**
   * Ended transactions of one owner that are looked for; the oldest are dropped. A node that refuses everything would
   * otherwise fill the store with what is looked for on behalf of all. 1,000 unless said otherwise.
   */
  readonly unsettledMax?: number;
}

const UNSETTLED_MAX = 1_000;

export interface TransactionWriterDependencies {
  readonly repository: TransactionRepository;
  readonly events?: Events;
  readonly clock: Clock;
}

export class TransactionWriter {
  readonly #dependencies: TransactionWriterDependencies;
  readonly #unsettledMax: number;
  readonly #listeners: SettlementListener[] = [];
  readonly #endListeners: (() => void)[] = [];

  constructor(dependencies: TransactionWriterDependencies, { unsettledMax = UNSETTLED_MAX }: WriterOptions = {}) {
    this.#dependencies = dependencies;
    this.#unsettledMax = unsettledMax;
  }

  /** Adds a listener; to be called before any transaction changes. */
  onSettled(listener: SettlementListener): void {
    this.#listeners.push(listener);
  }

  /**
   * Adds a listener for transactions that ended without a block and may be in one all the same; to be called before any
   * transaction changes.
   */
  onEnded(listener: () => void): void {
    this.#endListeners.push(listener);
  }

  /** Returns the present time in ISO 8601. */
  now(): string {
    return isoTimestamp(this.#dependencies.clock.nowMs());
  }

  /** Returns a record of the owner; undefined when there is none. */
  find(owner: Subject, id: string): StoreRecord<TransactionRecord> | undefined {
    return this.#dependencies.repository.find(owner, id);
  }

  /** Stores a new record and whatever else belongs into its commit. Resolves once it is durable. */
  async insert(record: TransactionRecord, ...alongside: readonly StoreCommit[]): Promise<void> {
    const { repository } = this.#dependencies;
    await repository.commit(repository.insertion(record), ...alongside);
  }

  /**
   * Changes a record. Resolves once the change is durable.
   * @param recent the record as it was read a moment ago, which saves reading it; it is read again when it has changed
   *   since
   * @returns the new record; undefined when it does not exist or `decide` left it
   * @throws NonceTaken
   */
  async change(
    owner: Subject,
    id: string,
    decide: Decision,
    recent?: StoreRecord<TransactionRecord>,
  ): Promise<TransactionRecord | undefined> {
    const { repository } = this.#dependencies;
    let firstRead = recent;
    return await retryOnConflict(async () => {
      const current = firstRead ?? repository.find(owner, id);
      firstRead = undefined;
      const next = current === undefined ? undefined : decide(current.value);
      if (current === undefined || next === undefined) return undefined;
      const settlement = settlementOf(current.value, next);
      const update = repository.update(current, next);
      const news =
        settlement === undefined
          ? isConfirmation(current.value, next)
            ? this.#event(next)
            : {}
          : await this.#settlementCommit(settlement, next);
      await repository.commit(update, news).catch((error: unknown) => {
        const isTaken = error instanceof StoreConflict && repository.isNonceConflict(error.key);
        throw isTaken ? new NonceTaken("another transaction has the nonce", { cause: error }) : error;
      });
      return next;
    });
  }

  /**
   * Ends a transaction that will not be mined as far as is known; one that was signed is looked for until its nonce is
   * used. Returns undefined when it has ended already, or is in a block.
   * @param options.isInvalid no chain takes the bytes, so that they are not looked for
   */
  async fail(
    owner: Subject,
    id: string,
    fault: TransactionFault,
    { state = "failed", isInvalid = false }: EndOptions = {},
  ): Promise<TransactionRecord | undefined> {
    const ended = await this.change(owner, id, (record) =>
      record.watched && record.block === null
        ? {
            ...record,
            state,
            error: fault,
            watched: false,
            holds_nonce: false,
            attempts: withoutRaw(record.attempts),
            ...(record.attempts.length === 0 || isInvalid ? {} : { may_be_mined: true }),
          }
        : undefined,
    );
    if (ended?.may_be_mined !== true) return ended;
    for (const old of this.#dependencies.repository.unsettledBeyond(owner, this.#unsettledMax)) await this.settle(old);
    for (const listener of this.#endListeners) listener();
    return ended;
  }

  /** Notes that an ended transaction is not looked for any more. */
  async settle({ id, ...record }: Pick<TransactionRecord, "id" | "owner_kind" | "owner_id">): Promise<void> {
    await this.change(ownerOf(record), id, ({ may_be_mined: mayBeMined, ...current }) =>
      mayBeMined === true ? current : undefined,
    );
  }

  /** What listeners write with a settlement, and the event that tells clients of it. */
  async #settlementCommit(settlement: Settlement, record: TransactionRecord): Promise<StoreCommit> {
    const parts = await Promise.all(this.#listeners.map(async (listener) => await listener(settlement)));
    return mergeCommits(...parts, this.#event(record));
  }

  /** The event of a transaction's new state. */
  #event(record: TransactionRecord): StoreCommit {
    const { events } = this.#dependencies;
    if (events === undefined) return {};
    const { id, ref, hash, state, block, contract_id: contractId, error } = record;
    const payload = {
      id,
      ref,
      hash,
      state,
      status: statusOf(state),
      block,
      contract_id: contractId,
      network_id: record.network_id,
      error,
    };
    return events.commitOf([
      { subject: `network.${record.network_id}.transactions.${id}`, payload, audience: [ownerOf(record)] },
    ]);
  }
}

const ENDINGS: ReadonlySet<TransactionRecord["state"]> = new Set([
  "mined",
  "confirmed",
  "failed",
  "replaced",
  "cancelled",
]);

/** True when a mined transaction has become final: no settlement, but news. */
function isConfirmation(before: TransactionRecord, next: TransactionRecord): boolean {
  return before.state === "mined" && next.state === "confirmed";
}

/** The settlement that a change means; undefined when it means none, or the same one as the state before. */
function settlementOf(before: TransactionRecord, next: TransactionRecord): Settlement | undefined {
  if (!ENDINGS.has(next.state)) return undefined;
  if (ENDINGS.has(before.state) && before.block_hash === next.block_hash) return undefined;
  const isSuccess = next.state === "mined" || next.state === "confirmed";
  return {
    owner: ownerOf(next),
    transactionId: next.id,
    networkId: next.network_id,
    contractId: next.contract_id ?? undefined,
    outcome: isSuccess ? "success" : "failed",
    contractAddress: next.contract_address ?? undefined,
    blockNumber: next.block ?? undefined,
    reason: isSuccess ? undefined : (next.error?.message ?? "the transaction was cancelled"),
  };
}
