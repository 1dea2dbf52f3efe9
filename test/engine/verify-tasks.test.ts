/** The tasks that verify, where the kernels are sound, where they fail on the way, and where they are switched off. */
import { createHash } from "node:crypto";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { loadReferenceKernels } from "../../src/engine/reference/reference-kernels.js";
import { encodeProofHex } from "../../src/engine/encoding/groth16-proof.js";
import { verifyingKeyToJson } from "../../src/engine/encoding/groth16-verifying-key.js";
import { proveGroth16 } from "../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../src/engine/groth16/setup.js";
import { KernelPairing } from "../../src/engine/kernels/pairing/pairing.js";
import type { PairingBackend, VerifyMessage } from "../../src/engine/protocol.js";
import { verify, verifyBatch } from "../../src/engine/verify-tasks.js";
import { cubicFixture } from "../support/groth16-fixtures.js";

const fixture = cubicFixture(3n);
let message: Omit<VerifyMessage, "backend">;

beforeAll(async () => {
  const setup = await setupGroth16(fixture.r1cs);
  const json = Buffer.from(JSON.stringify(verifyingKeyToJson(setup.verifyingKey, await loadReferenceKernels())));
  const bytes = new SharedArrayBuffer(json.length);
  new Uint8Array(bytes).set(json);
  const proof = encodeProofHex(await proveGroth16(readProvingKey(setup.zkey), fixture.witness), BN254);
  message = {
    system: "groth16/BN254",
    circuit: {
      curve: "BN254",
      wireCount: fixture.r1cs.wireCount,
      constraintCount: 1,
      outputCount: 0,
      publicInputCount: fixture.publicSignals.length,
      privateInputCount: 0,
      signals: fixture.publicSignals.map((_, i) => ({ name: `s${String(i)}`, dimensions: [], visibility: "public" })),
    },
    verifyingKey: { sha256: createHash("sha256").update(json).digest("hex"), bytes },
    inputs: inputsOf(fixture.publicSignals),
    proof,
  };
});
afterEach(() => {
  vi.restoreAllMocks();
});

const inputsOf = (signals: readonly bigint[]): Record<string, string> =>
  Object.fromEntries(signals.map((signal, i) => [`s${String(i)}`, String(signal)]));
const wrong = () => inputsOf(fixture.publicSignals.map((signal) => signal + 1n));

async function expectRight(backend: PairingBackend): Promise<void> {
  expect(await verify({ ...message, backend })).toMatchObject({ ok: true, value: { result: true } });
  expect(await verify({ ...message, backend, inputs: wrong() })).toMatchObject({ ok: true, value: { result: false } });
  expect(await verify({ ...message, backend, proof: "00" })).toMatchObject({ ok: false, code: "proof_malformed" });
  const { system, circuit, verifyingKey } = message;
  const items = [message, { ...message, inputs: wrong() }, { ...message, proof: "00" }, message, message].map(
    ({ inputs, proof }) => ({ inputs, proof }),
  );
  expect(await verifyBatch({ system, circuit, verifyingKey, backend, items })).toMatchObject({
    ok: true,
    value: {
      outcomes: [
        { value: { result: true } },
        { value: { result: false } },
        { ok: false, code: "proof_malformed" },
        { value: { result: true } },
        { value: { result: true } },
      ],
    },
  });
}

describe("the tasks that verify", () => {
  it("answer alike on the kernels and on the reference backend", async () => {
    const pairings = vi.spyOn(KernelPairing.prototype, "pairingProduct");
    await expectRight("reference");
    expect(pairings).not.toHaveBeenCalled();
    await expectRight("wasm");
    expect(pairings).toHaveBeenCalled();
  });

  it("answer right when a kernel traps, at the pairing or before it", async () => {
    for (const name of ["pairingProduct", "combineG1", "multiplyG1", "areInSubgroupG2", "squareRootPowers"] as const) {
      const failing = vi.spyOn(KernelPairing.prototype, name).mockImplementation(() => {
        throw new WebAssembly.RuntimeError("unreachable");
      });
      await expectRight("wasm");
      expect(failing, name).toHaveBeenCalled();
      failing.mockRestore();
    }
  });
});
