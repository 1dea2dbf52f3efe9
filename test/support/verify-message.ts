/** A claim about a small circuit as the tasks that verify take it, with its key. */
import { createHash } from "node:crypto";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { encodeProofHex } from "../../src/engine/encoding/groth16-proof.js";
import { verifyingKeyToJson } from "../../src/engine/encoding/groth16-verifying-key.js";
import type { Groth16Proof } from "../../src/engine/groth16/proof.js";
import { proveGroth16 } from "../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../src/engine/groth16/setup.js";
import type { VerifyMessage } from "../../src/engine/protocol.js";
import { loadReferenceKernels } from "../../src/engine/reference/reference-kernels.js";
import { cubicFixture } from "./groth16-fixtures.js";

export interface CubicClaim {
  readonly message: Omit<VerifyMessage, "backend">;
  readonly claim: { readonly proof: Groth16Proof; readonly publicSignals: readonly bigint[] };
  /** Inputs that the proof does not prove. */
  readonly wrongInputs: Record<string, string>;
}

/** Sets up a key and proves with it. */
export async function cubicClaim(): Promise<CubicClaim> {
  const fixture = cubicFixture(3n);
  const { publicSignals } = fixture;
  const setup = await setupGroth16(fixture.r1cs);
  const json = Buffer.from(JSON.stringify(verifyingKeyToJson(setup.verifyingKey, await loadReferenceKernels())));
  const bytes = new SharedArrayBuffer(json.length);
  new Uint8Array(bytes).set(json);
  const proof = await proveGroth16(readProvingKey(setup.zkey), fixture.witness);
  return {
    message: {
      system: "groth16/BN254",
      circuit: {
        curve: "BN254",
        wireCount: fixture.r1cs.wireCount,
        constraintCount: 1,
        outputCount: 0,
        publicInputCount: publicSignals.length,
        privateInputCount: 0,
        signals: publicSignals.map((_, i) => ({ name: `s${String(i)}`, dimensions: [], visibility: "public" })),
      },
      verifyingKey: { sha256: createHash("sha256").update(json).digest("hex"), bytes },
      inputs: inputsOf(publicSignals),
      proof: encodeProofHex(proof, BN254),
    },
    claim: { proof, publicSignals },
    wrongInputs: inputsOf(publicSignals.map((signal) => signal + 1n)),
  };
}

function inputsOf(signals: readonly bigint[]): Record<string, string> {
  return Object.fromEntries(signals.map((signal, i) => [`s${String(i)}`, String(signal)]));
}
