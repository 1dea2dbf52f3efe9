/**
 * What the registry tells the bus (subjects and payloads as existing clients know them). Every event is part of the
 * commit that makes it true.
 */
import type { Subject } from "../platform/auth/principal.js";
import type { EventDraft } from "../platform/events/events.js";
import type { ProverStatus } from "./provisioning/lifecycle.js";

/** Statuses that are announced, by the word of their subject. */
const SETUP_WORDS: Readonly<Partial<Record<ProverStatus, string>>> = {
  pending_setup: "pending",
  provisioned: "complete",
  failed: "failed",
};

/** A prover came to a status; none when nobody is told of that status. */
export function statusEvents(owner: Subject, proverId: string, status: ProverStatus): EventDraft[] {
  const word = SETUP_WORDS[status];
  return word === undefined
    ? []
    : [{ subject: `privacy.prover.setup.${word}`, payload: { prover_id: proverId }, audience: [owner] }];
}

/** A note was added to the prover's store. */
export function noteDeposited(owner: Subject, proverId: string): EventDraft {
  return {
    subject: `privacy.prover.notification.${owner.id}.${proverId}.note.deposited`,
    payload: {},
    audience: [owner],
  };
}
