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
}

/** By `<scheme>/<curve>`, both as the API spells them. */
export const PROOF_SYSTEMS = {
  "groth16/BN254": { scheme: "groth16", curve: "BN254", setup: "own", provingKeyFormat: "snarkjs-zkey" },
  "groth16/BLS12_381": { scheme: "groth16", curve: "BLS12_381", setup: "own", provingKeyFormat: "snarkjs-zkey" },
  "plonk/BN254": { scheme: "plonk", curve: "BN254", setup: "universal", provingKeyFormat: "proofwright-plonk" },
  "plonk/BLS12_381": { scheme: "plonk", curve: "BLS12_381", setup: "universal", provingKeyFormat: "proofwright-plonk" },
  "fflonk/BN254": { scheme: "fflonk", curve: "BN254", setup: "universal", provingKeyFormat: "snarkjs-zkey" },
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
