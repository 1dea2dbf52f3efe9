/** Carries out, on the node that sends transactions, what the others ask of it. */
import type { Subject } from "../../../platform/auth/principal.js";
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import type { Nodes } from "../../../platform/nodes/nodes.js";
import { StoreConflict, type Store, type StoreRecord } from "../../../platform/store/store.js";
import { WISH_TABLE, wishKey, wishValue, type Wish, type WishFault, type WishRecord } from "./wish-records.js";

export interface CarriedOutWishesDependencies {
  readonly store: Store;
  readonly nodes: Nodes;
  /** Carries a wish out on this node. @throws AppError that refuses it */
  readonly carryOut: (owner: Subject, wish: Wish, id: string) => Promise<void>;
  /** Whether a transaction is stored. */
  readonly hasTransaction: (owner: Subject, id: string) => boolean;
  /** Called when a wish has its outcome, by which node it was asked for ever. */
  readonly onSettled: (id: string) => void;
  readonly log: Log;
}

export class CarriedOutWishes {
  readonly #dependencies: CarriedOutWishesDependencies;
  readonly #running = new Set<Promise<void>>();
  #isRunning = false;

  constructor(dependencies: CarriedOutWishesDependencies) {
    this.#dependencies = dependencies;
    const { nodes, store } = dependencies;
    nodes.onChange(WISH_TABLE, (keys) => {
      if (!this.#isRunning) return;
      for (const key of keys) {
        const record = store.get<WishRecord>(key);
        if (record !== undefined) this.#take(record);
      }
    });
    nodes.onEnded(() => {
      this.#takeAll();
    });
  }

  /** Begins with what was asked of the node before, and with what is asked from now on. */
  begin(): void {
    this.#isRunning = true;
    this.#takeAll();
  }

  /** Begins nothing any more; resolves when what was under way has ended. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#running);
  }

  #takeAll(): void {
    if (!this.#isRunning) return;
    for (const record of this.#dependencies.store.range<WishRecord>([WISH_TABLE])) this.#take(record);
  }

  #take(record: StoreRecord<WishRecord>): void {
    const { nodes, log } = this.#dependencies;
    const { taken_by: takenBy, asked_by: askedBy, outcome, id } = record.value;
    const isOver = !nodes.isAlive(askedBy);
    if (!isOver && (outcome !== null || takenBy === nodes.incarnation)) return;
    const running = (isOver ? this.#delete(record) : this.#run(record))
      .catch((error: unknown) => {
        // Whoever asked ends its wait, and says what may have happened.
        log.warn("what another node asked for cannot be settled now", { path: id, error });
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Nobody waits for the outcome any more. */
  async #delete({ key }: StoreRecord<WishRecord>): Promise<void> {
    await this.#dependencies.store.commit({ deletes: [key] });
  }

  async #run(record: StoreRecord<WishRecord>): Promise<void> {
    const { store, nodes, onSettled } = this.#dependencies;
    const { key, value, version } = record;
    const outcome = value.taken_by === null ? null : this.#leftBy(value);
    try {
      const taken = { ...value, taken_by: nodes.incarnation, outcome };
      await store.commit({ checks: [{ key, version }], puts: [{ key, value: wishValue(taken) }] });
    } catch (error) {
      // Withdrawn.
      if (error instanceof StoreConflict) return;
      throw error;
    }
    if (outcome === null) await this.#settle(value, await this.#outcomeOf(value));
    onSettled(value.id);
  }

  async #outcomeOf({ owner, wish, id }: WishRecord): Promise<"done" | WishFault> {
    const { carryOut, log } = this.#dependencies;
    try {
      await carryOut(owner, wish, id);
      return "done";
    } catch (error) {
      if (error instanceof AppError) return faultOf(error);
      log.error("what another node asked for failed", { path: id, error });
      return faultOf(new AppError("internal_error", { message: "the node that sends transactions failed" }));
    }
  }

  async #settle({ id }: WishRecord, outcome: "done" | WishFault): Promise<void> {
    const { store } = this.#dependencies;
    const key = wishKey(id);
    const current = store.get<WishRecord>(key);
    // Nobody waited for so long.
    if (current === undefined) return;
    try {
      await store.commit({
        checks: [{ key, version: current.version }],
        puts: [{ key, value: wishValue({ ...current.value, outcome }) }],
      });
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
    }
  }

  /** What came of a wish that a node had begun with when it ended; null where it can be begun again. */
  #leftBy({ wish, owner, id }: WishRecord): "done" | WishFault | null {
    if (wish.kind === "broadcast") return this.#dependencies.hasTransaction(owner, id) ? "done" : null;
    return faultOf(
      new AppError("outcome_unknown", {
        message:
          "the node that sends transactions ended while it did this; the attempts of the transaction say whether it was done",
        retryAfterSec: 1,
      }),
    );
  }
}

function faultOf({ code, message, details, retryAfterSec }: AppError): WishFault {
  return { code, message, details, retry_after_sec: retryAfterSec ?? null };
}
