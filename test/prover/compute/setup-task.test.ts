import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { verifyingKeyFromJson } from "../../../src/engine/encoding/groth16-verifying-key.js";
import { proveGroth16 } from "../../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../../src/engine/groth16/verify.js";
import { isWideOn, newWideForms, useWideForms, wideDiscards } from "../../../src/engine/kernels/wide/wide-form.js";
import type { ProofSystemName } from "../../../src/engine/proof-systems/names.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import type { ProcessTaskResult } from "../../../src/platform/pool/process-task.js";
import { SETUP_PROCESS_LIMITS, setupInProcess } from "../../../src/prover/compute/setup-task.js";
import type { SetupAnswer, SetupRequest } from "../../../src/prover/compute/setup-task.js";
import { chainFixture, cubicFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { newFolder } from "../../support/temporary-folder.js";

const EMPTY_MODULE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

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

describe("setup of a server on four lanes", () => {
  const form = {
    curve: "BN254",
    kind: "kernels",
    kernels: ["g1_add_batch"],
    module: new WebAssembly.Module(EMPTY_MODULE),
  } as const;
  beforeEach(() => {
    useWideForms(newWideForms([form]));
  });
  afterEach(() => {
    useWideForms(undefined);
  });

  /** Runs a setup whose processes answer in turn; returns the kernels that each was given, and the outcome. */
  async function setup(system: ProofSystemName, ...answers: readonly ProcessTaskResult<unknown>[]): Promise<unknown> {
    const given: unknown[] = [];
    const tasks = {
      run: ({ request }: { readonly request: SetupRequest }) => Promise.resolve(answers[given.push(request) - 1]),
    } as unknown as ProcessTasks;
    const outcome = await setupInProcess(tasks, { system, r1cs: new Uint8Array() });
    return { outcome, given: given.map((request) => (request as SetupRequest).wideKernels) };
  }

  const result = { ok: false, code: "circuit_unsupported", message: "it is only looked at" } as const;
  const answer = (isWideWrong: boolean): ProcessTaskResult<unknown> => ({
    ok: true,
    value: { result, isWide: true, isWideWrong } satisfies SetupAnswer,
  });
  const outcome = { ok: true, value: result };
  const crash: ProcessTaskResult<unknown> = { ok: false, code: "crashed", message: "it ended" };

  it("names the curve's kernels, and keeps the form when they were right", async () => {
    expect(await setup("groth16/BN254", answer(false))).toEqual({ outcome, given: [form.kernels] });
    expect(await setup("groth16/BLS12_381", answer(false))).toEqual({ outcome, given: [undefined] });
    expect([isWideOn(), wideDiscards()]).toEqual([true, 0]);
  });

  it("gives the form up when a key was wrong on four lanes alone", async () => {
    expect(await setup("groth16/BN254", answer(true))).toEqual({ outcome, given: [form.kernels] });
    expect([isWideOn(), wideDiscards()]).toEqual([false, 1]);
    expect(await setup("groth16/BN254", answer(false))).toEqual({ outcome, given: [undefined] });
  });

  it("starts a process that was ended again without the form, once", async () => {
    const given = [form.kernels, undefined];
    expect(await setup("groth16/BN254", crash, answer(false))).toEqual({ outcome, given });
    expect(await setup("groth16/BN254", crash, crash, answer(false))).toEqual({ outcome: crash, given });
    const deadline: ProcessTaskResult<unknown> = { ok: false, code: "deadline", message: "it took long" };
    expect(await setup("groth16/BN254", deadline)).toEqual({ outcome: deadline, given: [form.kernels] });
  });
});
