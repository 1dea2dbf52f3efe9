/** The transcript of a ceremony, from its records, its last key and what the check of phase 1 found. */
import { createHash } from "node:crypto";
import type { ContributionRecord } from "../../engine/groth16/ceremony/contribution-record.js";
import type { CeremonyTranscript, TranscriptContribution } from "../../engine/groth16/ceremony/transcript-document.js";
import { assert } from "../../platform/errors.js";
import type { EndedKey } from "../compute/ceremony-compute.js";
import type { CheckedPowers } from "../reference-strings/powers-records.js";
import type { StoredProver } from "../repository.js";
import type { StoredCeremony, StoredContribution } from "./ceremony-records.js";

interface TranscriptParts {
  readonly ceremony: StoredCeremony;
  /** First to last, the beacon's included. */
  readonly contributions: readonly StoredContribution[];
  readonly prover: StoredProver;
  /** What is known of phase 1; undefined where the record of its check is gone. */
  readonly powers: CheckedPowers | undefined;
  readonly ended: EndedKey;
  /** ISO 8601. */
  readonly endedAt: string;
}

/** Returns the document. */
export function transcriptOf(parts: TranscriptParts): CeremonyTranscript {
  const { ceremony, contributions, prover, powers, ended, endedAt } = parts;
  const { beacon, circuit_hash: hash, phase1, initial } = ceremony;
  const r1cs = prover.build.artifacts["circuit.r1cs"];
  const last = contributions.at(-1);
  assert(beacon.value !== null && hash !== null && phase1 !== null, "a ceremony that ends has begun");
  assert(initial !== null && r1cs !== undefined && last !== undefined, "a ceremony that ends has its files");
  return {
    ...{ format: "proofwright-ceremony-transcript", version: 1, ceremony_id: ceremony.id },
    ...{ created_at: ceremony.created_at, ended_at: endedAt, curve: "BN254" },
    circuit: { identifier: prover.identifier, r1cs_sha256: r1cs.sha256, hash },
    phase1: {
      sha256: phase1.sha256,
      power: phase1.power,
      ceremony_power: powers?.ceremony_power ?? null,
      contributions: (powers?.contributions ?? []).map(({ name, kind, response_hash }) => ({
        ...{ name, is_beacon: kind === "beacon", response_hash },
      })),
      checked_at: powers?.checked_at ?? null,
    },
    initial_key_sha256: initial.sha256,
    beacon: { ...beacon, value: beacon.value },
    contributions: contributions.map((stored, i) => contributionOf(stored, ended.contributions[i])),
    final: {
      zkey_sha256: last.key.sha256,
      verifying_key_sha256: createHash("sha256").update(ended.verifyingKey).digest("hex"),
    },
  };
}

function contributionOf(stored: StoredContribution, own: ContributionRecord | undefined): TranscriptContribution {
  assert(own !== undefined && own.hash === stored.hash, "the last key has the contributions that were taken");
  return {
    ...own,
    proof_of_knowledge: { ...own.proof_of_knowledge },
    beacon: own.beacon === null ? null : { ...own.beacon },
    contributor: stored.kind === "beacon" ? null : stored.name,
    contributed_at: stored.contributed_at,
    key_sha256: stored.key.sha256,
    statement: stored.statement,
  };
}
