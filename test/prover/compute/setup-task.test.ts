import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { verifyingKeyFromJson } from "../../../src/engine/encoding/groth16-verifying-key.js";
import { proveGroth16 } from "../../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../../src/engine/groth16/verify.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { SETUP_PROCESS_LIMITS, setupInProcess } from "../../../src/prover/compute/setup-task.js";
import { chainFixture, cubicFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { newFolder } from "../../support/temporary-folder.js";

describe("setup in a process of its own", () => {
  const tasks = new ProcessTasks();
  let folder: string;
  beforeAll(async () => {
    folder = newFolder("test");
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it("makes a gated key", async () => {
    const fixture = cubicFixture(3n);
    const outcome = await setupInProcess(tasks, { system: "groth16/BN254", r1cs: r1csFile(fixture) });
    if (!outcome.ok || !outcome.value.ok) throw new Error(JSON.stringify(outcome));
    const { provingKey, verifyingKey, gates } = outcome.value;
    expect(gates).toEqual(["self_test", "header", "phase2", "verifying_key", "circuit", "points", "canary"]);
    const decoded = verifyingKeyFromJson(verifyingKey, await loadReferenceKernels());
    if (!decoded.ok) throw new Error(decoded.message);
    const proof = await proveGroth16(readProvingKey(provingKey), fixture.witness);
    expect(verifyGroth16(prepareWith(await loadPairing("wasm"), decoded.value), proof, fixture.publicSignals)).toBe(
      true,
    );
  });

  it("says what is wrong with bytes that are no circuit of this field", async () => {
    const file = r1csFile(cubicFixture(3n));
    expect(await setupInProcess(tasks, { system: "groth16/BN254", r1cs: file.subarray(0, 100) })).toMatchObject({
      ok: true,
      value: { ok: false, code: "circuit_unsupported" },
    });
    expect(
      await setupInProcess(tasks, {
        system: "groth16/BN254",
        r1cs: r1csFile({ ...cubicFixture(3n), r1cs: { ...cubicFixture(3n).r1cs, prime: 2n ** 255n - 19n } }),
      }),
    ).toMatchObject({ ok: true, value: { ok: false, code: "circuit_unsupported" } });
  });

  it("ends with the deadline and with the caller's signal, and leaves no file behind", async () => {
    const file = r1csFile(chainFixture(12_000));
    const run = (options: { readonly deadlineMs: number; readonly signal?: AbortSignal }): Promise<unknown> =>
      tasks.run({
        entry: join(process.cwd(), "dist", "workers", "setup.process.js"),
        request: { system: "groth16/BN254", r1cs: file },
        parentFolder: folder,
        limits: { ...SETUP_PROCESS_LIMITS, deadlineMs: options.deadlineMs },
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
    expect(await run({ deadlineMs: 100 })).toMatchObject({ ok: false, code: "deadline" });
    expect(await run({ deadlineMs: 60_000, signal: AbortSignal.timeout(300) })).toMatchObject({
      ok: false,
      code: "aborted",
    });
    expect(await readdir(folder)).toEqual([]);
  });
});
