/**
 * Slows down guessing of passwords, per account and per network address. A place is reserved in the store before
 * anything is hashed, so that guesses sent at once count as guesses sent in turn, and a restart forgets nothing.
 * Sessions that exist are not touched: an attacker cannot end a victim's refresh. On a full disk some attempts a minute
 * may use the room that is held back there: whoever has no token left could otherwise not delete anything.
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

/** A place taken by one attempt. Must be settled in exactly one of three ways. */
export interface LoginReservation {
  readonly id: string;
  readonly accountKey: string;
  readonly addressKey: string;
  /** Whether what the attempt writes may use the room that is held back on a full disk. */
  readonly isUrgent: boolean;
}

const ACCOUNT_FAILURES_MAX = 5;
/**
 * Above the 34 logins that can be in hand at once, so that a crowd behind one address is not slowed while all succeed.
 */
const ADDRESS_FAILURES_MAX = 40;
const WAIT_FIRST_MS = 1000;
const WAIT_MAX_MS = 15 * 60 * 1000;
/** Failures are forgotten after this long without another; at most `accountFailuresMax` free guesses per hour. */
const FORGET_AFTER_MS = 60 * 60 * 1000;
/** Frees an account whose attempt died with the process; an attempt itself takes well under a second. */
const ATTEMPT_LEASE_MS = 30_000;
/** Reservations of one address that may stand in line. */
const RESERVATIONS_WAITING_MAX = 64;
const BUSY_RETRY_SEC = 1;
/**
 * Attempts of all callers together that may use the held-back room. Strangers can make counters of any address: at this
 * rate and some 300 bytes a counter they hold about 1 MiB of the 64, as counters go after an hour.
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
   * Takes a place for one attempt and counts it as failed until told otherwise. Throws `too_many_requests` with the
   * time to wait.
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
    const isUrgent = await this.#turns.run(place.addressKey, () => this.#reserved(place));
    await this.#counters.sweep();
    return { ...place, isUrgent };
  }

  /**
   * Writes the reservation; true when the attempt may use the held-back room. Attempts that must wait take nothing from
   * the others.
   */
  async #reserved(place: Omit<LoginReservation, "isUrgent">): Promise<boolean> {
    let urgent: boolean | undefined;
    await retryOnConflict(async () => {
      const commit = this.#reserveCommit(place);
      urgent ??= this.#takeUrgent();
      await this.#store.commit({ ...commit, urgent });
    });
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

  /** Records that the attempt was evaluated and failed. */
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

  /** Gives the place back: the attempt was never evaluated. */
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
   * Runs a commit that gives back the address's share (read, decide, commit), in turn with the others of that address.
   */
  async settle<R>(reservation: LoginReservation, attempt: () => Promise<R>): Promise<R> {
    return this.#turns.run(reservation.addressKey, () => retryOnConflict(attempt), { mayExceedLimit: true });
  }

  /**
   * What a successful login adds to its commit (within `settle`): the account's failures are forgotten, the address
   * gets back this one attempt only.
   */
  successCommit(reservation: LoginReservation): StoreCommit {
    const account = this.#counters.read("account", reservation.accountKey);
    const forgotten: StoreCommit =
      account.version === "absent"
        ? { checks: [{ key: account.key, version: "absent" }] }
        : { checks: [{ key: account.key, version: account.version }], deletes: [account.key] };
    return mergeCommits(forgotten, this.#refundAddress(reservation));
  }

  /** What proves the account's owner by other means forgets: its failures. */
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

  /** The counter's count and waiting time after that many failures. */
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

/** 0 below the limit, then 1, 2, 4 ... seconds up to 15 minutes. */
export function waitAfter(failures: number, failuresMax: number): number {
  if (failures < failuresMax) return 0;
  return Math.min(WAIT_FIRST_MS * 2 ** Math.min(failures - failuresMax, 30), WAIT_MAX_MS);
}

/** Never more than the longest wait, whatever the wall clock did meanwhile. */
function remaining(untilMs: number, nowMs: number): number {
  return Math.min(Math.max(0, untilMs - nowMs), WAIT_MAX_MS);
}

function tooMany(retryAfterSec: number): AppError {
  return new AppError("too_many_requests", {
    message: `too many attempts; try again in ${retryAfterSec} s`,
    retryAfterSec,
  });
}
