/**
 * Limits per hour: accounts and codes of devices per network address, reset and confirmation mails per address and
 * account, invitations per subject. The counts survive a restart.
 */
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Store } from "../../platform/store/store.js";
import { retryOnConflict } from "../../platform/store/tables.js";
import { KeyedMutex } from "../../platform/concurrency/keyed-mutex.js";
import { replaceCounter, type CounterKind, type ThrottleCounters } from "./throttle-counters.js";

/** Enough for a household or a class behind one address. */
const SIGNUPS_PER_HOUR = 10;
/** Mails of a kind that one address may ask for, and that one account gets: somebody who retries needs a few. */
const MAILS_PER_ADDRESS = 20;
const MAILS_PER_ACCOUNT = 5;
/** Invitations of one subject: enough for a team, too few for a mailing list. */
const INVITATIONS_PER_HOUR = 100;
/** Devices that one address connects: somebody who tries a program out needs some. */
const DEVICE_CODES_PER_HOUR = 60;
/** Codes of devices that one address types, each of which is looked up twice: enough for mistakes, too few to guess. */
const USER_CODES_PER_HOUR = 40;
const WINDOW_MS = 60 * 60 * 1000;
/** Requests under one key that may wait for each other. */
const REQUESTS_WAITING_MAX = 64;

const CONTENDED_RETRY_SEC = 1;

export interface HourlyLimitDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly counters: ThrottleCounters;
}

/** The limits of the identity area. */
export interface HourlyLimits {
  readonly signup: HourlyLimit;
  readonly resetByAddress: HourlyLimit;
  readonly resetByAccount: HourlyLimit;
  readonly confirmationByAddress: HourlyLimit;
  readonly confirmationByAccount: HourlyLimit;
  readonly invitation: HourlyLimit;
  readonly deviceCode: HourlyLimit;
  readonly userCode: HourlyLimit;
}

export class HourlyLimit {
  readonly #kind: CounterKind;
  readonly #perHourMax: number;
  readonly #message: string;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #counters: ThrottleCounters;
  readonly #turns = new KeyedMutex({ waitingMax: REQUESTS_WAITING_MAX });

  /**
   * @param options.perHourMax Infinity switches the limit off
   * @param options.message for the rejected caller
   */
  constructor(
    options: { readonly kind: CounterKind; readonly perHourMax: number; readonly message: string },
    dependencies: HourlyLimitDependencies,
  ) {
    this.#kind = options.kind;
    this.#perHourMax = options.perHourMax;
    this.#message = options.message;
    this.#store = dependencies.store;
    this.#clock = dependencies.clock;
    this.#counters = dependencies.counters;
  }

  /**
   * Counts one request.
   * @param hash of the address, account or subject that is counted (`throttle-keys.ts`)
   * @throws too_many_requests when the limit of the hour is reached
   */
  async count(hash: string): Promise<void> {
    if (this.#perHourMax === Infinity) return;
    await this.#turns.run(hash, () =>
      retryOnConflict(async () => await this.#countOnce(hash), {
        // Other nodes count requests under the key as fast as they can be counted.
        exhausted: () => this.#tooMany(CONTENDED_RETRY_SEC),
      }),
    );
    await this.#counters.sweep();
  }

  async #countOnce(hash: string): Promise<void> {
    const now = this.#clock.nowMs();
    const counter = this.#counters.read(this.#kind, hash);
    const windowEndsMs = counter.value.count === 0 ? now + WINDOW_MS : counter.value.forget_at_ms;
    if (counter.value.count >= this.#perHourMax)
      throw this.#tooMany(Math.ceil(Math.min(windowEndsMs - now, WINDOW_MS) / 1000));
    await this.#store.commit(
      replaceCounter(counter, { ...counter.value, count: counter.value.count + 1, forget_at_ms: windowEndsMs }),
    );
  }

  #tooMany(retryAfterSec: number): AppError {
    return new AppError("too_many_requests", { message: this.#message, retryAfterSec });
  }
}

/**
 * Makes the limits of the identity area.
 * @param options.signupsPerHourMax new accounts per network address; Infinity switches all of these limits off
 */
export function createHourlyLimits(
  options: { readonly signupsPerHourMax: number | undefined },
  dependencies: HourlyLimitDependencies,
): HourlyLimits {
  const { signupsPerHourMax = SIGNUPS_PER_HOUR } = options;
  const limit = (kind: CounterKind, max: number, message: string): HourlyLimit =>
    new HourlyLimit({ kind, perHourMax: signupsPerHourMax === Infinity ? Infinity : max, message }, dependencies);
  return {
    signup: limit("signup", signupsPerHourMax, "too many new accounts from this address"),
    resetByAddress: limit("reset_address", MAILS_PER_ADDRESS, "too many resets from this address"),
    resetByAccount: limit("reset_account", MAILS_PER_ACCOUNT, "too many resets of this account"),
    confirmationByAddress: limit("confirmation_address", MAILS_PER_ADDRESS, "too many mails asked for"),
    confirmationByAccount: limit("confirmation_account", MAILS_PER_ACCOUNT, "too many mails to this account"),
    invitation: limit("invitation", INVITATIONS_PER_HOUR, "too many invitations"),
    deviceCode: limit("device_code", DEVICE_CODES_PER_HOUR, "too many device codes for this address"),
    userCode: limit("user_code", USER_CODES_PER_HOUR, "too many codes of devices from this address"),
  };
}
