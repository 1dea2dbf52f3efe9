/**
 * How often somebody may ask for something per hour: accounts per network address, mails per account. Durable across
 * restarts.
 */
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Store } from "../../platform/store/store.js";
import { retryOnConflict } from "../../platform/store/tables.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import { replaceCounter, type CounterKind, type ThrottleCounters } from "./throttle-counters.js";

/** Enough for a household or a class behind one address; security 3.6. */
export const SIGNUPS_PER_HOUR = 10;
/** Reset mails that one address may ask for, and that one account gets: a person who tries needs a few. */
export const RESETS_PER_ADDRESS = 20;
export const RESETS_PER_ACCOUNT = 5;
/** Invitations of one subject; a team, not a mailing list. */
export const INVITATIONS_PER_HOUR = 100;
const WINDOW_MS = 60 * 60 * 1000;
/** Requests of one that may stand in line. */
const SIGNUPS_WAITING_MAX = 64;

export class HourlyLimit {
  readonly #perHourMax: number;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #counters: ThrottleCounters;
  readonly #turns = new KeyedMutex({ waitingMax: SIGNUPS_WAITING_MAX });

  readonly #kind: CounterKind;
  readonly #message: string;

  /** @param options.perHourMax Infinity switches the limit off */
  constructor(
    options: { readonly kind: CounterKind; readonly perHourMax: number; readonly message: string },
    dependencies: { readonly store: Store; readonly clock: Clock; readonly counters: ThrottleCounters },
  ) {
    this.#perHourMax = options.perHourMax;
    this.#kind = options.kind;
    this.#message = options.message;
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#counters = dependencies.counters;
  }

  /**
   * Counts one. @param hash of whoever is counted (`throttle-keys.ts`). Throws `too_many_requests` when the hour's
   * share is used up.
   */
  async count(hash: string): Promise<void> {
    if (this.#perHourMax === Infinity) return;
    await this.#turns.run(hash, () =>
      retryOnConflict(async () => {
        const now = this.#clock.nowMs();
        const counter = this.#counters.read(this.#kind, hash);
        const windowEndsMs = counter.value.count === 0 ? now + WINDOW_MS : counter.value.forget_at_ms;
        if (counter.value.count >= this.#perHourMax) {
          const waitMs = Math.min(windowEndsMs - now, WINDOW_MS);
          throw new AppError("too_many_requests", { message: this.#message, retryAfterSec: Math.ceil(waitMs / 1000) });
        }
        await this.#store.commit(
          replaceCounter(counter, { ...counter.value, count: counter.value.count + 1, forget_at_ms: windowEndsMs }),
        );
      }),
    );
    await this.#counters.sweep();
  }
}
