/** Makes deliveries: the message of an event for one webhook, as it will be signed and sent. */
import { isoTimestamp, type Clock } from "../clock.js";
import { newId } from "../ids.js";
import type { StoreValue } from "../store/store.js";
import type { DeliveryRow, WebhookPlace } from "./webhook-records.js";

export interface WebhookEvent {
  readonly type: string;
  /** Number in the log of events; null for a test. */
  readonly id: number | null;
  /** When it happened. */
  readonly at: string;
  readonly data: StoreValue;
}

/** Returns a delivery that waits for its first attempt. */
export function newDelivery(
  { owner, webhook_id }: WebhookPlace,
  { type, id, at, data }: WebhookEvent,
  clock: Clock,
): DeliveryRow {
  const now = isoTimestamp(clock.nowMs());
  return {
    id: newId(),
    created_at: now,
    owner,
    webhook_id,
    type,
    event_id: id,
    state: "pending",
    tries: 0,
    attempts: [],
    next_attempt_at: now,
    ended_at: null,
    payload: JSON.stringify({ type, timestamp: at, data }),
  };
}
