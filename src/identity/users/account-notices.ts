/** Mails that tell the owner of an account what was changed, at the address that the account had before. */
import type { MailDriver } from "../../platform/mail/mail.js";
import type { Outbox } from "../../platform/mail/outbox.js";
import { accountChangedMail, type AccountChange } from "./notification-mail.js";

export interface AccountNoticesDependencies {
  readonly mail: MailDriver;
  readonly outbox: Outbox;
}

export class AccountNotices {
  readonly #serviceUrl: string;
  readonly #dependencies: AccountNoticesDependencies;

  constructor(options: { readonly serviceUrl: string }, dependencies: AccountNoticesDependencies) {
    this.#serviceUrl = options.serviceUrl;
    this.#dependencies = dependencies;
  }

  /**
   * Queues a mail; the request does not wait for it.
   * @param to the address before the change; empty for a user of an external issuer who has none, who gets no mail
   */
  tell(to: string, changes: readonly AccountChange[]): void {
    if (to === "" || changes.length === 0) return;
    const message = accountChangedMail({ to, serviceUrl: this.#serviceUrl, changes });
    this.#dependencies.outbox.add(async () => {
      await this.#dependencies.mail.send(message);
    });
  }
}
