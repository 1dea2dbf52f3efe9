/**
 * Login with e-mail and password: the only path on which a password yields a token. For the caller an unknown address,
 * a wrong password and a user who may not log in are the same: the same work and the same response.
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
import type { Principal, Subject } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import { normalizeEmail } from "../users/email.js";
import type { LoginReservation, LoginThrottle } from "./login-throttle.js";
import { normalizePassword } from "./password-policy.js";
import type { IdentityRepository, SubjectState, UserRecord } from "../repository.js";
import type { AuthenticateInput, TokenJson, UserJson } from "../schemas.js";
import type { Invitations } from "../tenants/invitations.js";
import { grantedScope } from "../tokens/scope.js";
import type { PreparedSession, Sessions } from "../tokens/sessions.js";
import type { EmailConfirmation } from "../users/email-confirmation.js";
import { userJson } from "../users/users.js";
import type { VirtualUserLogin } from "./virtual-user-login.js";

export interface LoginDependencies {
  readonly repository: IdentityRepository;
  readonly sessions: Sessions;
  readonly invitations: Invitations;
  readonly virtualUsers: VirtualUserLogin;
  readonly emailConfirmation: Pick<EmailConfirmation, "requireConfirmed">;
  readonly throttle: LoginThrottle;
  readonly hashGate: PasswordHashLimiter;
  readonly clock: Clock;
  readonly log: Log;
  /** Verifies the bearer of a request. Throws `unauthorized`. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
}

/** A user and the token of its new session. */
export interface LoggedIn {
  readonly user: UserJson;
  readonly token: TokenJson;
}

/** An address and a password; with `application_id` of a virtual user of this application. */
export interface PasswordAttempt {
  readonly email: string;
  readonly password: string;
  readonly application_id?: string;
}

/** A password that was right, and its hash with the present cost when the stored one has another. */
interface PasswordMatch {
  readonly userId: string;
  readonly freshHash: string | undefined;
}

/** What follows a right password. Returns undefined when the user may not log in. */
type Settle<R> = (match: PasswordMatch, reservation: LoginReservation) => Promise<R | undefined>;

