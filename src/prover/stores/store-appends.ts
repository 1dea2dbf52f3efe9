/**
 * What is appended to stores: notes, and nullifiers that are spent. Appends go through queues in batches, one commit
 * for a batch with everything that belongs to it, so that concurrent proofs lose no leaf, nothing is spent twice, and
 * the cost of hashing and writing is shared. Stores of one process are taken by locks; against other writers the
 * version of each store's record is checked, and the batch is made again.
 */
import { randomInt } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { AppError, assert, notFound } from "../../platform/errors.js";
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import { StoreConflict, type Store, type StoreCheck } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type {
  AppendNotesMessage,
  AppendNotesValue,
  InsertNullifiersMessage,
  InsertNullifiersValue,
} from "../../engine/protocol.js";
import type { ProofStores } from "./proof-stores.js";
import { storesOf, type Appended, type PendingAppend, type PendingSpend } from "./pending-append.js";
import { appendToNotes, appendToNullifiers, type Growth } from "./store-growth.js";
import { NOTE_TREE_DEPTH, NULLIFIERS_MAX, stateOf, type StoreReference } from "./store-records.js";

interface StoreAppendsDependencies {
  readonly store: Store;
  readonly stores: ProofStores;
  readonly clock: Clock;
  /** Hashes notes into their tree, outside of the event loop. */
  readonly appendNotes: (message: AppendNotesMessage, owner: Subject) => Promise<AppendNotesValue>;
  /** The same for nullifiers. */
  readonly insertNullifiers: (message: InsertNullifiersMessage, owner: Subject) => Promise<InsertNullifiersValue>;
  /** Called after each commit with the stores that have grown. */
  readonly onGrown?: (growths: readonly Growth[]) => void;
}

/** Appends of one batch: a few milliseconds of hashing and one commit. */
const BATCH_LENGTH_MAX = 32;
/** Appends that may wait for one store: each is a finished proof, so this many would have to end within one batch. */
const QUEUE_LENGTH_MAX = 1024;
/**
 * Time for the tries of one batch. Conflicts come from a deletion at the same time, or from another process that
 * appends as often as this one: then every second or third try succeeds, and each takes some milliseconds.
 */
const TRIES_MS_MAX = 15_000;
/** Longest wait before a retry, so that two processes do not meet again and again. */
const RETRY_WAIT_MS_MAX = 8;
/** Queues that may wait for one store; each has a prover with finished proofs. */
const QUEUES_PER_STORE_MAX = 10_000;

interface Waiting {
  readonly pending: PendingAppend;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}
type Checked = Waiting & { readonly checks: readonly StoreCheck[] };

export class StoreAppends {
  readonly #with: StoreAppendsDependencies;
  readonly #queues = new Map<string, Waiting[]>();
  readonly #locks = new KeyedMutex({ waitingMax: QUEUES_PER_STORE_MAX });

  constructor(dependencies: StoreAppendsDependencies) {
    this.#with = dependencies;
  }

  /**
   * Appends a note, spends keys, or both, durably and at once.
   * @throws AppError `note_double_spend` when a key or its note is spent already, `note_store_full`, `overloaded` when
   *   too many wait, `not_found` when a store was deleted
   */
  async append(pending: PendingAppend): Promise<Appended> {
    const first = pending.note?.store ?? pending.spends[0]?.store;
    assert(first !== undefined, "an append has a note, or a key that is spent");
    const name = nameOf(first);
    const running = this.#queues.get(name);
    if (running !== undefined && running.length >= QUEUE_LENGTH_MAX)
      throw new AppError("overloaded", { message: "too many proofs wait for this store; try again", retryAfterSec: 1 });
    return await new Promise<Appended>((resolve, reject) => {
      const waiting: Waiting = { pending, resolve, reject };
      if (running !== undefined) {
        running.push(waiting);
        return;
      }
      const queue = [waiting];
      this.#queues.set(name, queue);
      void this.#drain(name, queue);
    });
  }

