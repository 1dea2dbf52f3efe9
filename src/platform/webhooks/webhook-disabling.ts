/** Disables webhooks that do not work: the record and the event in one commit, and a mail to the owner. */
import { isoTimestamp, type Clock } from "../clock.js";
import type { Events } from "../events/events.js";
import type { Log } from "../log.js";
import { retryOnConflict } from "../store/commits.js";
import type { WebhookRecords, WebhookRow } from "./webhook-records.js";
import type { TellOwner } from "./webhook-secrets.js";

export interface DisableReason {
  readonly code: string;
  readonly message: string;
}

export class WebhookDisabling {
  readonly #with: {
    readonly records: WebhookRecords;
    readonly events: Events;
    readonly tellOwner: TellOwner;
    readonly clock: Clock;
    readonly log: Log;
  };

  constructor(dependencies: {
    readonly records: WebhookRecords;
    readonly events: Events;
    readonly tellOwner: TellOwner;
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.#with = dependencies;
  }

  /** Disables a webhook and tells its owner why; does nothing when it is disabled, or gone. */
  async disable({ owner, id }: WebhookRow, { code, message }: DisableReason): Promise<void> {
    const { records, events, tellOwner, clock, log } = this.#with;
    const at = isoTimestamp(clock.nowMs());
    const disabled = await retryOnConflict(async () => {
      const current = records.webhooks.get([owner.kind, owner.id, id]);
      if (current?.value.enabled !== true) return undefined;
      const next = { ...current.value, enabled: false, disabled_reason: { code, message, at }, updated_at: at };
      const payload = { webhook_id: id, name: next.name, reason: { code, message } };
      await records.commit(
        records.webhooks.updateCommit(current, next),
        events.commitOf([{ subject: `webhook.${id}.disabled`, payload, audience: [owner] }]),
      );
      return next;
    });
    if (disabled === undefined) return;
    log.warn("webhook disabled", { webhook_id: id, code });
    tellOwner(owner, { id, url: disabled.url, reason: message });
  }
}
