/**
 * Slows down the guessing of passwords, per account and per network address. Each attempt reserves its place in the
 * store before anything is hashed, so that guesses sent at once count like guesses sent one by one, and a restart
 * forgets nothing. Existing sessions are not affected: an attacker cannot block a victim's refresh. On a full disk some
 * attempts a minute may use the reserved room there; a user without a token could otherwise not log in to delete
 * anything.
 */
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import { replaceCounter, type Counter, type ThrottleCounters } from "./throttle-counters.js";
import { accountThrottleKey, addressThrottleKey } from "./throttle-keys.js";

export interface LoginThrottleOptions {
  /** Failures of one account before waiting begins. */
  readonly accountFailuresMax?: number;
  /**
   * Failures from one network address before waiting begins; more than for an account, because many people may share
   * one.
   */
  readonly addressFailuresMax?: number;
}

/** The place of one attempt; ends by exactly one of `fail`, `release`, and a commit with `successCommit`. */
export interface LoginReservation {
  readonly id: string;
  readonly accountKey: string;
  readonly addressKey: string;
  /** True when the writes of the attempt may use the reserved room on a full disk. */
  readonly isUrgent: boolean;
}

const ACCOUNT_FAILURES_MAX = 5;
/** More than the 34 logins that run at once, so that many users behind one address are not slowed while all succeed. */
const ADDRESS_FAILURES_MAX = 40;
const WAIT_FIRST_MS = 1000;
const WAIT_MAX_MS = 15 * 60 * 1000;
/**
 * Failures are forgotten after this long without another: at most `accountFailuresMax` guesses per hour do not wait.
 */
const FORGET_AFTER_MS = 60 * 60 * 1000;
/** An attempt that ended with its process blocks the account for this long; an attempt takes well under a second. */
const ATTEMPT_LEASE_MS = 30_000;
/** Reservations of one address that may wait for each other. */
const RESERVATIONS_WAITING_MAX = 64;
const BUSY_RETRY_SEC = 1;
/**
 * Attempts of all callers together that may use the reserved room. Strangers can make counters for any address: at this
 * rate, some 300 bytes each and an hour of life, these take about 1 MiB of the 64 that are reserved.
 */
const URGENT_ATTEMPTS_MAX = 30;
const URGENT_WINDOW_MS = 60_000;

export class LoginThrottle {
  readonly #accountFailuresMax: number;
  readonly #addressFailuresMax: number;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #counters: ThrottleCounters;
  readonly #turns = new KeyedMutex({ waitingMax: RESERVATIONS_WAITING_MAX });
  #urgentSinceMs = -Infinity;
  #urgentAttempts = 0;

  constructor(
    options: LoginThrottleOptions,
    dependencies: { readonly store: Store; readonly clock: Clock; readonly counters: ThrottleCounters },
  ) {
    this.#accountFailuresMax = options.accountFailuresMax ?? ACCOUNT_FAILURES_MAX;
    this.#addressFailuresMax = options.addressFailuresMax ?? ADDRESS_FAILURES_MAX;
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#counters = dependencies.counters;
  }

  /**
   * Reserves a place for one attempt, which counts as failed until its result is known.
   * @param attempt.address network address of the caller
   * @throws too_many_requests with the time to wait
   */
  async reserve(attempt: {
    readonly email: string;
    readonly address: string;
    readonly applicationId?: string | undefined;
  }): Promise<LoginReservation> {
    const place = {
      id: newId(),
      accountKey: accountThrottleKey(attempt.email, attempt.applicationId),
      addressKey: addressThrottleKey(attempt.address),
    };
    const isUrgent = await this.#turns.run(place.addressKey, () => this.#writeReservation(place));
    await this.#counters.sweep();
    return { ...place, isUrgent };
  }

