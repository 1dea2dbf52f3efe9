/**
 * Password reset by mail. The request is answered before any account is looked up, so that neither the response nor its
 * time tells who has an account. The token is random, stored as a hash, good once, for an hour, and only until the
 * account's tokens are next voided.
 */
import { hashPassword, type PasswordHashCost } from "../../crypto/hashes/password.js";
import type { PasswordHashLimiter } from "../../platform/auth/password-hash-limiter.js";
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
import { ExpiringRecords, type Expiring } from "../expiring-records.js";
import type { HourlyLimits } from "./hourly-limit.js";
import { passwordResetMail } from "../users/notification-mail.js";
import type { LoginThrottle } from "./login-throttle.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import { accountThrottleKey, addressThrottleKey } from "./throttle-keys.js";
import type { Sessions } from "../tokens/sessions.js";
import type { Tokens } from "../tokens/tokens.js";
import { requireStrongPassword } from "../users/users.js";

type ResetRecord = Expiring & {
  readonly user_id: string;
  /** The account's epoch when the token was made: what voids the account's tokens also voids this one. */
  readonly epoch: number;
};

export interface PasswordResetDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly throttle: LoginThrottle;
  readonly hashGate: PasswordHashLimiter;
  readonly limits: Pick<HourlyLimits, "resetByAddress" | "resetByAccount">;
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
   * Sends a token to an e-mail address in the background, if it has an account with a password.
   * @param applicationId for a virtual user of this application
   * @param address network address of the caller, for the hourly limit
   * @throws too_many_requests per network address; a limit per account sends no mail and is not reported
   */
  async request(email: string, applicationId: string | undefined, address: string): Promise<void> {
    const { outbox, limits } = this.#dependencies;
    await limits.resetByAddress.count(addressThrottleKey(address));
    outbox.add(() => this.#send(email, applicationId));
  }

  /**
   * Sets the password and voids every token of the account.
   * @throws weak_password; reset_token_invalid with the same words for unknown, used, expired and void tokens
   */
  async reset(tokenText: string, newPassword: string): Promise<void> {
    const { repository, sessions, tokens, throttle, hashGate, log } = this.#dependencies;
    const password = requireStrongPassword(newPassword, this.#require(tokenText).user.value.email);
    const passwordHash = await hashGate.run(() => hashPassword(password, this.#hashCost));
    // Read again at each try: another request may have used the token or voided the account's tokens in the meantime.
    const subject = await retryOnConflict(async () => {
      const { record, user } = this.#require(tokenText);
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
    const { repository, store, limits, mail, clock } = this.#dependencies;
    const email = normalizeEmail(emailText);
    const user = email === undefined ? undefined : repository.findUserByEmail(email, applicationId)?.value;
    const state = user === undefined ? undefined : repository.findState({ kind: "user", id: user.id })?.value;
    if (user === undefined || state?.enabled !== true || repository.findCredentialOf(user.id) === undefined) return;
    try {
      await limits.resetByAccount.count(accountThrottleKey(user.email, user.application_id));
    } catch (error) {
      // The account got enough mails this hour. This is no failure, and the request was answered before.
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

  #require(text: string): { record: StoreRecord<ResetRecord>; user: StoreRecord<UserRecord> } {
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
  return new AppError("reset_token_invalid", { message: "the reset token is not valid: it was used or has expired" });
}
