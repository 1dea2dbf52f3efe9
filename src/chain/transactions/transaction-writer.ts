/**
 * The only writer of transaction records: every change reads, decides and commits with a check, and what listeners and
 * the event log have to say about an ending goes into the same commit.
 */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Events } from "../../platform/events/events.js";
import type { StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import type { Settlement } from "./submission-port.js";
import { ownerOf, statusOf, withoutRaw, type TransactionFault, type TransactionRecord } from "./transaction-record.js";
import type { TransactionRepository } from "./transaction-repository.js";

export type SettlementListener = (settlement: Settlement) => StoreCommit | Promise<StoreCommit>;
/** The record as it should be, or undefined to leave it. */
export type Decision = (record: TransactionRecord) => TransactionRecord | undefined;

export interface TransactionWriterDependencies {
  readonly repository: TransactionRepository;
  readonly events?: Events;
  readonly clock: Clock;
}

export class TransactionWriter {
  readonly #dependencies: TransactionWriterDependencies;
  readonly #listeners: SettlementListener[] = [];

  constructor(dependencies: TransactionWriterDependencies) {
    this.#dependencies = dependencies;
  }

  onSettled(listener: SettlementListener): void {
    this.#listeners.push(listener);
  }

  now(): string {
    return isoTimestamp(this.#dependencies.clock.nowMs());
  }

  read(owner: Subject, id: string): TransactionRecord | undefined {
    return this.find(owner, id)?.value;
  }

  find(owner: Subject, id: string): StoreRecord<TransactionRecord> | undefined {
    return this.#dependencies.repository.find(owner, id);
  }

  async insert(record: TransactionRecord, ...alongside: readonly StoreCommit[]): Promise<void> {
    const { repository } = this.#dependencies;
    await repository.commit(repository.insertion(record), ...alongside);
  }

  /**
   * Changes a record; the new one, or undefined when it is gone or was left. Resolves once it is durable.
   * @param known the record as it was read a moment ago, which saves reading it; it is read again when it has changed
   *   since
   */
  async change(
    owner: Subject,
    id: string,
    decide: Decision,
    known?: StoreRecord<TransactionRecord>,
  ): Promise<TransactionRecord | undefined> {
    const { repository } = this.#dependencies;
    let readBefore = known;
    return await retryOnConflict(async () => {
      const current = readBefore ?? repository.find(owner, id);
      readBefore = undefined;
      const next = current === undefined ? undefined : decide(current.value);
      if (current === undefined || next === undefined) return undefined;
      const settlement = settlementOf(current.value, next);
      const update = repository.update(current, next);
      await (settlement === undefined
        ? repository.commit(update)
        : repository.commit(update, await this.#told(settlement, next)));
      return next;
    });
  }

  /** Ends a transaction that will not be mined. */
  async fail(
    owner: Subject,
    id: string,
    fault: TransactionFault,
    state: "failed" | "replaced" | "cancelled" = "failed",
  ): Promise<TransactionRecord | undefined> {
    return await this.change(owner, id, (record) =>
      record.watched && record.block === null
        ? { ...record, state, error: fault, watched: false, attempts: withoutRaw(record.attempts) }
        : undefined,
    );
  }

  async #told(settlement: Settlement, record: TransactionRecord): Promise<StoreCommit> {
    const parts = await Promise.all(this.#listeners.map(async (listener) => await listener(settlement)));
    const { events } = this.#dependencies;
    if (events === undefined) return mergeCommits(...parts);
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
    return mergeCommits(
      ...parts,
      events.commitOf([
        { subject: `network.${record.network_id}.transactions.${id}`, payload, audience: [ownerOf(record)] },
      ]),
    );
  }
}

const ENDINGS: ReadonlySet<TransactionRecord["state"]> = new Set([
  "mined",
  "confirmed",
  "failed",
  "replaced",
  "cancelled",
]);

/** What a change means for those who wait for the outcome; undefined when it is none, or was told already. */
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
