import { expect, it } from "vitest";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { verifyingKeyFromJson } from "../../../src/engine/encoding/groth16-verifying-key.js";
import { proveGroth16 } from "../../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../../src/engine/groth16/verify.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { chainFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { setupInProcess } from "../../../src/prover/compute/setup-task.js";

it("makes a gated key for a circuit of 12,000 constraints, whose work the process shares among threads", async () => {
  const tasks = new ProcessTasks();
  const fixture = chainFixture(12_000);
  const outcome = await setupInProcess(tasks, { system: "groth16/BN254", r1cs: r1csFile(fixture) });
  if (!outcome.ok || !outcome.value.ok) throw new Error(JSON.stringify(outcome));
  const { provingKey, verifyingKey, gates } = outcome.value;
  expect(gates).toEqual(["self_test", "header", "phase2", "verifying_key", "circuit", "points", "canary"]);
  const decoded = verifyingKeyFromJson(verifyingKey, await loadReferenceKernels());
  if (!decoded.ok) throw new Error(decoded.message);
  const proof = await proveGroth16(readProvingKey(provingKey), fixture.witness);
  expect(verifyGroth16(prepareWith(await loadPairing("wasm"), decoded.value), proof, fixture.publicSignals)).toBe(true);
});
