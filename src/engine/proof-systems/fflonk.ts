/** FFLONK on BN254, the only curve of snarkjs' form, behind the port of proof systems. */
import { BN254 } from "../curves/bn254.js";
import { decodeFflonkProofs, encodeFflonkProofHex, fflonkProofToJson } from "../encoding/fflonk-proof.js";
import { fflonkSolidityArguments, fflonkSolidityVerifier } from "../encoding/fflonk-solidity.js";
import { fflonkVerifyingKeyFromJson } from "../encoding/fflonk-verifying-key.js";
import { importFflonkKey, importFflonkVerifyingKey } from "../fflonk/import-fflonk-key.js";
import { makeFflonkKey } from "../fflonk/make-fflonk-key.js";
import type { FflonkProof } from "../fflonk/fflonk-values.js";
import { readFflonkZkey, type FflonkZkey } from "../fflonk/read-zkey.js";
import { checkFflonkKey } from "../fflonk/stored-fflonk-key.js";
import { prepareFflonkKey, verifyFflonk, verifyFflonkBatch, type PreparedFflonkKey } from "../fflonk/verify-fflonk.js";
import { randomNonZero } from "../field/bytes.js";
import { loadPairing } from "../groth16/pairing-backend.js";
import { buildFflonkKey } from "../kernels/fflonk/build-fflonk-key.js";
import type { ResidentFflonkKey } from "../kernels/fflonk/fflonk-key.js";
import { FFLONK_BLINDING_COUNT } from "../kernels/fflonk/fflonk-layout.js";
import { FflonkProver } from "../kernels/fflonk/fflonk-prover.js";
import type { KernelProver, ProofSystem } from "./proof-system.js";
import { publishedKey } from "./published-key.js";

type FflonkSystem = ProofSystem<FflonkZkey, ResidentFflonkKey, FflonkProof, PreparedFflonkKey>;

/** Returns FFLONK. */
export function fflonkSystem(): FflonkSystem {
  const openProver = (key: ResidentFflonkKey): KernelProver<FflonkProof> => {
    const prover = new FflonkProver(key);
    const blinding = (): bigint[] => Array.from({ length: FFLONK_BLINDING_COUNT }, () => randomNonZero(BN254.r));
    return {
      prove: (witness, team) => prover.prove(witness, blinding(), team).proof,
      help: (team) => {
        prover.help(team);
      },
    };
  };
  return {
    curve: BN254,
    makeKey: (r1cs, options) => Promise.resolve(makeFflonkKey(r1cs, options)),
    checkKey: async (stored) => await checkFflonkKey(stored, await loadPairing("reference")),
    importKey: importFflonkKey,
    importVerifyingKey: importFflonkVerifyingKey,
    solidityVerifier: async (verifyingKey) => {
      const pairing = await loadPairing("reference");
      return await fflonkSolidityVerifier(publishedKey(fflonkVerifyingKeyFromJson(verifyingKey, pairing)));
    },
    readProvingKey: readFflonkZkey,
    openKey: ({ gates, setup, verifyingKey: { c0 } }, options) => buildFflonkKey(gates, setup, { ...options, c0 }),
    openProver,
    // There is no other implementation, but there is other arithmetic. The key is built for this proof alone.
    proveOnReference: ({ gates, setup, verifyingKey: { c0 } }, witness) =>
      Promise.resolve(
        openProver(buildFflonkKey(gates, setup, { workspaces: 1, preferred: "integer", c0 })).prove(witness),
      ),
    encodeHex: encodeFflonkProofHex,
    toJson: fflonkProofToJson,
    solidityArguments: fflonkSolidityArguments,
    decodeProofs: decodeFflonkProofs,
    loadPairing,
    prepareKey: (verifyingKey, pairing) =>
      prepareFflonkKey(pairing, publishedKey(fflonkVerifyingKeyFromJson(verifyingKey, pairing))),
    verify: verifyFflonk,
    verifyBatch: verifyFflonkBatch,
  };
}
