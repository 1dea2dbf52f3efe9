/** Asks the node that sends transactions for what only it may do, and waits for the outcome. */
import type { Subject } from "../../../platform/auth/principal.js";
import { AppError } from "../../../platform/errors.js";
import { newId } from "../../../platform/ids.js";
import type { Log } from "../../../platform/log.js";
import type { Nodes } from "../../../platform/nodes/nodes.js";
import { mergeCommits } from "../../../platform/store/commits.js";
import { StoreConflict, type Store, type StoreCommit, type StoreRecord } from "../../../platform/store/store.js";
import { WISH_TABLE, wishKey, wishValue, type Wish, type WishRecord } from "./wish-records.js";

export interface AskedWishesOptions {
  /** How long an outcome is waited for. 12 s unless given, which is below the time that a request has. */
  readonly waitMs?: number;
}

export interface AskedWishesDependencies {
  readonly store: Store;
  readonly nodes: Nodes;
  readonly log: Log;
}

const WAIT_MS = 12_000;
/** Asked for by one node at a time; each is a record. */
const WAITING_MAX = 1_000;
const RETRY_AFTER_SEC = 5;

export class AskedWishes {
  readonly #waitMs: number;
  readonly #dependencies: AskedWishesDependencies;
  /** What ends the wait for an outcome, by the wish's id. */
  readonly #waiting = new Map<string, () => void>();

  constructor({ waitMs = WAIT_MS }: AskedWishesOptions, dependencies: AskedWishesDependencies) {
    this.#waitMs = waitMs;
    this.#dependencies = dependencies;
    dependencies.nodes.onChange(WISH_TABLE, (keys) => {
      for (const [, id] of keys) this.notice(String(id));
    });
  }

  /**
   * Has a wish carried out, which is asked for in one commit with `alongside`. Returns the wish's id.
   * @throws overloaded when no node has begun with it in time: nothing was done and nothing will be
   * @throws outcome_unknown when a node has begun with it, and has not ended it in time
   * @throws AppError with which it was refused
   */
  async ask(owner: Subject, wish: Wish, alongside: StoreCommit = {}): Promise<string> {
    const { store, nodes } = this.#dependencies;
    if (this.#waiting.size >= WAITING_MAX)
      throw unheard("overloaded", "too many requests wait for the node that sends transactions; nothing was done");
    const id = newId();
    const { incarnation } = nodes;
    const record: WishRecord = { id, asked_by: incarnation, owner, wish, taken_by: null, outcome: null };
    let timer: NodeJS.Timeout | undefined;
    const ended = new Promise<void>((resolve) => {
      this.#waiting.set(id, resolve);
      timer = setTimeout(resolve, this.#waitMs);
    });
    try {
      const asking: StoreCommit = {
        checks: [{ key: wishKey(id), version: "absent" }],
        puts: [{ key: wishKey(id), value: wishValue(record) }],
      };
      await store.commit(mergeCommits(asking, alongside));
      await ended;
      await this.#end(id);
      return id;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  /** Looks whether a wish has its outcome; to be called when its record was changed. */
  notice(id: string): void {
    const end = this.#waiting.get(id);
    if (end === undefined) return;
    const record = this.#dependencies.store.get<WishRecord>(wishKey(id));
    if (record === undefined || record.value.outcome !== null) end();
  }

  /** Deletes a wish, and throws unless it was done. */
  async #end(id: string): Promise<void> {
    for (;;) {
      const record = this.#dependencies.store.get<WishRecord>(wishKey(id));
      if (record === undefined) throw unknown();
      const { outcome, taken_by: takenBy } = record.value;
      if (outcome === null && takenBy === null) {
        if (!(await this.#withdraw(record))) continue;
        throw unheard("overloaded", "no node sends transactions at present: nothing was done, and nothing will be");
      }
      this.#delete(record);
      if (outcome === null) throw unknown();
      if (outcome === "done") return;
      const { code, message, details, retry_after_sec: retryAfterSec } = outcome;
      throw new AppError(code, { message, details, ...(retryAfterSec === null ? {} : { retryAfterSec }) });
    }
  }

  /** Returns false when a node has begun with it meanwhile. */
  async #withdraw({ key, version }: StoreRecord<WishRecord>): Promise<boolean> {
    try {
      await this.#dependencies.store.commit({ checks: [{ key, version }], deletes: [key] });
      return true;
    } catch (error) {
      if (error instanceof StoreConflict) return false;
      throw error;
    }
  }

  /** The answer does not wait for it; what stays is deleted by the next node that sends transactions. */
  #delete({ key }: StoreRecord<WishRecord>): void {
    this.#dependencies.store.commit({ deletes: [key] }).catch((error: unknown) => {
      this.#dependencies.log.debug("the record of a request to another node stays for now", () => ({ error }));
    });
  }
}

function unknown(): AppError {
  return unheard(
    "outcome_unknown",
    "the node that sends transactions has begun with this and has not said how it ended: read the transaction before another try",
  );
}

function unheard(code: "overloaded" | "outcome_unknown", message: string): AppError {
  return new AppError(code, { message, retryAfterSec: RETRY_AFTER_SEC });
}
