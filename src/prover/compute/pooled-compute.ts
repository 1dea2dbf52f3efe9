/**
 * The registry's compute on the server's threads and processes: compile, setup and gates each in a process of its own,
 * proofs in the pool `prove`, verification and note hashing in `interactive`.
 */
import { WASM_PAGE_BYTES } from "../../engine/circuit/wasm-memory.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { circom2Name, compileInProcess, compileProcessLimits, type CompileAllowance } from "./compile-task.js";
import { checkKeyInProcess } from "./gates-task.js";
import { readImportInProcess } from "./import-task.js";
import type { ComputePools, ProveOptions } from "./compute-pools.js";
import { OpenKeys, type OpenKeysOptions } from "./open-keys.js";
import { GaveWay } from "../../platform/pool/thread-pool.js";
import type { ProcessTaskFailure, ProcessTaskLimits, ProcessTasks } from "../../platform/pool/process-task.js";
import { makeReferenceStringInProcess, setupInProcess } from "./setup-task.js";
import { DEFAULT_COMPILE_LIMITS, type CompileLimits } from "../../engine/circuit/compile-circuit.js";
import type { Diagnostic } from "../../engine/circuit/diagnostics.js";
import { readCircuitInterface } from "../../engine/circuit/interface.js";
import { readR1csHeader } from "../../engine/circuit/r1cs.js";
import type {
  AppendNotesMessage,
  AppendNotesValue,
  PairingBackend,
  ProveMessage,
  ProveValue,
  TaskResult,
  VerifierContractMessage,
  VerifierContractValue,
  VerifyBatchMessage,
  VerifyBatchValue,
  VerifyMessage,
  VerifyValue,
} from "../../engine/protocol.js";
import { findPreparedCircuit, type PreparedCircuit } from "./prepared-circuits.js";
import type {
  Compilation,
  CompileInput,
  CompileOutcome,
  ComputeOptions,
  GatesInput,
  GatesOutcome,
  ImportFiles,
  ImportOutcome,
  ProverCompute,
  ReferenceStringInput,
  SetupInput,
  SetupOutcome,
  StepFailure,
} from "./compute.js";
import { diagnostic } from "../provisioning/diagnostics.js";

interface PooledComputeOptions {
  /** Largest circuit that may be compiled, in constraints. */
  readonly constraintsMax: number;
  /** Limits of one compilation. */
  readonly compile: CompileAllowance;
  /** Memory for resident keys: what an import may take of it at most. No limit unless given. */
  readonly residentBytesMax?: number;
  /** Folder of the circuits that the build has compiled. None unless given. */
  readonly preparedFolder?: string;
  /** For the WebAssembly kernels; without it the reference backend proves. */
  readonly openKeys?: OpenKeysOptions;
}

interface PooledComputeDependencies {
  readonly pools: ComputePools;
  readonly tasks: ProcessTasks;
  readonly log: Log;
}

const MIB = 1024 * 1024;
/** The compiler's own memory stays below that of its process, so that it runs out first and reports it. */
const COMPILER_SHARE = 0.75;
/** WebAssembly's addresses have 32 bits. */
const PAGES_MAX = 65_536;
/** Hashing a batch of notes takes some 20 ms; after this long the threads are stuck. */
const NOTES_DEADLINE_MS = 30_000;

export class PooledCompute implements ProverCompute {
  readonly compilerName = circom2Name();
  readonly #compileLimits: CompileLimits;
  readonly #processLimits: ProcessTaskLimits;
  readonly #preparedFolder: string | undefined;
  readonly #residentBytesMax: number | undefined;
  readonly #pools: ComputePools;
  readonly #log: Log;
  readonly #tasks: ProcessTasks;
  readonly #openKeys: OpenKeys | undefined;

  constructor(options: PooledComputeOptions, dependencies: PooledComputeDependencies) {
    const { memoryMb } = options.compile;
    const compilerPagesMax = Math.min(PAGES_MAX, Math.floor((memoryMb * MIB * COMPILER_SHARE) / WASM_PAGE_BYTES));
    this.#compileLimits = { ...DEFAULT_COMPILE_LIMITS, constraintsMax: options.constraintsMax, compilerPagesMax };
    this.#processLimits = compileProcessLimits(options.compile);
    this.#preparedFolder = options.preparedFolder;
    this.#residentBytesMax = options.residentBytesMax;
    this.#pools = dependencies.pools;
    this.#tasks = dependencies.tasks;
    this.#log = dependencies.log;
    this.#openKeys = options.openKeys === undefined ? undefined : new OpenKeys(options.openKeys, dependencies);
  }

