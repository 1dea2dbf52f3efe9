/**
 * The proof systems of this server, a scheme on a curve each, as plain values: what the main thread must know of them
 * without loading their arithmetic. What computes them is in table.ts.
 */
import type { CurveName } from "../curves/curve-parameters.js";

/** What is fixed for a proof system. */
interface ProofSystemRow {
  readonly scheme: "groth16" | "plonk" | "fflonk";
  readonly curve: CurveName;
  /** Whether each circuit has a setup of its own, or keys follow from a structured reference string. */
  readonly setup: "own" | "universal";
  /** Format of the proving key's file. */
  readonly provingKeyFormat: string;
  /**
   * Proofs of a batch that one thread verifies in one go, while others wait for it: 15 to 30 ms where all are valid.
   * Measured on one thread of an AMD EPYC, decoding included: 64 take 16 ms with Groth16 on BN254 and 56 ms on
   * BLS12-381, 45 ms with PLONK, 24 ms with FFLONK. Larger slices save less than a tenth of a proof's time. Wrong
   * proofs are looked for by halves, which takes some times as long.
   */
  readonly verifySliceItems: number;
}

/** Format of snarkjs' `.zkey`, as records and routes name it. */
export const ZKEY_FORMAT = "snarkjs-zkey";

/** By `<scheme>/<curve>`, both as the API spells them. */
export const PROOF_SYSTEMS = {
  "groth16/BN254": {
    scheme: "groth16",
    curve: "BN254",
    setup: "own",
    provingKeyFormat: ZKEY_FORMAT,
    verifySliceItems: 64,
  },
  "groth16/BLS12_381": {
    scheme: "groth16",
    curve: "BLS12_381",
    setup: "own",
    provingKeyFormat: ZKEY_FORMAT,
    verifySliceItems: 32,
  },
  "plonk/BN254": {
    scheme: "plonk",
    curve: "BN254",
    setup: "universal",
    provingKeyFormat: "proofwright-plonk",
    verifySliceItems: 32,
  },
  "plonk/BLS12_381": {
    scheme: "plonk",
    curve: "BLS12_381",
    setup: "universal",
    provingKeyFormat: "proofwright-plonk",
    verifySliceItems: 16,
  },
  "fflonk/BN254": {
    scheme: "fflonk",
    curve: "BN254",
    setup: "universal",
    provingKeyFormat: ZKEY_FORMAT,
    verifySliceItems: 64,
  },
} as const satisfies Readonly<Record<string, ProofSystemRow>>;

export type ProofSystemName = keyof typeof PROOF_SYSTEMS;

/**
 * Returns the name of the proof system of a scheme on a curve, both by the names of the catalog; undefined when there
 * is none.
 */
export function proofSystemName(scheme: string, curve: string): ProofSystemName | undefined {
  const name = `${scheme}/${curve}`;
  return Object.hasOwn(PROOF_SYSTEMS, name) ? (name as ProofSystemName) : undefined;
}
