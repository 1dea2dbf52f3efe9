/**
 * The records of webhooks and of their deliveries.
 *
 *   ["webhook", owner, id]                                   -> WebhookRow
 *   ["webhook_delivery", owner, webhook, id]                 -> DeliveryRow
 *   ["webhook_delivery#due", owner, webhook, time, ...]      deliveries that wait, by the time of the next attempt
 *   ["webhook_delivery#ended", owner, webhook, ...]          the others
 *   ["webhook_delivery#sending", owner, webhook, ...]        those of the first that are being sent
 *   ["webhook_success", owner, webhook]                      -> when a message arrived last
 */
import { ownerKey, type Subject } from "../auth/principal.js";
import { notFound } from "../errors.js";
import { mergeCommits } from "../store/commits.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../store/store.js";
import { defineTable, type Listing, type Page, type Table } from "../store/tables.js";
import type { AttemptJson, DeliveryDetailJson, DeliveryJson, DeliveryState, WebhookJson } from "./webhook-schemas.js";
import type { SecretPlace } from "./webhook-secrets.js";

export interface WebhookRow extends Omit<WebhookJson, "previous_secret_until"> {
  readonly owner: Subject;
  readonly secret: SecretPlace;
  readonly previous_secret_until: string | null;
  /** Number of the last event that is not told to it. */
  readonly since_event: number;
}

/** The webhook of a delivery. */
export interface WebhookPlace {
  readonly owner: Subject;
  readonly webhook_id: string;
}

export interface DeliveryRow extends WebhookPlace {
  readonly id: string;
  readonly created_at: string;
  readonly type: string;
  readonly event_id: number | null;
  readonly state: DeliveryState;
  /** Attempts since it was queued, or queued again. */
  readonly tries: number;
  readonly attempts: readonly AttemptJson[];
  readonly next_attempt_at: string | null;
  /** True while an attempt runs, or was cut off by the end of its process. */
  readonly is_sending?: true;
  readonly ended_at: string | null;
  /** The text that is signed and sent. */
  readonly payload: string;
}

/** Ended deliveries of a webhook that are kept. */
const ENDED_KEPT_MAX = 500;
/** Parts of the key of a webhook: its owner's kind and id, and its own id. */
const PLACE_PARTS = 3;
/** Records that one commit drops beyond those that are kept. */
const DROPPED_MAX = 20;

export class WebhookRecords {
  readonly #store: Store;
  readonly webhooks: Table<WebhookRow, "owner", never>;
  readonly deliveries: Table<DeliveryRow, "webhook" | "due" | "ended" | "sending", never>;

  constructor({ store }: { readonly store: Store }) {
    this.#store = store;
    this.webhooks = defineTable<WebhookRow, "owner">(
      {
        name: "webhook",
        key: ({ owner, id }) => [...ownerKey(owner), id],
        indexes: { owner: ({ owner }) => ownerKey(owner) },
      },
      { store },
    );
    this.deliveries = defineTable<DeliveryRow, "webhook" | "due" | "ended" | "sending">(
      {
        name: "webhook_delivery",
        key: (row) => [...placeKey(row), row.id],
        indexes: {
          webhook: placeKey,
          due: (row) => (row.next_attempt_at === null ? undefined : [...placeKey(row), row.next_attempt_at]),
          ended: (row) => (row.next_attempt_at === null ? placeKey(row) : undefined),
          sending: (row) => (row.is_sending === true ? placeKey(row) : undefined),
        },
      },
      { store },
    );
  }

  /** Commits parts as one. Throws as the store does. */
  async commit(...parts: readonly StoreCommit[]): Promise<void> {
    await this.#store.commit(mergeCommits(...parts));
  }

  /** Returns a webhook of an owner. Throws `not_found`. */
  require(owner: Subject, id: string): StoreRecord<WebhookRow> {
    const found = this.webhooks.get([...ownerKey(owner), id]);
    if (found === undefined) throw notFound("webhook");
    return found;
  }

  /** Returns a delivery of a webhook. Throws `not_found`. */
  requireDelivery(place: WebhookPlace, id: string): StoreRecord<DeliveryRow> {
    const found = this.deliveries.get([...placeKey(place), id]);
    if (found === undefined) throw notFound("delivery");
    return found;
  }

  /** Number of webhooks of an owner. */
  countOf(owner: Subject): number {
    return this.webhooks.count("owner", ownerKey(owner));
  }

