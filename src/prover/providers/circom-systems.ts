/** The schemes and curves that circom's circuits are proven with, and circom's names for their primes. */
import { PROOF_SYSTEMS, proofSystemName, type ProofSystemName } from "../../engine/proof-systems/names.js";
import { AppError, assert } from "../../platform/errors.js";
import { CURVE_ALIASES, canonicalCurve } from "../curve-names.js";
import type { OfferedSystem } from "./provider.js";

type System = Pick<OfferedSystem, "proving_scheme" | "curve">;

/** The curve of the EVM's precompiles, on which the Solidity verifiers stand. */
const SOLIDITY_CURVE = "BN254";
/** The curve of the published files that this server takes. */
const POWERS_OF_TAU_CURVE = "BN254";
/** A row offers a system; what computes it must exist first. */
const OFFERED = [
  "groth16/BN254",
  "groth16/BLS12_381",
  "plonk/BN254",
  "plonk/BLS12_381",
  "fflonk/BN254",
] as const satisfies readonly ProofSystemName[];

export const CIRCOM_SYSTEMS: readonly OfferedSystem[] = OFFERED.map((name) => {
  const { scheme, curve, setup, provingKeyFormat, verifySliceItems } = PROOF_SYSTEMS[name];
  return {
    ...{ proving_scheme: scheme, curve, setup, noteCurve: curve, importCurve: curve, verifySliceItems },
    ...(setup === "universal" || curve === POWERS_OF_TAU_CURVE ? { stringCurve: curve } : {}),
    keyFormats: { proving_key: provingKeyFormat, verifying_key: "snarkjs-json" },
    forms: curve === SOLIDITY_CURVE ? ["snarkjs", "solidity"] : ["snarkjs"],
  };
});

/** Returns the proof system of a prover of circom's. */
export function proofSystemOf(prover: System): ProofSystemName {
  const name = proofSystemName(prover.proving_scheme, prover.curve);
  assert(name !== undefined, "a prover was registered with a proof system that this server has");
  return name;
}

/** Returns what is fixed for the proof system of a prover of circom's. */
export function proofSystemRow(prover: System): (typeof PROOF_SYSTEMS)[ProofSystemName] {
  return PROOF_SYSTEMS[proofSystemOf(prover)];
}

/**
 * Requires that a circuit's prime, by circom's name, is that of its curve.
 * @throws AppError `prover_unsupported`, naming the supported one
 */
export function requirePrime(prime: string | undefined, curve: string): void {
  const curves = CIRCOM_SYSTEMS.map((system) => system.curve);
  if (prime === undefined || canonicalCurve(prime, curves) === curve) return;
  const names = Object.keys(CURVE_ALIASES).filter((alias) => CURVE_ALIASES[alias] === curve);
  throw new AppError("prover_unsupported", {
    message: `the prime ${prime} is not supported with ${curve}; supported: ${[curve, ...names].join(", ")}`,
    details: [
      { message: `supported: ${[curve, ...names].join(", ")}`, code: "prover_unsupported", path: "options.prime" },
    ],
  });
}
