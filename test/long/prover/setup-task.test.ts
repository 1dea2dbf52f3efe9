import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { openReferenceString } from "../../../src/engine/proof-systems/reference-string-file.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { verifyingKeyFromJson } from "../../../src/engine/encoding/groth16-verifying-key.js";
import { proveGroth16 } from "../../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../../src/engine/groth16/verify.js";
import { isWideOn, useWideForms, wideDiscards } from "../../../src/engine/kernels/wide/wide-form.js";
import { workerPath } from "../../../src/platform/files/package-root.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { folderOfTest } from "../../support/temporary-folder.js";
import { chainFixture, r1csFile } from "../../support/groth16-fixtures.js";
import {
  SETUP_PROCESS_LIMITS,
  makeReferenceStringInProcess,
  setupInProcess,
} from "../../../src/prover/compute/setup-task.js";
import type { SetupAnswer, SetupRequest, SetupTask } from "../../../src/prover/compute/setup-task.js";
import { KERNEL_KINDS } from "../../support/kernels.js";
import { WIDE_KERNELS, soundForms } from "../../support/wide.js";

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

describe.each(KERNEL_KINDS.filter((kind) => kind === "fma"))("a setup of a server on four lanes, %s", () => {
  afterEach(() => {
    useWideForms(undefined);
  });

  it("makes a gated key, and keeps the form", async () => {
    useWideForms(soundForms());
    const r1cs = r1csFile(chainFixture(27_000));
    expect(await setupInProcess(new ProcessTasks(), { system: "groth16/BN254", r1cs })).toMatchObject({
      ok: true,
      value: { ok: true },
    });
    expect([isWideOn(), wideDiscards()]).toEqual([true, 0]);
  });

  it("takes four lanes for what is large enough, and where they compute rightly", async () => {
    const isWideFor = async (task: SetupTask): Promise<unknown> => {
      const made = await new ProcessTasks().run<SetupRequest, SetupAnswer>({
        entry: workerPath("setup.process"),
        request: { ...task, wideKernels: WIDE_KERNELS },
        limits: SETUP_PROCESS_LIMITS,
      });
      return made.ok ? [made.value.isWide, made.value.isWideWrong] : made;
    };
    const string = (power: number): SetupTask => ({ referenceString: { curve: "BLS12_381", power } });
    expect(await isWideFor(string(15))).toEqual([true, false]);
    expect(await isWideFor(string(10))).toEqual([false, false]);
    expect(await isWideFor({ system: "groth16/BN254", r1cs: r1csFile(chainFixture(2000)) })).toEqual([false, false]);
  });
});

it("makes a reference string on the curve that is asked for", async () => {
  const made = await makeReferenceStringInProcess(new ProcessTasks(), { curve: "BLS12_381", power: 3 });
  if (!made.ok) throw new Error(JSON.stringify(made));
  const path = join(folderOfTest("reference-string"), "string.ptau");
  writeFileSync(path, made.value);
  expect(openReferenceString({ path, sha256: "" }, BLS12_381).power).toBe(3);
  expect(() => openReferenceString({ path, sha256: "" })).toThrow("not over BN254");
});
