/** Mails to whoever looks after an owner: a user, or who made the application or organization. */
import type { Subject } from "../../platform/auth/principal.js";
import type { MailDriver } from "../../platform/mail/mail.js";
import type { Outbox } from "../../platform/mail/outbox.js";
import type { IdentityRepository } from "../repository.js";
import type { TenantRepository } from "../tenants/tenant-repository.js";
import { webhookDisabledMail } from "./notification-mail.js";

export interface OwnerNoticesDependencies {
  readonly repository: Pick<IdentityRepository, "findUser">;
  readonly tenants: Pick<TenantRepository, "applications" | "organizations">;
  readonly mail: MailDriver;
  readonly outbox: Outbox;
}

export class OwnerNotices {
  readonly #serviceUrl: string;
  readonly #with: OwnerNoticesDependencies;

  constructor(options: { readonly serviceUrl: string }, dependencies: OwnerNoticesDependencies) {
    this.#serviceUrl = options.serviceUrl;
    this.#with = dependencies;
  }

  /** Queues a mail that a webhook was disabled; none where nobody with an address looks after the owner. */
  webhookDisabled(
    owner: Subject,
    webhook: { readonly id: string; readonly url: string; readonly reason: string },
  ): void {
    const { repository, mail, outbox } = this.#with;
    const userId = this.#userOf(owner);
    const to = userId === null ? undefined : repository.findUser(userId)?.value.email;
    if (to === undefined || to === "") return;
    const message = webhookDisabledMail({ to, serviceUrl: this.#serviceUrl, ...webhook });
    outbox.add(async () => {
      await mail.send(message);
    });
  }

  #userOf({ kind, id }: Subject): string | null {
    if (kind === "user") return id;
    const { applications, organizations } = this.#with.tenants;
    return (kind === "application" ? applications : organizations).get([id])?.value.user_id ?? null;
  }
}
