/** FFLONK against snarkjs. */
import { BN254 } from "../../src/engine/curves/bn254.js";
import {
  decodeFflonkProofHex,
  encodeFflonkProofHex,
  fflonkProofToJson,
} from "../../src/engine/encoding/fflonk-proof.js";
import { fflonkVerifyingKeyToJson } from "../../src/engine/encoding/fflonk-verifying-key.js";
import { fflonkDomainPowerOf, fflonkPowerCount } from "../../src/engine/fflonk/fflonk-values.js";
import { prepareFflonkKey, verifyFflonk, verifyFflonkBatch } from "../../src/engine/fflonk/verify-fflonk.js";
import { makeFflonkKey } from "../../src/engine/fflonk/make-fflonk-key.js";
import { randomNonZero } from "../../src/engine/field/bytes.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { buildFflonkKey } from "../../src/engine/kernels/fflonk/build-fflonk-key.js";
import { FFLONK_BLINDING_COUNT } from "../../src/engine/kernels/fflonk/fflonk-layout.js";
import { FflonkProver } from "../../src/engine/kernels/fflonk/fflonk-prover.js";
import { makeDevelopmentPowers } from "../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../src/engine/plonk/plonk-gates.js";
import type { PlonkGates } from "../../src/engine/plonk/plonk-gates.js";
import { loadReferenceKernels } from "../../src/engine/reference/reference-kernels.js";
import type { BenchCircuit } from "../circuits.js";
import { plainPowersOfTau } from "../powers-of-tau.js";
import { universalSubject } from "../universal.js";

const gates = ({ r1cs }: BenchCircuit): PlonkGates => gatesOf(r1cs, { dropsZeroTerms: true });

export const subject = universalSubject({
  name: "fflonk",
  domainPowerOf: (circuit) => fflonkDomainPowerOf(gates(circuit).gateCount),
  makePoints: async (domainPower) =>
    await makeDevelopmentPowers(await loadReferenceKernels(), fflonkPowerCount(domainPower)),
  powersOfTau: (domainPower) => plainPowersOfTau(domainPower, fflonkPowerCount(domainPower)),
  makeKey: makeFflonkKey,
  build: (circuit, points) => buildFflonkKey(gates(circuit), points, { workspaces: 2 }),
  openProver: (key) => {
    const prover = new FflonkProver(key);
    const blinding = (): bigint[] => Array.from({ length: FFLONK_BLINDING_COUNT }, () => randomNonZero(BN254.r));
    return (witness, team) => prover.prove(witness, blinding(), team).proof;
  },
  openVerifier: async ({ verifyingKey }) => {
    const prepared = prepareFflonkKey(await loadPairing("wasm"), verifyingKey);
    return {
      publicCount: verifyingKey.publicCount,
      json: fflonkVerifyingKeyToJson(verifyingKey, BN254),
      proofToJson: fflonkProofToJson,
      encode: encodeFflonkProofHex,
      decode: (hex) => {
        const decoded = decodeFflonkProofHex(hex, prepared.kernels);
        if (!decoded.ok) throw new Error(decoded.message);
        return decoded.value;
      },
      verify: (proof, publicSignals) => verifyFflonk(prepared, proof, publicSignals),
      verifyBatch: (claims) => verifyFflonkBatch(prepared, claims),
    };
  },
});
