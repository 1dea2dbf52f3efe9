/** What owners do with webhooks: create, change and delete them, and look after their deliveries. Knows no HTTP. */
import type { Subject } from "../auth/principal.js";
import { isoTimestamp, type Clock } from "../clock.js";
import { AppError } from "../errors.js";
import { newId } from "../ids.js";
import type { Egress } from "../net/egress.js";
import { retryOnConflict } from "../store/commits.js";
import type { Page } from "../store/tables.js";
import type { StoreCommit, StoreRecord } from "../store/store.js";
import { newDelivery } from "./new-delivery.js";
import { newWebhookSecret } from "./signature.js";
import {
  deliveryDetail,
  deliveryOnWire,
  placeOf,
  webhookOnWire,
  type DeliveryRow,
  type WebhookRecords,
  type WebhookRow,
} from "./webhook-records.js";
import type {
  CreateWebhookInput,
  DeliveryDetailJson,
  DeliveryJson,
  DeliveryState,
  UpdateWebhookInput,
  WebhookJson,
  WebhookWithSecretJson,
} from "./webhook-schemas.js";
import type { WebhookSecrets } from "./webhook-secrets.js";

export interface WebhooksDependencies {
  readonly records: WebhookRecords;
  readonly secrets: WebhookSecrets;
  readonly egress: Pick<Egress, "checkUrl">;
  /** Number of the newest event. */
  readonly lastEvent: () => number;
  /** Called after a delivery of an owner was queued. */
  readonly onQueued: (owner: Subject) => void;
  readonly clock: Clock;
}

interface Listed<Row> {
  readonly body: Row[];
  readonly total: number;
}

/** Webhooks of one owner. Each event is sent to each of them. */
const WEBHOOKS_MAX = 20;
/** Deliveries of a webhook that may wait. */
export const WAITING_MAX = 5_000;
const ROTATION_MS = 24 * 3_600_000;
const PURGE_PAGE = { page: 1, rpp: 100 };

export class Webhooks {
  readonly #with: WebhooksDependencies;

  constructor(dependencies: WebhooksDependencies) {
    this.#with = dependencies;
  }

  /**
   * Creates a webhook for the events after the present one.
   * @throws egress_refused for an address that is never reached; webhook_limit_reached; vault_sealed
   */
  async create(owner: Subject, input: CreateWebhookInput): Promise<WebhookWithSecretJson> {
    const { records, secrets, egress, lastEvent } = this.#with;
    egress.checkUrl(input.url);
    return await retryOnConflict(async () => {
      if (records.countOf(owner) >= WEBHOOKS_MAX)
        throw new AppError("webhook_limit_reached", {
          message: `an owner has at most ${String(WEBHOOKS_MAX)} webhooks; delete one that is not needed`,
        });
      const id = newId();
      const secret = newWebhookSecret();
      const { place, commit } = await secrets.prepare(owner, id, { current: secret });
      const now = this.#now();
      const row: WebhookRow = {
        id,
        created_at: now,
        updated_at: now,
        owner,
        name: input.name ?? null,
        url: input.url,
        types: input.types ?? [],
        subjects: input.subjects ?? [],
        enabled: true,
        disabled_reason: null,
        previous_secret_until: null,
        secret: place,
        since_event: lastEvent(),
      };
      await records.commit(records.webhooks.insertCommit(row), commit);
      return { ...webhookOnWire(row), secret };
    });
  }

  /** Returns one page, oldest first. */
  list(owner: Subject, page: Page): Listed<WebhookJson> {
    const { rows, total } = this.#with.records.ofOwner(owner, page);
    return { body: rows.map(webhookOnWire), total };
  }

