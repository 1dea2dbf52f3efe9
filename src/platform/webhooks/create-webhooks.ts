/** Puts the parts of webhooks together. */
import type { Subject } from "../auth/principal.js";
import type { Clock } from "../clock.js";
import type { HandlersFor } from "../contract/route.js";
import type { EventLog } from "../events/event-log.js";
import type { Log } from "../log.js";
import type { Egress } from "../net/egress.js";
import type { Store } from "../store/store.js";
import { Deliverer } from "./deliverer.js";
import { EventFeed } from "./event-feed.js";
import { WebhookDisabling } from "./webhook-disabling.js";
import { webhookHandlers } from "./webhook-handlers.js";
import { WebhookRecords } from "./webhook-records.js";
import type { webhookRoutes } from "./webhook-routes.js";
import type { TellOwner, WebhookSecrets } from "./webhook-secrets.js";
import { WAITING_MAX, Webhooks } from "./webhooks.js";

export interface CreateWebhooksDependencies {
  readonly store: Store;
  readonly events: EventLog;
  readonly secrets: WebhookSecrets;
  readonly egress: Egress;
  readonly tellOwner: TellOwner;
  /** True while a subject may hear events, as at GET /events. */
  readonly mayListen: (owner: Subject) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Webhooks as the composition root sees them. */
export interface WebhookParts {
  readonly handlers: HandlersFor<typeof webhookRoutes>;
  readonly service: Webhooks;
  /** Queues events and sends messages, from the last stop on. */
  start(): Promise<void>;
  /** Sends what waited for the vault; to be called when it is unsealed. */
  wake(): void;
  /** Resolves when all present events were queued and all attempts that are due were made. */
  idle(): Promise<void>;
  /** Ends both; resolves when nothing is under way. `start` may follow, after another node did it. */
  stop(): Promise<void>;
  /** Deletes everything of an owner; to be called before its vaults are deleted. */
  purge(owner: Subject): Promise<void>;
}

/** Makes the parts. Nothing runs before `start`. */
export function createWebhooks(dependencies: CreateWebhooksDependencies): WebhookParts {
  const { store, events, egress, secrets, tellOwner, mayListen, clock, log } = dependencies;
  const records = new WebhookRecords({ store });
  const disabling = new WebhookDisabling({ records, events, tellOwner, clock, log });
  const deliverer = new Deliverer({ records, secrets, egress, disabling, clock, log });
  const onQueued = (owner: Subject): void => deliverer.wakeOwner(owner);
  const feed = new EventFeed({
    ...{ store, records, events, onQueued, mayListen, clock, log },
    onFull: async (webhook) => {
      const message = `${String(WAITING_MAX)} messages wait for it; see why its deliveries fail`;
      await disabling.disable(webhook, { code: "webhook_backlog_full", message });
    },
    onForbidden: async (webhook) => {
      const message = "its owner lacks the permission `subscribe`; have it granted, then enable the webhook";
      await disabling.disable(webhook, { code: "webhook_not_permitted", message });
    },
  });
  const service = new Webhooks({ records, secrets, egress, lastEvent: () => events.head(), onQueued, clock });
  return {
    service,
    handlers: webhookHandlers({ webhooks: service }),
    start: async () => {
      await feed.start();
      deliverer.start();
    },
    wake: () => deliverer.wake(),
    idle: async () => {
      await feed.idle();
      deliverer.wake();
      await deliverer.idle();
      // An attempt may have ended a webhook, which is an event itself.
      await feed.idle();
      await deliverer.idle();
    },
    stop: async () => {
      await feed.stop();
      await deliverer.stop();
    },
    purge: async (owner) => {
      await service.purge(owner);
    },
  };
}
