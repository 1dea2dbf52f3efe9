/**
 * Password reset by mail. The request answers before anything is looked up, so that neither the answer nor its time
 * tells who has an account; the token is random, kept as a hash, good once, for an hour, and only until the account's
 * tokens are next voided.
 */
import { hashPassword, type PasswordHashCost } from "../../crypto/hashes/password.js";
import type { HashGate } from "../../platform/auth/password-hash-limiter.js";
import { createOpaqueToken, opaqueTokenHash } from "../../platform/auth/opaque-token.js";
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { MailDriver } from "../../platform/mail/mail.js";
import type { Outbox } from "../../platform/mail/outbox.js";
import type { Store, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { normalizeEmail } from "../users/email.js";
import { ExpiringRecords, type Expiring } from "../oauth/expiring-records.js";
import type { HourlyLimit } from "./hourly-limit.js";
import { passwordResetMail } from "../users/notification-mail.js";
import type { LoginThrottle } from "./login-throttle.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import { accountThrottleKey, addressThrottleKey } from "./throttle-keys.js";
import type { Sessions } from "../tokens/sessions.js";
import type { Tokens } from "../tokens/tokens.js";
import { requireStrongPassword } from "../users/users.js";

type ResetRecord = Expiring & {
  readonly user_id: string;
  /** The account's epoch when the token was made: whatever voids the account's tokens voids this one. */
  readonly epoch: number;
};

export interface PasswordResetDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly throttle: LoginThrottle;
  readonly hashGate: HashGate;
  readonly addressLimit: HourlyLimit;
  readonly accountLimit: HourlyLimit;
  readonly mail: MailDriver;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
}

const LIFE_MINUTES = 60;

export class PasswordReset {
  readonly #hashCost: PasswordHashCost;
  readonly #serviceUrl: string;
  readonly #dependencies: PasswordResetDependencies;
  readonly #resets: ExpiringRecords<ResetRecord>;

  constructor(
    options: { readonly hashCost: PasswordHashCost; readonly serviceUrl: string },
    dependencies: PasswordResetDependencies,
  ) {
    this.#hashCost = options.hashCost;
    this.#serviceUrl = options.serviceUrl;
    this.#dependencies = dependencies;
    this.#resets = new ExpiringRecords({ table: "password_reset" }, dependencies);
  }

  /**
   * Sends a token to the address if it has an account with a password. Throws `too_many_requests` per network address.
   */
  async request(email: string, applicationId: string | undefined, address: string): Promise<void> {
    const { outbox, addressLimit } = this.#dependencies;
    await addressLimit.count(addressThrottleKey(address));
    outbox.add(() => this.#send(email, applicationId));
  }

  /**
   * Sets the password. Throws `weak_password`, `reset_token_invalid` (the same for unknown, used, over and void). Every
   * token of the account is void.
   */
  async reset(tokenText: string, newPassword: string): Promise<void> {
    const { repository, sessions, tokens, throttle, hashGate, log } = this.#dependencies;
    const password = requireStrongPassword(newPassword, this.#found(tokenText).user.value.email);
    const passwordHash = await hashGate.run(() => hashPassword(password, this.#hashCost));
    // Looked at again in each round: whoever used the token or voided the account's tokens meanwhile was first.
    const subject = await retryOnConflict(async () => {
      const { record, user } = this.#found(tokenText);
      const owner: Subject = { kind: "user", id: user.value.id };
      await repository.commit(
        mergeCommits(
          this.#resets.deleteCommit(record),
          repository.setPasswordCommit(owner.id, passwordHash),
          repository.updateUserCommit(user, { ...user.value, email_verified: true }),
          user.value.application_id === undefined ? throttle.forgetCommit(user.value.email) : {},
          tokens.voidCommit(owner),
        ),
      );
      return owner;
    });
    await sessions.endDerived(subject);
    log.info("password reset", { subject: formatSubject(subject) });
  }

  async #send(emailText: string, applicationId: string | undefined): Promise<void> {
    const { repository, store, accountLimit, mail, clock } = this.#dependencies;
    const email = normalizeEmail(emailText);
    const user = email === undefined ? undefined : repository.findUserByEmail(email, applicationId)?.value;
    const state = user === undefined ? undefined : repository.findState({ kind: "user", id: user.id })?.value;
    if (user === undefined || state?.enabled !== true || repository.findCredentialOf(user.id) === undefined) return;
    try {
      await accountLimit.count(accountThrottleKey(user.email, user.application_id));
    } catch (error) {
      // Enough mails for this hour: no failure, and nobody waits for an answer.
      if (error instanceof AppError && error.code === "too_many_requests") return;
      throw error;
    }
    const token = createOpaqueToken("password_reset");
    await store.commit(
      this.#resets.insertCommit(token.hash, {
        user_id: user.id,
        epoch: state.epoch,
        expires_at_ms: clock.nowMs() + LIFE_MINUTES * 60_000,
      }),
    );
    await this.#resets.sweep();
    await mail.send(
      passwordResetMail({ to: user.email, serviceUrl: this.#serviceUrl, token: token.text, minutes: LIFE_MINUTES }),
    );
  }

  #found(text: string): { record: StoreRecord<ResetRecord>; user: StoreRecord<UserRecord> } {
    const { repository } = this.#dependencies;
    const hash = opaqueTokenHash("password_reset", text);
    const record = hash === undefined ? undefined : this.#resets.find(hash);
    if (record === undefined) throw invalidToken();
    const subject: Subject = { kind: "user", id: record.value.user_id };
    const user = repository.findUser(subject.id);
    const state = repository.findState(subject)?.value;
    if (user === undefined || state?.enabled !== true || state.epoch !== record.value.epoch) throw invalidToken();
    return { record, user };
  }
}

function invalidToken(): AppError {
  return new AppError("reset_token_invalid", { message: "the reset token is not valid: it was used or is over" });
}
