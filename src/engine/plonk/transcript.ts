/**
 * The challenges of PLONK by Fiat and Shamir's transformation, with Keccak-256 and the order of snarkjs. The first
 * depends on the verifying key's commitments, all public signals and the wires ("Frozen Heart", CVE-2022-29566: a
 * transcript without the public signals lets anyone forge proofs), and each up to v on the one before it. Only u does
 * not: as in snarkjs it hashes the two openings alone, the last that the prover says. How items become bytes:
 * transcript-hash.ts.
 *
 * Not bound by any are the domain's size, the number of public signals (but through the length of what is hashed), the
 * factors of the columns, tau in G2, and the name of scheme and circuit: the form of snarkjs has no place for them. A
 * verifier takes them from its key and never from the proof, so that no prover can choose them.
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { G1Point } from "../curves/points.js";
import { challengeOf } from "./transcript-hash.js";
import type { TranscriptItem } from "./transcript-hash.js";
import type { PlonkEvaluations, PlonkProof, PlonkVerifyingKey } from "./key.js";

/** Commitments of the first round. */
export type WireCommitments = Pick<PlonkProof, "a" | "b" | "c">;

/** Computes each challenge from what precedes it. */
export class PlonkTranscript {
  readonly #curve: CurveParameters;

  constructor(curve: CurveParameters) {
    this.#curve = curve;
  }

  /** Returns the permutation's challenges. */
  betaGamma(
    key: PlonkVerifyingKey,
    publicSignals: readonly bigint[],
    wires: WireCommitments,
  ): { readonly beta: bigint; readonly gamma: bigint } {
    const { m, l, r, o, k } = key.selectors;
    const beta = this.#hash([m, l, r, o, k, key.s1, key.s2, key.s3, ...publicSignals, wires.a, wires.b, wires.c]);
    return { beta, gamma: this.#hash([beta]) };
  }

  /** Returns the challenge that separates the parts of the quotient. */
  alpha({ beta, gamma }: { readonly beta: bigint; readonly gamma: bigint }, z: G1Point): bigint {
    return this.#hash([beta, gamma, z]);
  }

  /** Returns the point at which the polynomials are opened. */
  xi(alpha: bigint, { t1, t2, t3 }: Pick<PlonkProof, "t1" | "t2" | "t3">): bigint {
    return this.#hash([alpha, t1, t2, t3]);
  }

  /** Returns the challenge that separates the polynomials of the first opening. */
  v(xi: bigint, { a, b, c, s1, s2, zOmega }: PlonkEvaluations): bigint {
    return this.#hash([xi, a, b, c, s1, s2, zOmega]);
  }

  /** Returns the challenge that joins the two openings. */
  u({ wXi, wXiOmega }: Pick<PlonkProof, "wXi" | "wXiOmega">): bigint {
    return this.#hash([wXi, wXiOmega]);
  }

  #hash(items: readonly TranscriptItem[]): bigint {
    return challengeOf(this.#curve, items);
  }
}
