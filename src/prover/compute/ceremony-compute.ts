/** What a ceremony computes, as one interface; each step runs in a process of its own. */
import type { ContributionRecord } from "../../engine/groth16/ceremony/contribution-record.js";
import type { ComputeOptions, ReferenceStringFile, StepFailure, StoredFile } from "./compute.js";

/** A stored file with its length, from which the memory of its process is told. */
export interface SizedFile extends StoredFile {
  readonly bytes: number;
}

/** The key before any contribution. */
export interface FirstKey {
  /** snarkjs' `.zkey`. */
  readonly key: Uint8Array;
  /** BLAKE2b-512 by which snarkjs names it, hex. */
  readonly circuitHash: string;
  /** SHA-256 of the powers-of-tau file from which it follows. */
  readonly referenceString: string;
}

/** A contribution that was checked. */
export interface CheckedContribution {
  /** BLAKE2b-512, hex. */
  readonly hash: string;
  /** As it stands in the key. */
  readonly name: string | null;
}

/** The last key. */
export interface EndedKey {
  readonly key: Uint8Array;
  /** All contributions that it has, the beacon's last. */
  readonly contributions: readonly ContributionRecord[];
  /** snarkjs' verification_key.json, text. */
  readonly verifyingKey: string;
}

export interface CeremonyCompute {
  /** Makes the first key from the first of the strings that is large enough. */
  makeFirstKey(
    input: { readonly r1cs: Uint8Array; readonly strings: readonly ReferenceStringFile[] },
    options?: ComputeOptions,
  ): Promise<
    | { readonly ok: true; readonly value: FirstKey }
    | StepFailure
    /** No string is large enough; one of this power is. */
    | { readonly ok: false; readonly referencePower: number }
  >;
  /** Checks that a key goes on from another one with one contribution; whatever the file is, is a result. */
  checkContribution(
    input: { readonly before: SizedFile; readonly after: SizedFile },
    options?: ComputeOptions,
  ): Promise<
    | { readonly ok: true; readonly value: CheckedContribution }
    | { readonly ok: false; readonly code: string; readonly message: string }
  >;
  /** Applies the beacon to the last contributor's key. */
  applyBeacon(
    input: {
      readonly before: SizedFile;
      readonly name: string;
      readonly value: string;
      readonly iterationsExp: number;
    },
    options?: ComputeOptions,
  ): Promise<{ readonly ok: true; readonly value: EndedKey } | StepFailure>;
}
