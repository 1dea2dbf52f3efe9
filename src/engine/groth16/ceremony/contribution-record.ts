/** A contribution as documents and answers name it: numbers, hex, and nothing that is not in the key. */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { uncompressedG1, uncompressedG2 } from "../../powers-of-tau/ceremony-challenge.js";
import { contributionHash } from "../phases/phase2.js";
import type { Phase2Contribution, Phase2Transcript } from "../phases/phase2.js";

/** All hex is lower case without 0x; points are uncompressed and big-endian, c1 before c0 in G2. */
export interface ContributionRecord {
  /** 1 for the first. */
  readonly index: number;
  readonly kind: "contribution" | "beacon";
  /** What its contributor called it, or null. */
  readonly name: string | null;
  /** BLAKE2b-512, by which snarkjs names the contribution. */
  readonly hash: string;
  /** Hash of the contribution before it; of the first the circuit's hash. */
  readonly previous_hash: string;
  /** delta in G1 after it. */
  readonly delta_g1: string;
  readonly proof_of_knowledge: {
    readonly s: string;
    readonly s_delta: string;
    readonly answered_delta: string;
    /** What it answers: the hash of the circuit's hash, of all contributions before it, and of its s and s_delta. */
    readonly answer: string;
  };
  /** Of a beacon its value, and the binary logarithm of the number of hashes. */
  readonly beacon: { readonly value: string; readonly iterations_exp: number } | null;
}

/** Describes every contribution of a transcript. */
export function contributionRecords(
  { circuitHash, contributions }: Phase2Transcript,
  curve: CurveParameters,
): ContributionRecord[] {
  let previous = hexOf(circuitHash);
  return contributions.map((contribution, i) => {
    const record = recordOf(contribution, { index: i + 1, previous }, curve);
    previous = record.hash;
    return record;
  });
}

/** Returns bytes in hex; not by Buffer, which browsers do not have. */
export function hexOf(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

function recordOf(
  contribution: Phase2Contribution,
  { index, previous }: { readonly index: number; readonly previous: string },
  curve: CurveParameters,
): ContributionRecord {
  const { delta, s, sd, spd, transcript, name, beacon } = contribution;
  return {
    index,
    kind: beacon === undefined ? "contribution" : "beacon",
    name: name ?? null,
    hash: hexOf(contributionHash(contribution, curve)),
    previous_hash: previous,
    delta_g1: hexOf(uncompressedG1(delta, curve)),
    proof_of_knowledge: {
      s: hexOf(uncompressedG1(s, curve)),
      s_delta: hexOf(uncompressedG1(sd, curve)),
      answered_delta: hexOf(uncompressedG2(spd, curve)),
      answer: hexOf(transcript),
    },
    beacon: beacon === undefined ? null : { value: hexOf(beacon.hash), iterations_exp: beacon.iterationsLog },
  };
}
