/** PLONK against snarkjs. */
import { BN254 } from "../../src/engine/curves/bn254.js";
import { decodePlonkProofHex, encodePlonkProofHex, plonkProofToJson } from "../../src/engine/encoding/plonk-proof.js";
import { plonkVerifyingKeyToJson } from "../../src/engine/encoding/plonk-verifying-key.js";
import { makePlonkKey } from "../../src/engine/plonk/make-plonk-key.js";
import { randomNonZero } from "../../src/engine/field/bytes.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { buildPlonkKey } from "../../src/engine/kernels/plonk/build-plonk-key.js";
import { BLINDING_COUNT } from "../../src/engine/kernels/plonk/plonk-layout.js";
import { PlonkProver } from "../../src/engine/kernels/plonk/plonk-prover.js";
import { makeDevelopmentSetup } from "../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../src/engine/plonk/plonk-gates.js";
import { domainPowerOf } from "../../src/engine/plonk/key.js";
import { verifyPlonkBatch } from "../../src/engine/plonk/verify-plonk-batch.js";
import { preparePlonkKey, verifyPlonk } from "../../src/engine/plonk/verify-plonk.js";
import { loadReferenceKernels } from "../../src/engine/reference/reference-kernels.js";
import { preparedPowersOfTau } from "../powers-of-tau.js";
import { universalSubject } from "../universal.js";

export const subject = universalSubject({
  name: "plonk",
  domainPowerOf: ({ r1cs }) => domainPowerOf(gatesOf(r1cs).gateCount),
  makePoints: async (domainPower) => await makeDevelopmentSetup(await loadReferenceKernels(), domainPower),
  powersOfTau: preparedPowersOfTau,
  makeKey: async (r1cs, options) => await makePlonkKey(r1cs, BN254, options),
  build: ({ r1cs }, points) => buildPlonkKey(gatesOf(r1cs), points, { curve: BN254, workspaces: 2 }),
  openProver: (key) => {
    const prover = new PlonkProver(key, BN254);
    const blinding = (): bigint[] => Array.from({ length: BLINDING_COUNT }, () => randomNonZero(BN254.r));
    return (witness, team) => prover.prove(witness, blinding(), team).proof;
  },
  openVerifier: async ({ verifyingKey }) => {
    const prepared = preparePlonkKey(await loadPairing("wasm"), verifyingKey);
    return {
      publicCount: verifyingKey.publicCount,
      json: plonkVerifyingKeyToJson(verifyingKey, BN254),
      proofToJson: (proof) => plonkProofToJson(proof, BN254),
      encode: (proof) => encodePlonkProofHex(proof, BN254),
      decode: (hex) => {
        const decoded = decodePlonkProofHex(hex, prepared.kernels);
        if (!decoded.ok) throw new Error(decoded.message);
        return decoded.value;
      },
      verify: (proof, publicSignals) => verifyPlonk(prepared, proof, publicSignals),
      verifyBatch: (claims) => verifyPlonkBatch(prepared, claims),
    };
  },
});