  /** Returns a webhook. Throws `not_found`. */
  get(owner: Subject, id: string): WebhookJson {
    return webhookOnWire(this.#with.records.require(owner, id).value);
  }

  /**
   * Changes a webhook. Filters that change, and enabling, hold for the events after the present one.
   * @throws not_found; egress_refused
   */
  async update(owner: Subject, id: string, { enabled, ...input }: UpdateWebhookInput): Promise<WebhookJson> {
    if (input.url !== undefined) this.#with.egress.checkUrl(input.url);
    const row = await this.#change(owner, id, (current) => {
      const isEnabled = enabled ?? current.enabled;
      const isNew = input.types !== undefined || input.subjects !== undefined || isEnabled !== current.enabled;
      return {
        ...current,
        ...(input.url === undefined ? {} : { url: input.url }),
        ...(input.name === undefined ? {} : { name: input.name }),
        ...(input.types === undefined ? {} : { types: input.types }),
        ...(input.subjects === undefined ? {} : { subjects: input.subjects }),
        enabled: isEnabled,
        disabled_reason: isEnabled ? null : current.disabled_reason,
        since_event: isNew ? this.#with.lastEvent() : current.since_event,
      };
    });
    this.#with.onQueued(owner);
    return webhookOnWire(row);
  }

  /**
   * Gives a webhook a new secret; the one before also signs for a day.
   * @throws not_found; vault_sealed
   */
  async rotate(owner: Subject, id: string): Promise<WebhookWithSecretJson> {
    const { records, secrets } = this.#with;
    return await retryOnConflict(async () => {
      const current = records.require(owner, id);
      const previous = await this.#secretOf(current.value);
      const secret = newWebhookSecret();
      const sealed = await secrets.prepare(owner, id, {
        current: secret,
        ...(previous === undefined ? {} : { previous }),
      });
      const until = previous === undefined ? null : isoTimestamp(this.#with.clock.nowMs() + ROTATION_MS);
      const next = { ...current.value, secret: sealed.place, previous_secret_until: until, updated_at: this.#now() };
      await records.commit(
        records.webhooks.updateCommit(current, next),
        sealed.commit,
        secrets.deletion(owner, current.value.secret),
      );
      return { ...webhookOnWire(next), secret };
    });
  }

  /** Deletes a webhook, its secret and its deliveries. Throws `not_found` and `vault_sealed`. */
  async delete(owner: Subject, id: string): Promise<void> {
    const { records, secrets } = this.#with;
    await retryOnConflict(async () => {
      const current = records.require(owner, id);
      await records.commit(records.deletion(current), secrets.deletion(owner, current.value.secret));
    });
  }

  /** Deletes all webhooks of an owner whose vaults are about to be deleted. */
  async purge(owner: Subject): Promise<void> {
    const { records } = this.#with;
    for (;;) {
      const { rows } = records.ofOwner(owner, PURGE_PAGE);
      if (rows.length === 0) return;
      for (const { id } of rows)
        await retryOnConflict(async () => {
          await records.commit(records.deletion(records.require(owner, id)));
        });
    }
  }

  /** Queues an event of the type `webhook.test`. Throws `not_found`, `webhook_disabled`, `webhook_backlog_full`. */
  async test(owner: Subject, id: string): Promise<DeliveryJson> {
    const { records, clock } = this.#with;
    return await this.#queued(async () => {
      const webhook = requireEnabled(records.require(owner, id));
      const place = placeOf(webhook.value);
      if (records.countWaiting(place) >= WAITING_MAX)
        throw new AppError("webhook_backlog_full", {
          message: `${String(WAITING_MAX)} messages of the webhook wait; see why its deliveries fail`,
        });
      const event = { type: "webhook.test", id: null, at: this.#now(), data: { webhook_id: id } };
      const delivery = newDelivery(place, event, clock);
      await records.commit(unchanged(webhook), records.deliveries.insertCommit(delivery));
      return delivery;
    });
  }

  /** Returns one page of a webhook's deliveries, newest first. Throws `not_found`. */
  deliveries(
    owner: Subject,
    id: string,
    { state, ...page }: Page & { state?: DeliveryState | undefined },
  ): Listed<DeliveryJson> {
    const { records } = this.#with;
    const { rows, total } = records.deliveriesOf(placeOf(records.require(owner, id).value), page, state);
    return { body: rows.map(deliveryOnWire), total };
  }

  /** Returns a delivery with its payload. Throws `not_found`. */
  delivery(owner: Subject, id: string, deliveryId: string): DeliveryDetailJson {
    const { records } = this.#with;
    return deliveryDetail(records.requireDelivery(placeOf(records.require(owner, id).value), deliveryId).value);
  }

  /** Queues a delivery again, whatever became of it. Throws `not_found` and `webhook_disabled`. */
  async redeliver(owner: Subject, id: string, deliveryId: string): Promise<DeliveryJson> {
    const { records } = this.#with;
    return await this.#queued(async () => {
      const webhook = requireEnabled(records.require(owner, id));
      const current = records.requireDelivery(placeOf(webhook.value), deliveryId);
      const next: DeliveryRow = {
        ...current.value,
        state: "pending",
        tries: 0,
        next_attempt_at: this.#now(),
        ended_at: null,
      };
      await records.commit(unchanged(webhook), records.deliveries.updateCommit(current, next));
      return next;
    });
  }

  async #queued(attempt: () => Promise<DeliveryRow>): Promise<DeliveryJson> {
    const row = await retryOnConflict(attempt);
    this.#with.onQueued(row.owner);
    return deliveryOnWire(row);
  }

  async #change(owner: Subject, id: string, decide: (row: WebhookRow) => WebhookRow): Promise<WebhookRow> {
    const { records } = this.#with;
    return await retryOnConflict(async () => {
      const current = records.require(owner, id);
      const next = { ...decide(current.value), updated_at: this.#now() };
      await records.commit(records.webhooks.updateCommit(current, next));
      return next;
    });
  }

  /** The present secret; undefined when it was deleted from the vault, which a rotation mends. */
  async #secretOf({ owner, secret }: WebhookRow): Promise<string | undefined> {
    try {
      return (await this.#with.secrets.read(owner, secret)).current;
    } catch (error) {
      if (error instanceof AppError && error.code === "webhook_secret_missing") return undefined;
      throw error;
    }
  }

  #now(): string {
    return isoTimestamp(this.#with.clock.nowMs());
  }
}

/** A commit that holds only while the webhook is as it was read. */
export function unchanged({ key, version }: StoreRecord<WebhookRow>): StoreCommit {
  return { checks: [{ key, version }] };
}

function requireEnabled(webhook: StoreRecord<WebhookRow>): StoreRecord<WebhookRow> {
  if (!webhook.value.enabled)
    throw new AppError("webhook_disabled", { message: "the webhook is disabled; enable it first" });
  return webhook;
}