  /**
   * Writes the reservation and returns whether the attempt may use the reserved room. Attempts that are rejected use up
   * none of the urgent ones.
   */
  async #writeReservation(place: Omit<LoginReservation, "isUrgent">): Promise<boolean> {
    let urgent: boolean | undefined;
    await retryOnConflict(
      async () => {
        const commit = this.#reserveCommit(place);
        urgent ??= this.#takeUrgent();
        await this.#store.commit({ ...commit, urgent });
      },
      { exhausted: contended },
    );
    return urgent === true;
  }

  #takeUrgent(): boolean {
    const now = this.#clock.monotonicMs();
    if (now - this.#urgentSinceMs >= URGENT_WINDOW_MS) {
      this.#urgentSinceMs = now;
      this.#urgentAttempts = 0;
    }
    this.#urgentAttempts += 1;
    return this.#urgentAttempts <= URGENT_ATTEMPTS_MAX;
  }

  /** Records that the password was wrong. */
  async fail(reservation: LoginReservation): Promise<void> {
    await retryOnConflict(async () => {
      const account = this.#counters.read("account", reservation.accountKey);
      if (account.value.attempt_id !== reservation.id) return;
      const now = this.#clock.nowMs();
      const failed = replaceCounter(account, {
        ...account.value,
        ...this.#after(account.value.count, now, this.#accountFailuresMax),
        attempt_id: null,
        attempt_until_ms: 0,
      });
      await this.#store.commit({ ...failed, urgent: reservation.isUrgent });
    });
  }

  /** Gives the place back when the password was not checked, or was right and the login failed for another reason. */
  async release(reservation: LoginReservation): Promise<void> {
    await this.settle(reservation, async () => {
      const account = this.#counters.read("account", reservation.accountKey);
      const parts = [this.#refundAddress(reservation)];
      if (account.value.attempt_id === reservation.id) {
        parts.push(
          replaceCounter(account, {
            ...account.value,
            count: Math.max(0, account.value.count - 1),
            blocked_until_ms: 0,
            attempt_id: null,
            attempt_until_ms: 0,
          }),
        );
      }
      await this.#store.commit({ ...mergeCommits(...parts), urgent: reservation.isUrgent });
    });
  }

  /**
   * Runs a commit that changes the counter of the attempt's address (read, decide, commit), one after the other for
   * each address.
   */
  async settle<R>(reservation: LoginReservation, attempt: () => Promise<R>): Promise<R> {
    return this.#turns.run(reservation.addressKey, () => retryOnConflict(attempt, { exhausted: contended }), {
      mayExceedLimit: true,
    });
  }

  /**
   * Returns what a successful login adds to its commit, within `settle`: the account's failures are forgotten; the
   * address gets back this one attempt only.
   */
  successCommit(reservation: LoginReservation): StoreCommit {
    const account = this.#counters.read("account", reservation.accountKey);
    const forgotten: StoreCommit =
      account.version === "absent"
        ? { checks: [{ key: account.key, version: "absent" }] }
        : { checks: [{ key: account.key, version: account.version }], deletes: [account.key] };
    return mergeCommits(forgotten, this.#refundAddress(reservation));
  }

  /** Returns the commit that forgets an account's failures, after its owner was proven by other means. */
  forgetCommit(email: string): StoreCommit {
    const account = this.#counters.read("account", accountThrottleKey(email));
    return account.version === "absent" ? {} : { deletes: [account.key] };
  }

  #reserveCommit(reservation: Omit<LoginReservation, "isUrgent">): StoreCommit {
    const now = this.#clock.nowMs();
    const account = this.#counters.read("account", reservation.accountKey);
    const address = this.#counters.read("address", reservation.addressKey);
    const waitMs = Math.max(
      remaining(account.value.blocked_until_ms, now),
      remaining(address.value.blocked_until_ms, now),
    );
    if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
    if (account.value.attempt_id !== null && remaining(account.value.attempt_until_ms, now) > 0)
      throw tooMany(BUSY_RETRY_SEC);
    return mergeCommits(
      replaceCounter(account, {
        ...this.#after(account.value.count + 1, now, this.#accountFailuresMax),
        attempt_id: reservation.id,
        attempt_until_ms: now + ATTEMPT_LEASE_MS,
      }),
      replaceCounter(address, {
        ...this.#after(address.value.count + 1, now, this.#addressFailuresMax),
        attempt_id: null,
        attempt_until_ms: 0,
      }),
    );
  }

  /** The values of a counter after that many failures. */
  #after(
    count: number,
    nowMs: number,
    failuresMax: number,
  ): Pick<Counter, "count" | "blocked_until_ms" | "forget_at_ms"> {
    const waitMs = waitAfter(count, failuresMax);
    return {
      count,
      blocked_until_ms: waitMs === 0 ? 0 : nowMs + waitMs,
      forget_at_ms: nowMs + waitMs + FORGET_AFTER_MS,
    };
  }

  #refundAddress(reservation: LoginReservation): StoreCommit {
    const address = this.#counters.read("address", reservation.addressKey);
    if (address.value.count === 0) return {};
    const count = address.value.count - 1;
    const blockedUntilMs = waitAfter(count, this.#addressFailuresMax) === 0 ? 0 : address.value.blocked_until_ms;
    return replaceCounter(address, { ...address.value, count, blocked_until_ms: blockedUntilMs });
  }
}

/** Returns how long to wait after failures, in milliseconds: 0 below the limit, then 1, 2, 4 ... s up to 15 minutes. */
export function waitAfter(failures: number, failuresMax: number): number {
  if (failures < failuresMax) return 0;
  return Math.min(WAIT_FIRST_MS * 2 ** Math.min(failures - failuresMax, 30), WAIT_MAX_MS);
}

/** Never more than the longest wait, even if the wall clock was set back. */
function remaining(untilMs: number, nowMs: number): number {
  return Math.min(Math.max(0, untilMs - nowMs), WAIT_MAX_MS);
}

/** Other nodes change the counters of the address as fast as they can be changed. */
function contended(): AppError {
  return tooMany(BUSY_RETRY_SEC);
}

function tooMany(retryAfterSec: number): AppError {
  return new AppError("too_many_requests", {
    message: `too many attempts; try again in ${retryAfterSec} s`,
    retryAfterSec,
  });
}
