/** The process that reads imports: a witness program that never ends is ended, and takes nothing else with it. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { DEFAULT_COMPILE_LIMITS } from "../../../src/engine/circuit/compile-circuit.js";
import { IMPORT_PROCESS_LIMITS, readImportInProcess } from "../../../src/prover/compute/import-task.js";
import type { StoredFile } from "../../../src/prover/compute/compute.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { compileOnce } from "../../support/compiled-circuits.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const SOURCE =
  "pragma circom 2.1.6; template M() { signal input a; signal output b; b <== a * a; } component main = M();";
const SYSTEM = "groth16/BN254" as const;
const START_SECTION = 8;
const CODE_SECTION = 10;
const folder = newFolder("import-process");
afterAll(() => {
  removeFolder(folder);
});

function stored(name: string, bytes: Uint8Array): StoredFile {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return { path, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** A module with circom's memory and nothing else, which loops as soon as it is started. */
function endlessProgram(): Uint8Array {
  const names = [
    ...["getSharedRWMemoryStart", "getFieldNumLen32", "getRawPrime", "getWitnessSize", "getInputSize"],
    ...["getInputSignalSize", "init", "setInputSignal", "getWitness", "getMessageChar"],
  ];
  const entry = (name: string, kind: number): number[] => [name.length, ...Buffer.from(name), kind, 0];
  const exported = [names.length + 1, ...entry("memory", 2), ...names.flatMap((name) => entry(name, 0))];
  const leb = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, value >> 7]);
  const section = (kind: number, content: number[]): number[] => [kind, ...leb(content.length), ...content];
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 0, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, exported),
    ...section(START_SECTION, [0]),
    // loop br 0 end end
    ...section(CODE_SECTION, [1, 7, 0, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b]),
  ]);
}

it("refuses more than proofs may keep in memory, and ends a program that loops when it is started", async () => {
  const compiled = await compileOnce({ files: { "main.circom": SOURCE }, main: "main.circom" });
  if (!compiled.ok) throw new Error("the circuit does not compile");
  const files = {
    r1cs: stored("circuit.r1cs", compiled.r1cs),
    witnessProgram: stored("circuit.wasm", compiled.wasm),
    sym: stored("circuit.sym", compiled.sym),
  };
  const tasks = new ProcessTasks();
  const read = await readImportInProcess(tasks, { system: SYSTEM, files, limits: DEFAULT_COMPILE_LIMITS });
  expect(read).toMatchObject({ ok: true, value: { ok: true, value: { circuit: { wireCount: 3 } } } });
  const bytes = compiled.r1cs.length + compiled.wasm.length;
  const limited = { system: SYSTEM, files, limits: DEFAULT_COMPILE_LIMITS, residentBytesMax: bytes - 1 };
  expect(await readImportInProcess(tasks, limited)).toMatchObject({
    ok: true,
    value: { ok: false, code: "circuit_too_large", message: expect.stringContaining(String(bytes)) as string },
  });
  const endless = { ...files, witnessProgram: stored("endless.wasm", endlessProgram()) };
  const limits = { ...IMPORT_PROCESS_LIMITS, cpuSeconds: 2, deadlineMs: 3_000 };
  const ended = await readImportInProcess(
    tasks,
    { system: SYSTEM, files: endless, limits: DEFAULT_COMPILE_LIMITS },
    { limits },
  );
  expect(ended).toMatchObject({ ok: false, code: "deadline" });
});
