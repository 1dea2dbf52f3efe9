/**
 * Password reset by mail. The request is answered before any account is looked up, so that neither the response nor its
 * time tells who has an account. The token is good once, for an hour, until a newer one is made, and until the
 * account's tokens are next voided or its address changes. A new password is told to the user by mail.
 */
import { hashPassword, type PasswordHashCost } from "../../crypto/hashes/password.js";
import type { PasswordHashLimiter } from "../../platform/auth/password-hash-limiter.js";
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { MailDriver } from "../../platform/mail/mail.js";
import type { Outbox } from "../../platform/mail/outbox.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import type { MailedToken, MailedTokenRecord, MailedTokens } from "../mailed-tokens.js";
import type { AccountNotices } from "../users/account-notices.js";
import { normalizeEmail } from "../users/email.js";
import type { HourlyLimits } from "./hourly-limit.js";
import { passwordResetMail } from "../users/notification-mail.js";
import type { LoginThrottle } from "./login-throttle.js";
import type { IdentityRepository } from "../repository.js";
import { accountThrottleKey, addressThrottleKey } from "./throttle-keys.js";
import type { Sessions } from "../tokens/sessions.js";
import type { Tokens } from "../tokens/tokens.js";
import { requireStrongPassword } from "../users/users.js";

export interface PasswordResetDependencies {
  readonly repository: IdentityRepository;
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly throttle: LoginThrottle;
  readonly hashGate: PasswordHashLimiter;
  readonly limits: Pick<HourlyLimits, "resetByAddress" | "resetByAccount">;
  readonly resets: MailedTokens<MailedTokenRecord>;
  readonly notices: AccountNotices;
  readonly mail: MailDriver;
  readonly outbox: Outbox;
  readonly log: Log;
}

export class PasswordReset {
  readonly #hashCost: PasswordHashCost;
  readonly #serviceUrl: string;
  readonly #dependencies: PasswordResetDependencies;

  constructor(
    options: { readonly hashCost: PasswordHashCost; readonly serviceUrl: string },
    dependencies: PasswordResetDependencies,
  ) {
    this.#hashCost = options.hashCost;
    this.#serviceUrl = options.serviceUrl;
    this.#dependencies = dependencies;
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
    const { repository, sessions, tokens, throttle, hashGate, resets, notices, log } = this.#dependencies;
    const password = requireStrongPassword(newPassword, this.#require(tokenText).user.value.email);
    const passwordHash = await hashGate.run(() => hashPassword(password, this.#hashCost));
    // Read again at each try: another request may have used the token or voided the account's tokens in the meantime.
    const { subject, email } = await retryOnConflict(async () => {
      const token = this.#require(tokenText);
      const { user } = token;
      const owner: Subject = { kind: "user", id: user.value.id };
      await repository.commit(
        mergeCommits(
          resets.useCommit(token),
          repository.setPasswordCommit(owner.id, passwordHash),
          repository.updateUserCommit(user, { ...user.value, email_verified: true }),
          user.value.application_id === undefined ? throttle.forgetCommit(user.value.email) : {},
          tokens.voidCommit(owner),
        ),
      );
      return { subject: owner, email: user.value.email };
    });
    await sessions.endDerived(subject);
    notices.tell(email, ["password"]);
    log.info("password reset", { subject: formatSubject(subject) });
  }

  async #send(emailText: string, applicationId: string | undefined): Promise<void> {
    const { repository, limits, resets, mail } = this.#dependencies;
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
    const token = await resets.issue(user.id, {});
    if (token === undefined) return;
    await mail.send(
      passwordResetMail({ to: user.email, serviceUrl: this.#serviceUrl, token, minutes: resets.lifeMinutes }),
    );
  }

  #require(text: string): MailedToken<MailedTokenRecord> {
    const token = this.#dependencies.resets.find(text);
    if (token === undefined) throw invalidToken();
    return token;
  }
}

function invalidToken(): AppError {
  return new AppError("reset_token_invalid", { message: "the reset token is not valid: it was used or has expired" });
}