  /** Compiles in a process, unless the build has done so; a source that does not compile is a result. */
  async compile({ source, curve, hash }: CompileInput, options: ComputeOptions = {}): Promise<CompileOutcome> {
    const prepared = await this.#findPrepared(hash);
    if (prepared !== undefined) return { ok: true, value: compilationOf(prepared) };
    const outcome = await compileInProcess(
      this.#tasks,
      { sources: source.files, main: source.main, curve, ...source.options },
      {
        limits: this.#compileLimits,
        processLimits: this.#processLimits,
        ...signalOf(options),
      },
    );
    if (!outcome.settled) throw this.#processError("compile", outcome.failure, options);
    const { result } = outcome;
    if (!result.ok) {
      const ofSeverity = (wanted: Diagnostic["severity"]): Diagnostic[] =>
        result.diagnostics.filter(({ severity }) => severity === wanted);
      return { ok: false, errors: ofSeverity("error"), warnings: ofSeverity("warning") };
    }
    return { ok: true, value: compilationOf(result) };
  }

  /** A circuit beyond the limit is left to the compiler, which refuses it. */
  async #findPrepared(hash: string | undefined): Promise<PreparedCircuit | undefined> {
    if (hash === undefined || this.#preparedFolder === undefined) return undefined;
    const found = await findPreparedCircuit(this.#preparedFolder, hash);
    if (found === undefined) return undefined;
    const { constraintCount } = readR1csHeader(found.r1cs);
    return constraintCount <= this.#compileLimits.constraintsMax ? found : undefined;
  }

  /** Reads the files in a process. */
  async readImport(files: ImportFiles, options: ComputeOptions = {}): Promise<ImportOutcome> {
    const limits = {
      limits: this.#compileLimits,
      ...(this.#residentBytesMax === undefined ? {} : { residentBytesMax: this.#residentBytesMax }),
    };
    const outcome = await readImportInProcess(this.#tasks, { files, ...limits }, signalOf(options));
    // The witness program and the key are the sender's: trying again would end the same way.
    if (!outcome.ok && outcome.code === "crashed" && options.signal?.aborted !== true) {
      this.#log.warn("process ended without an answer", { step: "import", code: outcome.code });
      return { ok: false, errors: [diagnostic("import_invalid", "the files end the process that reads them")] };
    }
    if (!outcome.ok) return this.#stepFailure("import", outcome, options);
    const read = outcome.value;
    return read.ok
      ? { ok: true, value: read.value }
      : { ok: false, errors: [{ ...diagnostic(read.code, read.message), file: read.file }] };
  }

  /** Makes keys in a process that ends afterwards. */
  async setup(input: SetupInput, options: ComputeOptions = {}): Promise<SetupOutcome> {
    const outcome = await setupInProcess(this.#tasks, input, {
      ...signalOf(options),
      ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
    });
    if (!outcome.ok) return this.#stepFailure("setup", outcome, options);
    const key = outcome.value;
    if (!key.ok && key.code === "reference_string_required") return { ok: false, referencePower: key.power };
    if (!key.ok) {
      const code = key.code === "gate_failed" ? "setup_gate_failed" : key.code;
      return { ok: false, errors: [diagnostic(code, key.message)] };
    }
    const { provingKey, verifyingKey, referenceString } = key;
    return {
      ok: true,
      value: {
        provingKey,
        verifyingKey: JSON.stringify(verifyingKey),
        ...(referenceString === undefined ? {} : { referenceString }),
      },
    };
  }

  /** Makes a reference string for development in a process that ends afterwards. */
  async makeReferenceString(
    input: ReferenceStringInput,
    options: ComputeOptions = {},
  ): Promise<{ readonly ok: true; readonly value: Uint8Array } | StepFailure> {
    const made = await makeReferenceStringInProcess(this.#tasks, input, signalOf(options));
    return made.ok ? made : this.#stepFailure("reference string", made, options);
  }

  /** Runs the gates on the stored files in a process. */
  async gates(input: GatesInput, options: ComputeOptions = {}): Promise<GatesOutcome> {
    const outcome = await checkKeyInProcess(this.#tasks, input, signalOf(options));
    if (!outcome.ok) return this.#stepFailure("gates", outcome, options);
    const checked = outcome.value;
    return checked.ok ? { ok: true } : { ok: false, errors: [diagnostic("setup_gate_failed", checked.message)] };
  }

  /** Proves in the pool `prove`, with the key open for the kernels where possible. */
  async prove(message: ProveMessage, options: ComputeOptions = {}): Promise<TaskResult<ProveValue>> {
    const sinceMs = performance.now();
    for (;;) {
      try {
        return await this.#proveOnce(message, { ...options, sinceMs });
      } catch (error) {
        // Another owner needed the thread: the proof waits for its turn again, within the same deadline.
        if (!(error instanceof GaveWay)) throw error;
      }
    }
  }

  async #proveOnce(message: ProveMessage, options: ProveOptions): Promise<TaskResult<ProveValue>> {
    const openKey = await this.#openKeys?.get(message, options);
    // A thread that is lost during a proof never gives its workspace of the key back.
    const onThreadLost = (): void => {
      this.#openKeys?.drop(message.provingKey.sha256);
    };
    const begun = { value: false };
    try {
      return await this.#pools.prove(openKey === undefined ? message : { ...message, openKey }, {
        ...options,
        onThreadLost,
        onBegin: () => {
          begun.value = true;
        },
      });
    } catch (error) {
      // Whatever the failure is, it may have ended a thread; a task that only waited had none.
      if (begun.value) onThreadLost();
      throw error;
    }
  }

  /** Verifies one proof in the pool `interactive`. */
  async verify(message: VerifyMessage, options?: ComputeOptions): Promise<TaskResult<VerifyValue>> {
    return await this.#pools.run("interactive", "verify", { ...message, backend: this.#pairingBackend() }, options);
  }

  /** Verifies many proofs as one task of the pool `interactive`. */
  async verifyBatch(message: VerifyBatchMessage, options?: ComputeOptions): Promise<TaskResult<VerifyBatchValue>> {
    return await this.#pools.run(
      "interactive",
      "verify_batch",
      { ...message, backend: this.#pairingBackend() },
      options,
    );
  }

  /**
   * Hashes notes into the tree in the pool `interactive`.
   * @throws AppError `internal_error` when the task fails, `deadline_exceeded` after 30 s
   */
  async appendNotes(message: AppendNotesMessage, options: ComputeOptions = {}): Promise<AppendNotesValue> {
    const limits = { ...options, deadlineMs: NOTES_DEADLINE_MS };
    const result = await this.#pools.run("interactive", "append_notes", message, limits);
    if (!result.ok) throw new AppError("internal_error", { message: "the note tree could not be hashed" });
    return result.value;
  }

  /** Writes the contract in the pool `prove`: of a key with many public signals it takes seconds. */
  async verifierContract(
    message: VerifierContractMessage,
    options?: ComputeOptions,
  ): Promise<TaskResult<VerifierContractValue>> {
    return await this.#pools.run("prove", "verifier_contract", message, options);
  }

  #pairingBackend(): PairingBackend {
    return this.#openKeys === undefined ? "reference" : "wasm";
  }

  /** A limit that the circuit exceeded fails the prover; an aborted or crashed process throws, for another try. */
  #stepFailure(step: string, failure: ProcessTaskFailure, options: ComputeOptions): StepFailure {
    if (failure.code === "aborted" || failure.code === "crashed") throw this.#processError(step, failure, options);
    return { ok: false, errors: [diagnostic("circuit_too_large", `${step}: ${failure.message}`)] };
  }

  #processError(step: string, failure: ProcessTaskFailure, options: ComputeOptions): unknown {
    if (options.signal?.aborted === true) return options.signal.reason;
    this.#log.error("process ended without an answer", { step, code: failure.code });
    return new AppError("internal_error", { message: `${step}: the process ended without an answer`, cause: failure });
  }
}

function compilationOf({ wasm, r1cs, sym, warnings }: PreparedCircuit): Compilation {
  return { witnessProgram: wasm, r1cs, sym, circuit: readCircuitInterface(readR1csHeader(r1cs), sym), warnings };
}

function signalOf(options: ComputeOptions): { readonly signal?: AbortSignal } {
  return options.signal === undefined ? {} : { signal: options.signal };
}