  async #drain(name: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, BATCH_LENGTH_MAX);
      try {
        const names = new Set(batch.flatMap(({ pending }) => storesOf(pending).map(nameOf)));
        // In one order everywhere, so that no two batches wait for each other.
        await this.#locked([...names].sort(), async () => {
          await this.#appendBatch(batch);
        });
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#queues.delete(name);
  }

  async #locked(names: readonly string[], task: () => Promise<void>): Promise<void> {
    const [first, ...others] = names;
    if (first === undefined) await task();
    else
      await this.#locks.run(first, async () => {
        await this.#locked(others, task);
      });
  }

  async #appendBatch(batch: readonly Waiting[]): Promise<void> {
    let rest = batch;
    for (const endMs = performance.now() + TRIES_MS_MAX; performance.now() < endMs;) {
      const admitted = this.#admit(rest);
      if (admitted.length === 0) return;
      rest = admitted;
      const growths = await this.#grow(admitted);
      const appended = admitted.map(({ pending }) => appendedOf(pending, growths));
      try {
        await this.#with.store.commit(
          mergeCommits(
            ...growths.map(({ commit }) => commit),
            ...admitted.map(({ checks, pending }, i) =>
              mergeCommits({ checks }, pending.records(appended[i] ?? { noteIndex: undefined, spent: [] })),
            ),
          ),
        );
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
        await setTimeout(randomInt(RETRY_WAIT_MS_MAX));
        continue;
      }
      admitted.forEach(({ resolve }, i) => {
        resolve(appended[i] ?? { noteIndex: undefined, spent: [] });
      });
      this.#with.onGrown?.(growths);
      return;
    }
    throw new AppError("overloaded", { message: "the store is busy; try again", retryAfterSec: 1 });
  }

  /** Returns what may be appended as the stores are now; the rest is rejected, each for its own reason. */
  #admit(batch: readonly Waiting[]): Checked[] {
    const taken = new Set<string>();
    const counts = new Map<string, number>();
    return batch.flatMap((waiting) => {
      try {
        const checks = waiting.pending.checks();
        this.#requireRoom(waiting.pending, counts);
        this.#requireUnspent(waiting.pending.spends, taken);
        for (const reference of storesOf(waiting.pending)) {
          const name = nameOf(reference);
          counts.set(name, (counts.get(name) ?? 0) + 1);
        }
        return [{ ...waiting, checks }];
      } catch (error) {
        waiting.reject(error);
        return [];
      }
    });
  }

  #requireRoom(pending: PendingAppend, counts: ReadonlyMap<string, number>): void {
    const own = new Map<string, number>();
    for (const reference of storesOf(pending)) {
      const name = nameOf(reference);
      const record = this.#with.stores.find(reference);
      if (record === undefined) throw notFound("store");
      const before = stateOf(record.value).size + (counts.get(name) ?? 0) + (own.get(name) ?? 0);
      const isNotes = record.value.tree !== undefined;
      if (before >= (isNotes ? 2 ** NOTE_TREE_DEPTH : NULLIFIERS_MAX))
        throw new AppError("note_store_full", {
          message: `the store of ${isNotes ? "notes" : "nullifiers"} is full; name another one for new provers`,
        });
      own.set(name, (own.get(name) ?? 0) + 1);
    }
  }

  /** @param taken what the batch spends so far; what these spend is added */
  #requireUnspent(spends: readonly PendingSpend[], taken: Set<string>): void {
    const names = spends.flatMap(({ store, key, note }) => [
      `${nameOf(store)}/${key}`,
      ...(note === undefined ? [] : [`${nameOf(note.store)}#${String(note.index)}`]),
    ]);
    const { stores } = this.#with;
    const isSpent =
      new Set(names).size < names.length ||
      names.some((name) => taken.has(name)) ||
      spends.some(({ store, key }) => stores.readNullifier(store, key) !== undefined) ||
      spends.some(({ note }) => note !== undefined && stores.isNoteSpent(note.store, note.index));
    if (isSpent)
      throw new AppError("note_double_spend", { message: "this was spent before; a note or nullifier is spent once" });
    for (const name of names) taken.add(name);
  }

  /** Hashes what the batch appends into each of its stores. */
  async #grow(batch: readonly Checked[]): Promise<Growth[]> {
    const references = new Map(
      batch.flatMap(({ pending }) => storesOf(pending)).map((reference) => [nameOf(reference), reference]),
    );
    const createdAt = isoTimestamp(this.#with.clock.nowMs());
    const pendings = batch.map(({ pending }) => pending);
    return await Promise.all(
      [...references.values()].map(async (reference) => {
        const record = this.#with.stores.find(reference);
        if (record === undefined) throw notFound("store");
        const given = { ...this.#with, reference, record, createdAt, pendings };
        return record.value.tree === undefined
          ? await appendToNullifiers(given)
          : await appendToNotes(given, record.value.tree);
      }),
    );
  }
}

/** Finds the places that a batch has given to one of its appends. */
function appendedOf(pending: PendingAppend, growths: readonly Growth[]): Appended {
  const growthOf = (reference: StoreReference): Growth => {
    const found = growths.find((growth) => nameOf(growth.reference) === nameOf(reference));
    assert(found !== undefined, "each store of a batch has grown");
    return found;
  };
  const spent = pending.spends.map((spend) => {
    const { places, size, root } = growthOf(spend.store);
    const index = places.get(spend);
    assert(index !== undefined, "each key of a batch has a place");
    return { key: spend.key, index, size, root };
  });
  return {
    noteIndex: pending.note === undefined ? undefined : growthOf(pending.note.store).places.get(pending.note),
    spent,
  };
}

function nameOf({ owner, id }: StoreReference): string {
  return `${formatSubject(owner)}/${id}`;
}
