/** Groth16 behind the port of proof systems. */
import { BN254 } from "../curves/bn254.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { decodeProofs, encodeProofHex, proofToJson } from "../encoding/groth16-proof.js";
import { groth16SolidityArguments } from "../encoding/groth16-solidity.js";
import { solidityVerifier, verifyingKeyFromJson } from "../encoding/groth16-verifying-key.js";
import { randomNonZero } from "../field/bytes.js";
import { importGroth16Key, importGroth16VerifyingKey } from "../groth16/import-groth16-key.js";
import { makeGroth16Key } from "../groth16/make-key.js";
import { loadPairing } from "../groth16/pairing-backend.js";
import type { Groth16Proof } from "../groth16/proof.js";
import { makeGroth16KeyFromPowers } from "../groth16/phases/make-key-from-powers.js";
import { proveGroth16 } from "../groth16/prove.js";
import { ProvingKeyFormatError, readProvingKey, type Groth16ProvingKey } from "../groth16/proving-key.js";
import { checkGroth16Key } from "../groth16/stored-key.js";
import { verifyGroth16Batch } from "../groth16/verify-batch.js";
import { prepareWith, verifyGroth16, type PreparedVerifyingKey } from "../groth16/verify.js";
import { writeKeyTables } from "../kernels/groth16/key-tables.js";
import type { ResidentKey } from "../kernels/groth16/resident-key.js";
import { ResidentProver } from "../kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../kernels/groth16/resident-proving.js";
import { publishedKey } from "./published-key.js";
import type { ProofSystem } from "./proof-system.js";

type Groth16System = ProofSystem<Groth16ProvingKey, ResidentKey, Groth16Proof, PreparedVerifyingKey>;

/** The EVM has precompiles for BN254 alone in the form that the contract uses. */
const SOLIDITY: Pick<Groth16System, "solidityVerifier" | "solidityArguments"> = {
  solidityVerifier: async (verifyingKey) => {
    const pairing = await loadPairing("reference");
    return await solidityVerifier(publishedKey(verifyingKeyFromJson(verifyingKey, pairing)));
  },
  solidityArguments: groth16SolidityArguments,
};

/** Returns Groth16 on a curve. */
export function groth16System(curve: CurveParameters): Groth16System {
  return {
    curve,
    makeKey: async (r1cs, options) => {
      if (options.referenceString !== undefined) return await makeGroth16KeyFromPowers(r1cs, curve, options);
      const { execute, onProgress } = options;
      const made = await makeGroth16Key(r1cs, {
        curve,
        ...(execute === undefined ? {} : { execute }),
        ...(onProgress === undefined ? {} : { onProgress }),
      });
      if (!made.ok) return made;
      const { zkey, verifyingKey, gates } = made;
      const { readMs, scalarsMs, pointsMs, selfTestMs, gatesMs } = made.timings;
      const timings = { keyMs: readMs + scalarsMs + pointsMs, gatesMs: selfTestMs + gatesMs };
      return { ok: true, provingKey: zkey, verifyingKey, gates, timings };
    },
    checkKey: async (stored) => await checkGroth16Key(curve, stored),
    importKey: async (files) => await importGroth16Key(files, curve),
    importVerifyingKey: async (text) => await importGroth16VerifyingKey(text, curve),
    ...(curve === BN254 ? SOLIDITY : {}),
    readProvingKey: (bytes) => {
      const key = readProvingKey(bytes);
      if (key.curve !== curve) throw new ProvingKeyFormatError(`the key is not over ${curve.name}`);
      return key;
    },
    openKey: makeKeyResident,
    writeTables: writeKeyTables,
    openProver: (key) => {
      const prover = new ResidentProver(key);
      const blinding = () => ({ r: randomNonZero(curve.r), s: randomNonZero(curve.r) });
      return {
        prove: (witness, team) => proveResident(prover, witness, blinding(), team),
        help: (team) => {
          prover.help(team);
        },
      };
    },
    proveOnReference: proveGroth16,
    encodeHex: (proof) => encodeProofHex(proof, curve),
    toJson: (proof) => proofToJson(proof, curve),
    decodeProofs,
    loadPairing: async (backend) => await loadPairing(backend, curve),
    prepareKey: (verifyingKey, pairing) =>
      prepareWith(pairing, publishedKey(verifyingKeyFromJson(verifyingKey, pairing))),
    verify: verifyGroth16,
    verifyBatch: verifyGroth16Batch,
  };
}