interface OpenedSession {
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
   * Opens a session: with a password, and with an invitation that the login accepts; or without a password for a
   * virtual user of the application whose token is the bearer.
   * @param address network address of the caller, for throttling
   * @throws invalid_credentials; email_unconfirmed; too_many_requests with the time to wait; invitation_invalid;
   *   invalid_request, unauthorized or forbidden without a password
   */
  async logIn(input: AuthenticateInput, address: string, bearer?: string): Promise<LoggedIn> {
    const { invitations, virtualUsers, authenticate } = this.#dependencies;
    const { password, invitation_token: token, ...rest } = input;
    if (password === undefined) {
      if (bearer === undefined) throw invalidMember("password", "password: is required");
      return virtualUsers.logIn(await authenticate(bearer), rest);
    }
    const attempt = { ...rest, password };
    if (token === undefined) return this.#logInWithPassword(attempt, address);
    return this.#logInWithPassword(attempt, address, (user) =>
      // An invitation to found an organization is only checked here; founding the organization uses it up.
      invitations.acceptCommit(invitations.find(token), user, { isNew: false }),
    );
  }

  /** Opens a session; `alongside` is merged into its commit, and may throw. */
  async #logInWithPassword(
    input: PasswordAttempt & { readonly scope?: string },
    address: string,
    alongside?: (user: UserRecord) => StoreCommit,
  ): Promise<LoggedIn> {
    const { sessions, log } = this.#dependencies;
    const { user, prepared } = await this.#attempt(input, address, async (match, reservation) => {
      this.#requireConfirmed(match);
      return await this.#open(match, input.scope, reservation, alongside);
    });
    const token = await sessions.issueToken(prepared, user.permissions);
    log.info("login", { subject: `user:${user.id}` });
    return { user: userJson(user), token };
  }

  /**
   * Checks a password without opening a session, with the same throttling.
   * @throws invalid_credentials; email_unconfirmed; too_many_requests with the time to wait
   */
  async check(input: PasswordAttempt, address: string): Promise<UserRecord> {
    return this.#attempt(input, address, async (match, reservation) => {
      this.#requireConfirmed(match);
      return await this.#recordSuccess(match, reservation);
    });
  }

  /** Checks the password of a user who is logged in. Throws as `check` does, but needs no confirmed address. */
  async confirm(user: UserRecord, password: string, address: string): Promise<void> {
    const attempt = {
      email: user.email,
      password,
      ...(user.application_id === undefined ? {} : { application_id: user.application_id }),
    };
    await this.#attempt(attempt, address, (match, reservation) => this.#recordSuccess(match, reservation));
  }

  /** Throws `email_unconfirmed`: only after the password was right, so that nobody else learns of the account. */
  #requireConfirmed({ userId }: PasswordMatch): void {
    const active = this.#findActive(userId);
    if (active !== undefined) this.#dependencies.emailConfirmation.requireConfirmed(active.user);
  }

  async #attempt<R>(input: PasswordAttempt, address: string, settle: Settle<R>): Promise<R> {
    const leave = await this.#dependencies.hashGate.admit();
    try {
      return await this.#admittedAttempt(input, address, settle);
    } finally {
      leave();
    }
  }

  /** One attempt, from the reservation of its place to the result. */
  async #admittedAttempt<R>(input: PasswordAttempt, address: string, settle: Settle<R>): Promise<R> {
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

  /** Hashes once per attempt. An attempt that could not be evaluated does not count against the account. */
  async #evaluate(input: PasswordAttempt, reservation: LoginReservation): Promise<PasswordMatch | undefined> {
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
      // The password was right and something else failed, so the user may try again at once.
      await throttle.release(reservation);
      throw error;
    }
  }

  /**
   * Writes the session, the forgotten failures and a new hash in one commit. Undefined when the user may not log in.
   */
  async #open(
    match: PasswordMatch,
    scope: string | undefined,
    reservation: LoginReservation,
    alongside?: (user: UserRecord) => StoreCommit,
  ): Promise<OpenedSession | undefined> {
    const { repository, sessions, throttle, clock } = this.#dependencies;
    const active = this.#findActive(match.userId);
    if (active === undefined) return undefined;
    const { user, state } = active;
    const subject: Subject = { kind: "user", id: match.userId };
    const prepared = sessions.prepare({
      subject,
      epoch: state.epoch,
      scope: grantedScope(scope),
      attributes: { password_at_ms: clock.nowMs() },
    });
    const commit = mergeCommits(
      prepared.commit,
      throttle.successCommit(reservation),
      this.#rehashCommit(match),
      alongside?.(user) ?? {},
    );
    // A plain login may use the reserved room of a full disk, within the throttle's bounds: a user needs a token to
    // delete anything.
    await repository.commit(alongside === undefined && reservation.isUrgent ? { ...commit, urgent: true } : commit);
    return { user, prepared };
  }

  async #recordSuccess(match: PasswordMatch, reservation: LoginReservation): Promise<UserRecord | undefined> {
    const { repository, throttle } = this.#dependencies;
    const active = this.#findActive(match.userId);
    if (active === undefined) return undefined;
    await repository.commit({
      ...mergeCommits(throttle.successCommit(reservation), this.#rehashCommit(match)),
      urgent: reservation.isUrgent,
    });
    return active.user;
  }

  /** Returns the user if it exists, is enabled and may log in. */
  #findActive(userId: string): { readonly user: UserRecord; readonly state: SubjectState } | undefined {
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

  #rehashCommit(match: PasswordMatch): StoreCommit {
    const { repository } = this.#dependencies;
    const credential = match.freshHash === undefined ? undefined : repository.findCredentialOf(match.userId);
    return match.freshHash === undefined || credential === undefined
      ? {}
      : repository.replaceCredentialCommit(credential, match.freshHash);
  }
}
