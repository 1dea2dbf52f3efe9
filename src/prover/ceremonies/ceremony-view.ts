/** A ceremony as its owner, its contributors and the public see it. */
import { settleTurns, isAccepting } from "./turns.js";
import type { StoredProver } from "../repository.js";
import type { StoredCeremony, StoredContribution, StoredParticipant } from "./ceremony-records.js";
import type { Ceremony, CeremonyContribution, Standing } from "./ceremony-schemas.js";
import { statementText } from "./statements/statements.js";

interface Seen {
  readonly ceremony: StoredCeremony;
  readonly contributions: readonly StoredContribution[];
  readonly prover: StoredProver;
  readonly nowMs: number;
}

/** Returns the members that everybody sees who sees the ceremony. */
export function ceremonyOnWire({ ceremony: stored, contributions, prover, nowMs }: Seen): Ceremony {
  const ceremony = settleTurns(stored, nowMs);
  const { owner: _owner, circuit_hash, initial, head, queue, lease, transcript, ...members } = ceremony;
  const holder = queue.find(({ participant_id }) => participant_id === lease?.participant_id);
  return {
    ...members,
    ...endOf(ceremony, prover),
    accepts: isAccepting(ceremony, nowMs),
    circuit: {
      identifier: prover.identifier,
      curve: prover.curve,
      r1cs_sha256: prover.build.artifacts["circuit.r1cs"]?.sha256 ?? null,
      hash: circuit_hash,
    },
    initial_key: initial === null ? null : { sha256: initial.sha256, bytes: initial.bytes },
    key: head,
    contributions: contributions.map((contribution) => contributionOnWire(ceremony, contribution)),
    queue: queue.map(({ participant_id, name }) => ({ participant_id, name })),
    lease:
      lease === null || holder === undefined
        ? null
        : {
            participant_id: lease.participant_id,
            name: holder.name,
            taken: lease.taken,
            expires_at: lease.expires_at,
          },
    transcript_sha256: transcript?.sha256 ?? null,
  };
}

/** Returns a contribution as clients see it. */
export function contributionOnWire(ceremony: StoredCeremony, contribution: StoredContribution): CeremonyContribution {
  const { sha256, bytes } = contribution.key;
  return { ...contribution, key: { sha256, bytes }, statement_text: statementText(ceremony, contribution) };
}

/** Returns the standing of a participant. */
export function standingOf(
  stored: StoredCeremony,
  participant: StoredParticipant,
  { nowMs, received }: { readonly nowMs: number; readonly received: number },
): Standing {
  const { queue, lease } = settleTurns(stored, nowMs);
  const { id: participant_id, name } = participant;
  const place = queue.findIndex((entry) => entry.participant_id === participant_id);
  const own = lease?.participant_id === participant_id ? lease : undefined;
  const waiting = place < 0 ? "gone" : own === undefined ? "waiting" : own.taken ? "leased" : "offered";
  return {
    ...{ participant_id, name, received },
    state: participant.contributed === null ? waiting : "contributed",
    position: place < 0 ? null : place + 1,
    expires_at: own?.expires_at ?? null,
  };
}

/** Provisioning may end a prover while its ceremony is prepared or ended; the prover says how. */
function endOf(
  { state, reason }: StoredCeremony,
  { status, errors }: StoredProver,
): Pick<Ceremony, "state" | "reason"> {
  if (status === "failed" && state !== "cancelled" && state !== "failed")
    return { state: "failed", reason: reason ?? errors[0]?.message ?? null };
  if (status === "provisioned") return { state: "ended", reason: null };
  return { state, reason };
}
