/**
 * Confirms that mail to a user's address arrives, with a mailed token. Where the server requires it, nobody logs in
 * with a password before, and a user's new address takes effect when it is confirmed. Neither virtual users, whom their
 * application knows, nor users of an external issuer, who have no password here, need it.
 */
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { MailDriver } from "../../platform/mail/mail.js";
import type { Outbox } from "../../platform/mail/outbox.js";
import { StoreConflict } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import type { HourlyLimits } from "../login/hourly-limit.js";
import { accountThrottleKey, addressThrottleKey } from "../login/throttle-keys.js";
import type { MailedToken, MailedTokenRecord, MailedTokens } from "../mailed-tokens.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import type { AccountNotices } from "./account-notices.js";
import { emailTaken, normalizeEmail } from "./email.js";
import { emailConfirmationMail } from "./notification-mail.js";

/**
 * `on_request`: a mail is sent when somebody asks for it; `ask`: also after sign-up and a change of address; `require`:
 * and an address counts from its confirmation on.
 */
export type EmailConfirmationMode = "on_request" | "ask" | "require";

/** A token that confirms `email` for a user whose address was `current_email` when it was made. */
export type ConfirmationRecord = MailedTokenRecord & { readonly email: string; readonly current_email: string };

export interface EmailConfirmationDependencies {
  readonly repository: IdentityRepository;
  readonly confirmations: MailedTokens<ConfirmationRecord>;
  readonly resets: MailedTokens<MailedTokenRecord>;
  readonly notices: AccountNotices;
  readonly limits: Pick<HourlyLimits, "confirmationByAddress" | "confirmationByAccount">;
  readonly mail: MailDriver;
  readonly outbox: Outbox;
  readonly log: Log;
}

export class EmailConfirmation {
  readonly #mode: EmailConfirmationMode;
  readonly #serviceUrl: string;
  readonly #dependencies: EmailConfirmationDependencies;

  constructor(
    options: { readonly mode: EmailConfirmationMode; readonly serviceUrl: string },
    dependencies: EmailConfirmationDependencies,
  ) {
    this.#mode = options.mode;
    this.#serviceUrl = options.serviceUrl;
    this.#dependencies = dependencies;
  }

  /** True where a new address of a user takes effect only when it is confirmed. */
  get isRequired(): boolean {
    return this.#mode === "require";
  }

  /**
   * Sends a token to an address in the background, if it has an account that has not confirmed it.
   * @param applicationId for a virtual user of this application
   * @param address network address of the caller, for the hourly limit
   * @throws too_many_requests per network address; a limit per account sends no mail and is not reported
   */
  async request(emailText: string, applicationId: string | undefined, address: string): Promise<void> {
    const { limits, outbox, repository } = this.#dependencies;
    await limits.confirmationByAddress.count(addressThrottleKey(address));
    outbox.add(async () => {
      const email = normalizeEmail(emailText);
      const user = email === undefined ? undefined : repository.findUserByEmail(email, applicationId)?.value;
      if (user !== undefined && user.email_verified !== true) await this.#send(user, user.email);
    });
  }

  /** Queues the mail after a sign-up or a change of address, where such mails are sent by themselves. */
  ask(user: UserRecord): void {
    if (this.#mode === "on_request" || user.email_verified === true || user.application_id !== undefined) return;
    this.#dependencies.outbox.add(async () => this.#send(user, user.email));
  }

  /** Queues the mail to the new address of a user, who keeps the old one until the token comes back. */
  askForChange(user: UserRecord, email: string): void {
    this.#dependencies.outbox.add(async () => this.#send(user, email));
  }

  /**
   * Confirms the address to which a token was mailed, and makes it the user's where it is a new one.
   * @throws confirmation_token_invalid with the same words for unknown, used, expired and void tokens; email_taken when
   *   another user has the new address by now
   */
  async confirm(tokenText: string): Promise<void> {
    const { repository, confirmations, resets, notices, log } = this.#dependencies;
    const { before, email } = await retryOnConflict(async () => {
      const token = this.#require(tokenText);
      const { user, record } = token;
      const isNew = record.value.email !== user.value.email;
      try {
        await repository.commit(
          mergeCommits(
            confirmations.useCommit(token),
            repository.updateUserCommit(user, { ...user.value, email: record.value.email, email_verified: true }),
            // A reset token that was mailed to the old address must not open the account of the new one.
            isNew ? resets.voidCommit(user.value.id) : {},
          ),
        );
      } catch (error) {
        if (error instanceof StoreConflict && repository.isEmailConflict(error.key)) throw emailTaken();
        throw error;
      }
      return { before: user.value, email: record.value.email };
    });
    if (before.email !== email) notices.tell(before.email, ["address"]);
    log.info("e-mail address confirmed", { subject: `user:${before.id}` });
  }

  /** Throws `email_unconfirmed` for a user who must confirm the address before logging in. */
  requireConfirmed(user: UserRecord): void {
    if (!this.isRequired || user.email_verified === true || user.application_id !== undefined) return;
    throw new AppError("email_unconfirmed", {
      message: "the e-mail address is not confirmed yet; POST /api/v1/confirm_email sends the mail again",
    });
  }

  async #send(user: UserRecord, email: string): Promise<void> {
    const { confirmations, limits, mail } = this.#dependencies;
    try {
      await limits.confirmationByAccount.count(accountThrottleKey(user.email, user.application_id));
    } catch (error) {
      // The account got enough mails this hour. This is no failure, and the request was answered before.
      if (error instanceof AppError && error.code === "too_many_requests") return;
      throw error;
    }
    const token = await confirmations.issue(user.id, { email, current_email: user.email });
    if (token === undefined) return;
    const { lifeMinutes } = confirmations;
    await mail.send(emailConfirmationMail({ to: email, serviceUrl: this.#serviceUrl, token, minutes: lifeMinutes }));
  }

  #require(text: string): MailedToken<ConfirmationRecord> {
    const token = this.#dependencies.confirmations.find(text);
    // A token of an address that the user had once must not bring it back.
    if (token === undefined || token.record.value.current_email !== token.user.value.email)
      throw new AppError("confirmation_token_invalid", {
        message: "the confirmation token is not valid: it was used or has expired",
      });
    return token;
  }
}
