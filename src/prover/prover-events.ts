/**
 * The events of the registry, with the subjects and payloads that existing clients know. Each is part of the commit
 * that makes it true.
 */
import type { Subject } from "../platform/auth/principal.js";
import type { EventDraft } from "../platform/events/events.js";
import type { ProverStatus } from "./provisioning/lifecycle.js";
import type { StoredProofJob } from "./proof-jobs/proof-job-records.js";
import type { StoredProver } from "./repository.js";
import type { ProofRecord } from "./schemas.js";

/** Errors of a failed prover that its event has; its record has all. */
const ERRORS_TOLD_MAX = 10;
const MESSAGE_CHARACTERS_MAX = 1_000;

/** Announced statuses, with the word in the event's subject. */
const SETUP_WORDS: Readonly<Partial<Record<ProverStatus, string>>> = {
  pending_setup: "pending",
  provisioned: "complete",
  failed: "failed",
};

/** Returns the event of a prover's new status, and why it failed; none for statuses that are not announced. */
export function statusEvents(
  { id, name, proving_scheme, curve, errors, build }: StoredProver,
  status: ProverStatus,
): EventDraft[] {
  const word = SETUP_WORDS[status];
  if (word === undefined) return [];
  const told = errors.slice(0, ERRORS_TOLD_MAX).map(({ code, message }) => ({
    code,
    message: message.slice(0, MESSAGE_CHARACTERS_MAX),
  }));
  const payload = { prover_id: id, name, proving_scheme, curve, status, errors: told };
  return [{ subject: `privacy.prover.setup.${word}`, payload, audience: [build.owner] }];
}

/** Returns the event of an analysis that has come to its end. */
export function analysisFinished(owner: Subject, proverId: string, verdict: string | null): EventDraft[] {
  return [
    { subject: "privacy.prover.analysis.complete", payload: { prover_id: proverId, verdict }, audience: [owner] },
  ];
}

/** What happens to a ceremony, as the last word of its event's subject. */
export type CeremonyWord = "opened" | "joined" | "contribution" | "ending" | "ended" | "failed";

/** Returns the event of a step of a ceremony. */
export function ceremonyEvent(
  owner: Subject,
  proverId: string,
  word: CeremonyWord,
  more: { readonly index?: number } = {},
): EventDraft {
  return {
    subject: `privacy.prover.ceremony.${word}`,
    payload: { prover_id: proverId, ...more },
    audience: [owner],
  };
}

/** Returns the event of a spent note or nullifier, for the owner of the store that it went into. */
export function noteNullified(owner: Subject, proverId: string): EventDraft {
  return {
    subject: `privacy.prover.notification.${owner.id}.${proverId}.note.nullified`,
    payload: { prover_id: proverId },
    audience: [owner],
  };
}

/** Returns the event of a verifier on chain that has come to its end. */
export function verifierMoved(
  owner: Subject,
  verifier: Readonly<Record<"id" | "prover_id" | "network_id" | "status", string> & { address: string | null }>,
): EventDraft[] {
  const { id, prover_id, network_id, status, address } = verifier;
  const payload = { verifier_id: id, prover_id, network_id, address };
  return [{ subject: `privacy.prover.verifier.${status}`, payload, audience: [owner] }];
}

/** Returns the alarm of a verifier on chain that answers otherwise than this server. */
export function verifierDisagreed(
  owner: Subject,
  { verifierId, proverId, networkId, code }: Readonly<Record<"verifierId" | "proverId" | "networkId" | "code", string>>,
): EventDraft[] {
  const payload = { verifier_id: verifierId, prover_id: proverId, network_id: networkId, code };
  return [{ subject: "privacy.prover.verifier.disagreement", payload, audience: [owner] }];
}

/** Returns the event of a job that has come to its end, without what it proved. */
export function proofJobEnded({
  owner,
  state,
  failure,
  ...job
}: Pick<StoredProofJob, "id" | "owner" | "prover_id" | "batch_id" | "proof_id" | "state" | "failure">): EventDraft {
  const { id, prover_id, batch_id, proof_id } = job;
  const payload = { job_id: id, prover_id, batch_id, status: state, proof_id, code: failure?.code ?? null };
  return { subject: `privacy.prover.job.${state}`, payload, audience: [owner] };
}

/** Returns the event of a new proof, which is a note in the prover's store; without its inputs and public signals. */
export function noteDeposited(
  owner: Subject,
  { id, prover_id: proverId, hash, statement_hash, note_index }: ProofRecord,
): EventDraft {
  return {
    subject: `privacy.prover.notification.${owner.id}.${proverId}.note.deposited`,
    payload: { prover_id: proverId, proof_id: id, proof_hash: hash, statement_hash, note_index },
    audience: [owner],
  };
}
