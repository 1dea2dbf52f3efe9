/**
 * The one record of the seal: which store this is, and how to recognise its seal key. Made by the first unsealing; from
 * then on another seal key is refused, so that no store ever holds records under two keys.
 */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Store, StoreKey } from "../../platform/store/store.js";
import type { PhraseCheck } from "../protocol.js";

export const SENTINEL_KEY: StoreKey = ["seal", "sentinel"];

/** A type, not an interface, so that it is a StoreValue. */
export type SentinelRecord = {
  readonly format_version: number;
  readonly store_id: string;
  /** Hex of `deriveSentinel`. */
  readonly sentinel: string;
  /** The sentinel of the key that replaces this one; there while master keys are under either (rekey-cluster.ts). */
  readonly next?: string;
  readonly created_at: string;
};

const FORMAT_VERSION = 1;

/** What a phrase is checked against: a worker derives the sentinel from the phrase and compares. */
export type StoreIdentity = Pick<PhraseCheck, "storeId" | "sentinel">;

/** The sentinel of one store. */
export class SealSentinel {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(dependencies: { readonly store: Store; readonly clock: Clock }) {
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
  }

  /** Whether a seal key has ever opened this store. */
  get isStored(): boolean {
    return this.#store.get(SENTINEL_KEY) !== undefined;
  }

  /** The version of the record: another one, and the seal key is being replaced, or was. */
  get version(): number | "absent" {
    return this.#store.get(SENTINEL_KEY)?.version ?? "absent";
  }

  /**
   * Returns the stored identity, or a fresh store id without a sentinel before the first unsealing.
   * @throws seal_key_mismatch while the key is being replaced: some master keys are under the old one, some under the
   *   new
   */
  read(): StoreIdentity {
    const record = this.#store.get<SentinelRecord>(SENTINEL_KEY)?.value;
    if (record === undefined) return { storeId: newId(), sentinel: null };
    if (record.next !== undefined)
      throw new AppError("seal_key_mismatch", {
        message: "the seal key is being replaced: run `proofwright rekey` to its end, and unseal with the new words",
      });
    return { storeId: record.store_id, sentinel: new Uint8Array(Buffer.from(record.sentinel, "hex")) };
  }

  /**
   * Stores the sentinel of the first unsealing, durably, before anything can be wrapped under the seal key. Rejects
   * when another process has stored one.
   */
  async insert(storeId: string, sentinel: Uint8Array): Promise<void> {
    const record: SentinelRecord = {
      format_version: FORMAT_VERSION,
      store_id: storeId,
      sentinel: Buffer.from(sentinel).toString("hex"),
      created_at: isoTimestamp(this.#clock.nowMs()),
    };
    await this.#store.commit({
      checks: [{ key: SENTINEL_KEY, version: "absent" }],
      puts: [{ key: SENTINEL_KEY, value: record }],
    });
  }
}
