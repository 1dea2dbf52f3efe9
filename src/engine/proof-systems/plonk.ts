/** PLONK behind the port of proof systems. */
import { BN254 } from "../curves/bn254.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { decodePlonkProofs, encodePlonkProofHex, plonkProofToJson } from "../encoding/plonk-proof.js";
import { plonkSolidityArguments, plonkSolidityVerifier } from "../encoding/plonk-solidity.js";
import { plonkVerifyingKeyFromJson } from "../encoding/plonk-verifying-key.js";
import { randomNonZero } from "../field/bytes.js";
import { loadPairing } from "../groth16/pairing-backend.js";
import { buildPlonkKey } from "../kernels/plonk/build-plonk-key.js";
import { BLINDING_COUNT } from "../kernels/plonk/plonk-layout.js";
import type { ResidentPlonkKey } from "../kernels/plonk/plonk-key.js";
import { PlonkProver } from "../kernels/plonk/plonk-prover.js";
import { readPlonkKey, type PlonkProvingKey } from "../plonk/key-file.js";
import type { PlonkProof } from "../plonk/key.js";
import { exportPlonkZkey } from "../plonk/zkey/export-plonk-key.js";
import { importPlonkKey, importPlonkVerifyingKey } from "../plonk/zkey/import-plonk-key.js";
import { makePlonkKey } from "../plonk/make-plonk-key.js";
import { checkPlonkKey } from "../plonk/stored-plonk-key.js";
import { verifyPlonkBatch } from "../plonk/verify-plonk-batch.js";
import { preparePlonkKey, verifyPlonk, type PreparedPlonkKey } from "../plonk/verify-plonk.js";
import { publishedKey } from "./published-key.js";
import type { KernelProver, ProofSystem } from "./proof-system.js";

type PlonkSystem = ProofSystem<PlonkProvingKey, ResidentPlonkKey, PlonkProof, PreparedPlonkKey>;

/** The EVM has precompiles for BN254 alone in the form that the contract uses. */
const SOLIDITY: Pick<PlonkSystem, "solidityVerifier" | "solidityArguments"> = {
  solidityVerifier: async (verifyingKey) => {
    const pairing = await loadPairing("reference");
    return await plonkSolidityVerifier(publishedKey(plonkVerifyingKeyFromJson(verifyingKey, pairing)), BN254);
  },
  solidityArguments: plonkSolidityArguments,
};

/** Returns PLONK on a curve. */
export function plonkSystem(curve: CurveParameters): PlonkSystem {
  const openProver = (key: ResidentPlonkKey): KernelProver<PlonkProof> => {
    const prover = new PlonkProver(key, curve);
    const blinding = () => Array.from({ length: BLINDING_COUNT }, () => randomNonZero(curve.r));
    return {
      prove: (witness, team) => prover.prove(witness, blinding(), team).proof,
      help: (team) => {
        prover.help(team);
      },
    };
  };
  return {
    curve,
    makeKey: async (r1cs, options) => await makePlonkKey(r1cs, curve, options),
    checkKey: async (stored) => await checkPlonkKey(stored, await loadPairing("reference", curve)),
    importKey: async (files, options) => await importPlonkKey(files, curve, options),
    importVerifyingKey: async (text) => await importPlonkVerifyingKey(text, curve),
    exportZkey: (provingKey) => exportPlonkZkey(provingKey, curve),
    ...(curve === BN254 ? SOLIDITY : {}),
    readProvingKey: (bytes) => readPlonkKey(bytes, curve),
    openKey: ({ gates, points, commitments }, places) =>
      buildPlonkKey(gates, points, { curve, ...places, commitments }),
    openProver,
    // There is no other implementation, but there is other arithmetic. The key is built for this proof alone.
    proveOnReference: ({ gates, points, commitments }, witness) => {
      const options = { curve, workspaces: 1, preferred: "integer", commitments } as const;
      return Promise.resolve(openProver(buildPlonkKey(gates, points, options)).prove(witness));
    },
    encodeHex: (proof) => encodePlonkProofHex(proof, curve),
    toJson: (proof) => plonkProofToJson(proof, curve),
    decodeProofs: decodePlonkProofs,
    loadPairing: async (backend) => await loadPairing(backend, curve),
    prepareKey: (verifyingKey, pairing) =>
      preparePlonkKey(pairing, publishedKey(plonkVerifyingKeyFromJson(verifyingKey, pairing))),
    verify: verifyPlonk,
    verifyBatch: verifyPlonkBatch,
  };
}
