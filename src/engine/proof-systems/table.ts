/** The proof systems by their names. */
import { BLS12_381 } from "../curves/bls12-381.js";
import { BN254 } from "../curves/bn254.js";
import { fflonkSystem } from "./fflonk.js";
import { groth16System } from "./groth16.js";
import type { ProofSystemName } from "./names.js";
import { plonkSystem } from "./plonk.js";
import type { ProofSystem } from "./proof-system.js";

const SYSTEMS: Readonly<Record<ProofSystemName, ProofSystem>> = {
  "groth16/BN254": groth16System(BN254),
  "groth16/BLS12_381": groth16System(BLS12_381),
  "plonk/BN254": plonkSystem(BN254),
  "plonk/BLS12_381": plonkSystem(BLS12_381),
  "fflonk/BN254": fflonkSystem(),
};

/** Returns what computes a proof system. */
export function proofSystem(name: ProofSystemName): ProofSystem {
  return SYSTEMS[name];
}
