/**
 * Whose turn it is: the queue and the lease of a ceremony as values, and how they change. Pure: the caller gives the
 * time and commits the result, so that the record alone is the truth, and a restart or a second server changes nothing.
 *
 * A turn is offered to the first of the queue for a short time, and taken as a lease. Whose turn ends without a
 * contribution goes to the end of the queue, and out of it after the third time.
 */
import { isoTimestamp } from "../../platform/clock.js";
import type { CeremonyLease, QueueEntry, StoredCeremony } from "./ceremony-records.js";
import { CONTRIBUTIONS_MAX } from "./ceremony-schemas.js";

/** Enough for a program that asks once a minute; less where the lease itself is shorter. */
const OFFER_SECONDS = 300;
/** A fourth contribution of the time of three others would hold up all. */
const RENEWALS_MAX = 3;
const MISSED_MAX = 3;
/** Each check of an upload takes the server as long as an honest one. */
const REFUSED_MAX = 3;

type Turns = Pick<StoredCeremony, "queue" | "lease">;

/** Returns whether contributions are taken: the ceremony is open, has room, and its deadline has not passed. */
export function isAccepting(
  { state, deadline, head }: Pick<StoredCeremony, "state" | "deadline" | "head">,
  nowMs: number,
): boolean {
  if (state !== "open" || (head?.index ?? 0) >= CONTRIBUTIONS_MAX) return false;
  return deadline === null || Date.parse(deadline) > nowMs;
}

/**
 * Returns the ceremony as it is at a time: a turn that has ended is over, and the next one is offered. The same object
 * where nothing changes.
 */
export function settleTurns(ceremony: StoredCeremony, nowMs: number): StoredCeremony {
  if (ceremony.state !== "open") return ceremony;
  const isOver = ceremony.lease !== null && Date.parse(ceremony.lease.expires_at) <= nowMs;
  const left = isOver ? afterMissed(ceremony) : ceremony;
  return offerNext(left, nowMs);
}

/** Returns the ceremony with a participant at the end of the queue. */
export function joinQueue(ceremony: StoredCeremony, entry: Omit<QueueEntry, "missed">, nowMs: number): StoredCeremony {
  return offerNext({ ...ceremony, queue: [...ceremony.queue, { ...entry, missed: 0 }] }, nowMs);
}

/** Returns the ceremony without a participant in its queue, and with the turn of the next one. */
export function leaveQueue(ceremony: StoredCeremony, participantId: string, nowMs: number): StoredCeremony {
  const queue = ceremony.queue.filter((entry) => entry.participant_id !== participantId);
  const lease = ceremony.lease?.participant_id === participantId ? null : ceremony.lease;
  return offerNext({ ...ceremony, queue, lease }, nowMs);
}

/**
 * Returns the ceremony with the lease of the participant whose turn it is; undefined where it is another's, or it was
 * renewed as often as it may be.
 */
export function takeLease(ceremony: StoredCeremony, participantId: string, nowMs: number): StoredCeremony | undefined {
  const { lease, lease_seconds } = ceremony;
  if (lease?.participant_id !== participantId) return undefined;
  const renewals = lease.taken ? lease.renewals + 1 : 0;
  if (renewals > RENEWALS_MAX) return undefined;
  const expires_at = isoTimestamp(nowMs + lease_seconds * 1000);
  return { ...ceremony, lease: { ...lease, taken: true, renewals, expires_at } };
}

/** Returns the ceremony with a lease that lasts at least so long, whose upload is being checked. */
export function holdLease(ceremony: StoredCeremony, untilMs: number): StoredCeremony {
  const { lease } = ceremony;
  if (lease === null || Date.parse(lease.expires_at) >= untilMs) return ceremony;
  return { ...ceremony, lease: { ...lease, expires_at: isoTimestamp(untilMs) } };
}

/** Returns the ceremony after an upload of its lease was refused; the third one ends the turn. */
export function refuseUpload(ceremony: StoredCeremony, nowMs: number): StoredCeremony {
  const { lease } = ceremony;
  if (lease === null) return ceremony;
  const refused = lease.refused + 1;
  if (refused < REFUSED_MAX) return { ...ceremony, lease: { ...lease, refused } };
  return offerNext(afterMissed(ceremony), nowMs);
}

function afterMissed<T extends Turns>(turns: T): T {
  const [first, ...rest] = turns.queue;
  if (first === undefined) return { ...turns, lease: null };
  const missed = first.missed + 1;
  const queue = missed >= MISSED_MAX ? rest : [...rest, { ...first, missed }];
  return { ...turns, queue, lease: null };
}

function offerNext(ceremony: StoredCeremony, nowMs: number): StoredCeremony {
  if (ceremony.lease !== null || !isAccepting(ceremony, nowMs)) return ceremony;
  const [first] = ceremony.queue;
  if (first === undefined) return ceremony;
  const seconds = Math.min(OFFER_SECONDS, ceremony.lease_seconds);
  const lease: CeremonyLease = {
    participant_id: first.participant_id,
    ...{ taken: false, renewals: 0, refused: 0, expires_at: isoTimestamp(nowMs + seconds * 1000) },
  };
  return { ...ceremony, lease };
}
