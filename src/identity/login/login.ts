/**
 * Login with e-mail and password. An unknown address, a wrong password and a user who may not log in are the same to
 * the caller: same work, same answer. The one path by which a password yields a token.
 */
import {
  decoyPasswordHash,
  hashPassword,
  isPasswordHashStale,
  verifyPassword,
  type PasswordHashCost,
} from "../../crypto/hashes/password.js";
import type { PasswordHashLimiter } from "../../platform/auth/password-hash-limiter.js";
import { PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import { normalizeEmail } from "../users/email.js";
import type { LoginReservation, LoginThrottle } from "./login-throttle.js";
import { normalizePassword } from "./password-policy.js";
import type { IdentityRepository, SubjectState, UserRecord } from "../repository.js";
import type { TokenJson, UserJson } from "../schemas.js";
import { grantedScope } from "../tokens/scope.js";
import type { PreparedSession, Sessions } from "../tokens/sessions.js";
import { userJson } from "../users/users.js";

export interface LoginDependencies {
  readonly repository: IdentityRepository;
  readonly sessions: Sessions;
  readonly throttle: LoginThrottle;
  readonly hashGate: PasswordHashLimiter;
  readonly clock: Clock;
  readonly log: Log;
}

/** An address, within an application's own users when one is named, and a password. */
export interface PasswordAttempt {
  readonly email: string;
  readonly password: string;
  readonly application_id?: string;
}

/** A password that was right, and its hash with today's cost when the stored one is stale. */
interface Match {
  readonly userId: string;
  readonly freshHash: string | undefined;
}

interface Opened {
  readonly user: UserRecord;
  readonly prepared: PreparedSession;
}

export class Login {
  readonly #hashCost: PasswordHashCost;
  readonly #decoyHash: string;
  readonly #dependencies: LoginDependencies;

  constructor(options: { readonly hashCost: PasswordHashCost }, dependencies: LoginDependencies) {
    this.#hashCost = options.hashCost;
    this.#decoyHash = decoyPasswordHash(options.hashCost);
    this.#dependencies = dependencies;
  }

  /**
   * Checks a password and opens a session.
   * @param address network address of the caller, for throttling
   * @param extra what goes into the same commit, given the user (an invitation that is accepted); may throw
   * Throws `invalid_credentials`, or `too_many_requests` with the time to wait.
   */
  async authenticate(
    input: PasswordAttempt & { readonly scope?: string },
    address: string,
    extra?: (user: UserRecord) => StoreCommit,
  ): Promise<{ user: UserJson; token: TokenJson }> {
    const { sessions, log } = this.#dependencies;
    const { user, prepared } = await this.#attempt(input, address, (match, reservation) =>
      this.#open(match, input.scope, reservation, extra),
    );
    const token = await sessions.issueToken(prepared, user.permissions);
    log.info("login", { subject: `user:${user.id}` });
    return { user: userJson(user), token };
  }

  /** Checks a password without a session, as a fresh proof of who is there. The same gate, the same failures. */
  async check(input: PasswordAttempt, address: string): Promise<UserRecord> {
    return this.#attempt(input, address, (match, reservation) => this.#confirmed(match, reservation));
  }

  /** The same for an account that is known. Throws `invalid_credentials` when the password is another. */
  async confirm(user: UserRecord, password: string, address: string): Promise<void> {
    await this.check(
      {
        email: user.email,
        password,
        ...(user.application_id === undefined ? {} : { application_id: user.application_id }),
      },
      address,
    );
  }

  /** One attempt from the reserved place to the verdict; what follows a right password is `settle`. */
  async #attempt<R>(
    input: PasswordAttempt,
    address: string,
    settle: (match: Match, reservation: LoginReservation) => Promise<R | undefined>,
  ): Promise<R> {
    const leave = await this.#dependencies.hashGate.admit();
    try {
      return await this.#admittedAttempt(input, address, settle);
    } finally {
      leave();
    }
  }

  async #admittedAttempt<R>(
    input: PasswordAttempt,
    address: string,
    settle: (match: Match, reservation: LoginReservation) => Promise<R | undefined>,
  ): Promise<R> {
    const { throttle, log } = this.#dependencies;
    const reservation = await throttle.reserve({ email: input.email, address, applicationId: input.application_id });
    const match = await this.#evaluate(input, reservation);
    const settled =
      match === undefined ? undefined : await this.#settleOrRelease(reservation, () => settle(match, reservation));
    if (settled === undefined) {
      await throttle.fail(reservation);
      log.info("login refused", { address, code: "invalid_credentials" });
      throw new AppError("invalid_credentials", { message: "authentication failed with given credentials" });
    }
    return settled;
  }

  /** The one hashing of an attempt. An attempt that could not be evaluated does not count against the account. */
  async #evaluate(input: PasswordAttempt, reservation: LoginReservation): Promise<Match | undefined> {
    const { repository, throttle, hashGate } = this.#dependencies;
    const password = normalizePassword(input.password);
    try {
      return await hashGate.run(async () => {
        const credential = repository.findCredential(normalizeEmail(input.email), input.application_id);
        const phc = credential?.record.value.password_hash ?? this.#decoyHash;
        const isRight = await verifyPassword(phc, password);
        if (!isRight || credential === undefined) return undefined;
        const freshHash = isPasswordHashStale(phc, this.#hashCost)
          ? await hashPassword(password, this.#hashCost)
          : undefined;
        return { userId: credential.userId, freshHash };
      });
    } catch (error) {
      await throttle.release(reservation);
      throw error;
    }
  }

  async #settleOrRelease<R>(reservation: LoginReservation, settle: () => Promise<R>): Promise<R> {
    const { throttle } = this.#dependencies;
    try {
      return await throttle.settle(reservation, settle);
    } catch (error) {
      // The password was right and something else was not: the user may try again at once.
      await throttle.release(reservation);
      throw error;
    }
  }

  /**
   * One commit: session, forgotten failures, and the new hash where there is one. Undefined when the user may not log
   * in.
   */
  async #open(
    match: Match,
    scope: string | undefined,
    reservation: LoginReservation,
    extra?: (user: UserRecord) => StoreCommit,
  ): Promise<Opened | undefined> {
    const { repository, sessions, throttle, clock } = this.#dependencies;
    const admitted = this.#admitted(match.userId);
    if (admitted === undefined) return undefined;
    const { user, state } = admitted;
    const subject: Subject = { kind: "user", id: match.userId };
    const prepared = sessions.prepare({
      subject,
      epoch: state.epoch,
      scope: grantedScope(scope),
      marks: { password_at_ms: clock.nowMs() },
    });
    const commit = mergeCommits(
      prepared.commit,
      throttle.successCommit(reservation),
      this.#rehashCommit(match),
      extra?.(user) ?? {},
    );
    // A bare login may use the room of a full disk, within the throttle's bounds: it is the way to a token that may
    // delete.
    await repository.commit(extra === undefined && reservation.isUrgent ? { ...commit, urgent: true } : commit);
    return { user, prepared };
  }

  async #confirmed(match: Match, reservation: LoginReservation): Promise<UserRecord | undefined> {
    const { repository, throttle } = this.#dependencies;
    const admitted = this.#admitted(match.userId);
    if (admitted === undefined) return undefined;
    await repository.commit({
      ...mergeCommits(throttle.successCommit(reservation), this.#rehashCommit(match)),
      urgent: reservation.isUrgent,
    });
    return admitted.user;
  }

  /** The user, if it is there, enabled, and may log in. */
  #admitted(userId: string): { readonly user: UserRecord; readonly state: SubjectState } | undefined {
    const { repository } = this.#dependencies;
    const user = repository.findUser(userId)?.value;
    const state = repository.findState({ kind: "user", id: userId })?.value;
    if (
      user === undefined ||
      state === undefined ||
      !state.enabled ||
      !holdsAll(user.permissions, PERMISSIONS.authenticate)
    )
      return undefined;
    return { user, state };
  }

  #rehashCommit(match: Match): StoreCommit {
    const { repository } = this.#dependencies;
    const credential = match.freshHash === undefined ? undefined : repository.findCredentialOf(match.userId);
    return match.freshHash === undefined || credential === undefined
      ? {}
      : repository.replaceCredentialCommit(credential, match.freshHash);
  }
}
