/**
 * The events of the registry, with the subjects and payloads that existing clients know. Each is part of the commit
 * that makes it true.
 */
import type { Subject } from "../platform/auth/principal.js";
import type { EventDraft } from "../platform/events/events.js";
import type { ProverStatus } from "./provisioning/lifecycle.js";

/** Announced statuses, with the word in the event's subject. */
const SETUP_WORDS: Readonly<Partial<Record<ProverStatus, string>>> = {
  pending_setup: "pending",
  provisioned: "complete",
  failed: "failed",
};

/** Returns the event of a prover's new status; none for statuses that are not announced. */
export function statusEvents(owner: Subject, proverId: string, status: ProverStatus): EventDraft[] {
  const word = SETUP_WORDS[status];
  return word === undefined
    ? []
    : [{ subject: `privacy.prover.setup.${word}`, payload: { prover_id: proverId }, audience: [owner] }];
}

/** Returns the event of an analysis that has come to its end. */
export function analysisFinished(owner: Subject, proverId: string, verdict: string | null): EventDraft[] {
  return [
    { subject: "privacy.prover.analysis.complete", payload: { prover_id: proverId, verdict }, audience: [owner] },
  ];
}

/** Returns the event of a spent note or nullifier, for the owner of the store that it went into. */
export function noteNullified(owner: Subject, proverId: string): EventDraft {
  return {
    subject: `privacy.prover.notification.${owner.id}.${proverId}.note.nullified`,
    payload: {},
    audience: [owner],
  };
}

/** Returns the event of a new note in the prover's store. */
export function noteDeposited(owner: Subject, proverId: string): EventDraft {
  return {
    subject: `privacy.prover.notification.${owner.id}.${proverId}.note.deposited`,
    payload: {},
    audience: [owner],
  };
}