  /** One page of an owner's webhooks, oldest first. */
  ofOwner(owner: Subject, page: Page): Listing<WebhookRow> {
    return this.webhooks.list("owner", ownerKey(owner), { page });
  }

  /** One page of a webhook's deliveries, newest first. */
  deliveriesOf(place: WebhookPlace, page: Page, state: DeliveryState | undefined): Listing<DeliveryRow> {
    return this.deliveries.list("webhook", placeKey(place), {
      page,
      reverse: true,
      ...(state === undefined ? {} : { filter: (row) => row.state === state }),
    });
  }

  /** Number of deliveries of a webhook that wait. */
  countWaiting(place: WebhookPlace): number {
    return this.deliveries.count("due", placeKey(place));
  }

  /** The webhooks for which deliveries wait, of one owner or of all. */
  waiting(owner: Subject | undefined): WebhookRow[] {
    const prefix = owner === undefined ? [] : ownerKey(owner);
    const soonest = this.deliveries.firstOfEach("due", prefix, PLACE_PARTS);
    return soonest.flatMap(({ value }) => this.webhooks.get(placeKey(value))?.value ?? []);
  }

  /** The deliveries that are being sent, or were when a process ended. */
  sending(): StoreRecord<DeliveryRow>[] {
    return this.deliveries.records("sending", []);
  }

  /** The deliveries of a webhook whose next attempt is the soonest. */
  soonest(place: WebhookPlace, limit: number): StoreRecord<DeliveryRow>[] {
    return this.deliveries.records("due", placeKey(place), { page: 1, rpp: limit });
  }

  /** Returns the commit that drops the oldest ended deliveries, so that one more may end. */
  trimCommit(place: WebhookPlace): StoreCommit {
    const extra = this.deliveries.count("ended", placeKey(place)) + 1 - ENDED_KEPT_MAX;
    if (extra <= 0) return {};
    const oldest = this.deliveries.records("ended", placeKey(place), { page: 1, rpp: Math.min(extra, DROPPED_MAX) });
    return mergeCommits(...oldest.map((record) => this.deliveries.deleteCommit(record)));
  }

  /** When a message arrived last; undefined before the first. */
  lastSuccess(place: WebhookPlace): string | undefined {
    return this.#store.get<string>(successKey(place))?.value;
  }

  /** Returns the commit that notes an arrival. */
  successCommit(place: WebhookPlace, at: string): StoreCommit {
    return { puts: [{ key: successKey(place), value: at }] };
  }

  /** Returns the commit that deletes a webhook with everything of it. */
  deletion(record: StoreRecord<WebhookRow>): StoreCommit {
    const place = placeOf(record.value);
    const tables = [
      "webhook_delivery",
      ...["webhook", "due", "ended", "sending"].map((index) => `webhook_delivery#${index}`),
    ];
    return mergeCommits(this.webhooks.deleteCommit(record), {
      deletes: [successKey(place)],
      deletePrefixes: tables.map((name) => [name, ...placeKey(place)]),
    });
  }
}

/** Returns where the deliveries of a webhook are. */
export function placeOf({ owner, id }: WebhookRow): WebhookPlace {
  return { owner, webhook_id: id };
}

/** Returns a webhook as clients see it. */
export function webhookOnWire({
  owner: _owner,
  secret: _secret,
  since_event: _since,
  ...row
}: WebhookRow): WebhookJson {
  return row;
}

/** Returns a delivery as lists show it. */
export function deliveryOnWire(row: DeliveryRow): DeliveryJson {
  const { payload: _payload, ...delivery } = deliveryDetail(row);
  return delivery;
}

/** Returns a delivery with its payload. */
export function deliveryDetail(delivery: DeliveryRow): DeliveryDetailJson {
  const { owner: _owner, tries: _tries, is_sending: _isSending, attempts, ...row } = delivery;
  return { ...row, attempts: [...attempts] };
}

/** Returns a delivery of which no attempt runs. */
export function notSending({ is_sending: _ended, ...row }: DeliveryRow): DeliveryRow {
  return row;
}

function placeKey({ owner, webhook_id: id }: WebhookPlace): StoreKey {
  return [...ownerKey(owner), id];
}

function successKey(place: WebhookPlace): StoreKey {
  return ["webhook_success", ...placeKey(place)];
}
