/**
 * The registry's compute with the real engine, all on the calling thread: what the pools and processes run, without
 * them. A source is compiled once, and its keys are made once: that takes longer than all else of a small circuit.
 */
import { DEFAULT_COMPILE_LIMITS } from "../../src/engine/circuit/compile-circuit.js";
import { readCircuitInterface } from "../../src/engine/circuit/interface.js";
import { readR1csHeader } from "../../src/engine/circuit/r1cs.js";
import { curveNamed } from "../../src/engine/curves/curves.js";
import { appendNotes } from "../../src/engine/merkle/note-tree.js";
import { insertNullifiers, proveNotes } from "../../src/engine/merkle/tree-tasks.js";
import { makeDevelopmentString } from "../../src/engine/plonk/development-string.js";
import { openReferenceString } from "../../src/engine/proof-systems/reference-string-file.js";
import type { StructuredReferenceString } from "../../src/engine/proof-systems/reference-string.js";
import { proofSystem } from "../../src/engine/proof-systems/table.js";
import { loadReferenceKernels } from "../../src/engine/reference/reference-kernels.js";
import type {
  AppendNotesMessage,
  AppendNotesValue,
  CrossCheckMessage,
  CrossCheckValue,
  InsertNullifiersMessage,
  InsertNullifiersValue,
  ProveNotesMessage,
  ProveNotesValue,
  ProveValue,
  TaskResult,
  VerifierContractMessage,
  VerifierContractValue,
  VerifyBatchMessage,
  VerifyBatchValue,
  VerifyMessage,
  VerifyValue,
} from "../../src/engine/protocol.js";
import { runComputeTask } from "../../src/engine/tasks.js";
import type {
  CompileInput,
  CompileOutcome,
  ExportInput,
  ExportOutcome,
  GatesInput,
  GatesOutcome,
  ImportInput,
  ImportOutcome,
  ProveInput,
  ProverCompute,
  ReferenceStringInput,
  SetupInput,
  SetupOutcome,
  WarmInput,
} from "../../src/prover/compute/compute.js";
import { checkGates, exportZkey } from "../../src/prover/compute/check-gates.js";
import { readImport } from "../../src/prover/compute/read-import.js";
import { compileOnce } from "../support/compiled-circuits.js";
import { makeKeyOnce } from "../support/made-keys.js";

export class LocalCompute implements ProverCompute {
  readonly compilerName = "circom2 in this process";

  async compile({ source, curve }: CompileInput): Promise<CompileOutcome> {
    const result = await compileOnce(source, curve);
    if (!result.ok)
      return {
        ok: false,
        errors: result.diagnostics.filter(({ severity }) => severity === "error"),
        warnings: result.diagnostics.filter(({ severity }) => severity === "warning"),
      };
    const { wasm, r1cs, sym, warnings, compiler } = result;
    return {
      ok: true,
      value: {
        ...{ witnessProgram: wasm, r1cs, sym, warnings, compiler },
        circuit: readCircuitInterface(readR1csHeader(r1cs), sym),
      },
    };
  }

  async readImport(input: ImportInput): Promise<ImportOutcome> {
    const read = await readImport({ ...input, limits: DEFAULT_COMPILE_LIMITS });
    return read.ok ? read : { ok: false, errors: [{ code: read.code, message: read.message, file: read.file }] };
  }

  async setup(input: SetupInput): Promise<SetupOutcome> {
    if (input.system !== "groth16/BN254" || input.referenceStrings !== undefined) return await this.#deriveKeys(input);
    const made = await makeKeyOnce(input.r1cs);
    if (!made.ok) return { ok: false, errors: [{ code: made.code, message: made.message }] };
    return { ok: true, value: { provingKey: made.zkey, verifyingKey: JSON.stringify(made.verifyingKey) } };
  }

  async makeReferenceString({ curve, power }: ReferenceStringInput): Promise<{ ok: true; value: Uint8Array }> {
    return { ok: true, value: await makeDevelopmentString(await loadReferenceKernels(curveNamed(curve)), power) };
  }

  async #deriveKeys({ system, r1cs, referenceStrings }: SetupInput): Promise<SetupOutcome> {
    const find = (power: number): StructuredReferenceString | undefined => {
      const file = referenceStrings?.find((each) => each.power >= power);
      return file === undefined ? undefined : openReferenceString(file, proofSystem(system).curve);
    };
    const made = await proofSystem(system).makeKey(
      r1cs,
      referenceStrings === undefined ? {} : { referenceString: find },
    );
    if (!made.ok && made.code === "reference_string_required") return { ok: false, referencePower: made.power };
    if (!made.ok && made.code === "memory_required") throw new Error("no limit was given");
    if (!made.ok) return { ok: false, errors: [{ code: made.code, message: made.message }] };
    const { provingKey, verifyingKey, referenceString } = made;
    return {
      ok: true,
      value: {
        provingKey,
        verifyingKey: JSON.stringify(verifyingKey),
        ...(referenceString === undefined ? {} : { referenceString }),
      },
    };
  }

  async exportZkey(input: ExportInput): Promise<ExportOutcome> {
    return { ok: true, sha256: exportZkey(input) };
  }

  async gates(input: GatesInput): Promise<GatesOutcome> {
    const checked = await checkGates(input);
    return checked.ok ? { ok: true } : { ok: false, errors: [{ code: "setup_gate_failed", message: checked.message }] };
  }

  /** Holds no key open. */
  async warmKey(_input: WarmInput): Promise<boolean> {
    return await Promise.resolve(false);
  }

  async prove({ provingKey, ...rest }: ProveInput): Promise<TaskResult<ProveValue>> {
    const message = { ...rest, provingKey: await provingKey.shared() };
    return (await runComputeTask({ task: "prove", message: structuredClone(message) })) as TaskResult<ProveValue>;
  }

  async verify(message: VerifyMessage): Promise<TaskResult<VerifyValue>> {
    return (await runComputeTask({ task: "verify", message: structuredClone(message) })) as TaskResult<VerifyValue>;
  }

  async verifyBatch(message: VerifyBatchMessage): Promise<TaskResult<VerifyBatchValue>> {
    return (await runComputeTask({
      task: "verify_batch",
      message: structuredClone(message),
    })) as TaskResult<VerifyBatchValue>;
  }

  async appendNotes(message: AppendNotesMessage): Promise<AppendNotesValue> {
    return appendNotes(message);
  }

  async crossCheck(message: CrossCheckMessage): Promise<TaskResult<CrossCheckValue>> {
    return (await runComputeTask({
      task: "cross_check",
      message: structuredClone(message),
    })) as TaskResult<CrossCheckValue>;
  }

  async insertNullifiers(message: InsertNullifiersMessage): Promise<InsertNullifiersValue> {
    return insertNullifiers(structuredClone(message));
  }

  async proveNotes(message: ProveNotesMessage): Promise<ProveNotesValue> {
    return proveNotes(structuredClone(message));
  }

  async verifierContract(message: VerifierContractMessage): Promise<TaskResult<VerifierContractValue>> {
    return (await runComputeTask({ task: "verifier_contract", message })) as TaskResult<VerifierContractValue>;
  }
}
