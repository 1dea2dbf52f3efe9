import { describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { loadReferenceKernels } from "../../src/engine/reference/reference-kernels.js";
import { proofToJson } from "../../src/engine/encoding/groth16-proof.js";
import { verifyingKeyToJson } from "../../src/engine/encoding/groth16-verifying-key.js";
import { proveGroth16 } from "../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../src/engine/groth16/setup.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../src/engine/groth16/verify.js";
import { chainFixture } from "../support/groth16-fixtures.js";

describe("Groth16 on a circuit of 140,000 constraints", () => {
  // More points than one chunk of the multi-scalar multiplication, and more memory than a thread keeps between proofs.
  it("sets up, proves twice and verifies, in snarkjs too", async () => {
    const fixture = chainFixture(140_000);
    const setup = await setupGroth16(fixture.r1cs);
    expect(setup.selfTest).toEqual({ ok: true });
    const key = readProvingKey(setup.zkey),
      prepared = prepareWith(await loadPairing("wasm"), setup.verifyingKey);
    const snarkjs = await primeSnarkjs();
    for (let i = 0; i < 2; i += 1) {
      const proof = await proveGroth16(key, fixture.witness);
      expect(verifyGroth16(prepared, proof, fixture.publicSignals)).toBe(true);
      expect(
        await snarkjs.groth16.verify(
          verifyingKeyToJson(setup.verifyingKey, await loadReferenceKernels()),
          fixture.publicSignals.map(String),
          proofToJson(proof, BN254),
        ),
      ).toBe(true);
    }
  });
});
