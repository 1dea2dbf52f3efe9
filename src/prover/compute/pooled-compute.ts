/**
 * The registry's compute on the server's threads and processes: compile, setup and gates each in a process of its own,
 * proofs in the pool `prove`, verification and note hashing in `interactive`.
 */
import { stat } from "node:fs/promises";
import {
  circuitCounts,
  exportNeeds,
  importBytes,
  memoryNeeds,
  openKeyBytes,
  phase1Bytes,
  referenceStringNeeds,
  storedKeyNeeds,
} from "../../engine/proof-systems/memory-needs.js";
import type { CircuitCounts, MemoryNeeds } from "../../engine/proof-systems/memory-needs.js";
import { PROOF_SYSTEMS } from "../../engine/proof-systems/names.js";
import { MemoryBudget, type MemoryRequest } from "../../platform/concurrency/memory-budget.js";
import { runWithUnknownMemory } from "../../platform/concurrency/unknown-memory.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { CompileAllowances } from "./compile-allowances.js";
import {
  compilationName,
  compileInProcess,
  compileProcessLimits,
  compilerPagesMax,
  isOutOfMemory,
  type CompileAllowance,
} from "./compile-task.js";
import { withMemory } from "./native-circom.js";
import { EXPORT_PROCESS_LIMITS, GATES_PROCESS_LIMITS, checkKeyInProcess, exportZkeyInProcess } from "./gates-task.js";
import { IMPORT_PROCESS_LIMITS, importLimits, readImportInProcess } from "./import-task.js";
import type { ComputePools, ProveOptions } from "./compute-pools.js";
import { refusalOf } from "./memory-refusal.js";
import type { KeyImages } from "./keys/key-images.js";
import { OpenKeys, type OpenKeysOptions } from "./keys/open-keys.js";
import { GaveWay } from "../../platform/pool/thread-pool.js";
import type { ProcessTaskFailure, ProcessTasks } from "../../platform/pool/process-task.js";
import { SETUP_PROCESS_LIMITS, limitsFor, makeReferenceStringInProcess, setupInProcess } from "./setup-task.js";
import { DEFAULT_COMPILE_LIMITS, type CompileLimits } from "../../engine/circuit/compile-circuit.js";
import type { Diagnostic } from "../../engine/circuit/diagnostics.js";
import type { NativeCompiler } from "../../engine/circuit/compiler/native-compiler.js";
import { readCircuitInterface } from "../../engine/circuit/interface.js";
import { R1csFormatError, readR1csHeader } from "../../engine/circuit/r1cs.js";
import type {
  AppendNotesMessage,
  AppendNotesValue,
  CrossCheckMessage,
  CrossCheckValue,
  InsertNullifiersMessage,
  InsertNullifiersValue,
  ProveNotesMessage,
  ProveNotesValue,
  OpenKey,
  PairingBackend,
  ProveValue,
  TaskResult,
  VerifierContractMessage,
  VerifierContractValue,
  VerifyBatchMessage,
  VerifyBatchValue,
  VerifyMessage,
  VerifyValue,
  WarmKeyValue,
} from "../../engine/protocol.js";
import { findPreparedCircuit, type PreparedCircuit } from "./prepared-circuits.js";
import type {
  Compilation,
  CompileInput,
  CompileOutcome,
  ComputeOptions,
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
  StepFailure,
  StoredFile,
  WarmInput,
} from "./compute.js";
import { diagnostic } from "../provisioning/diagnostics.js";

interface PooledComputeOptions {
  /** Largest circuit that may be compiled, in constraints. */
  readonly constraintsMax: number;
  /** Limits of one compilation. */
  readonly compile: CompileAllowance;
  /** The same of single owners. None unless given. */
  readonly compileOwners?: CompileAllowances;
  /** The operator's own circom; the one in WebAssembly unless given. */
  readonly compiler?: NativeCompiler;
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
  /** Memory that setups, gates and open keys share; no limit unless given. */
  readonly memory?: MemoryBudget;
  /** Images of open keys on disk; none are kept unless given. */
  readonly images?: KeyImages | undefined;
  readonly log: Log;
}

/** Hashing a batch of notes takes some 20 ms; after this long the threads are stuck. */
const NOTES_DEADLINE_MS = 30_000;
/** Each takes up to some seconds: those behind more would come after their first proofs. */
const REHEARSALS_MAX = 32;

export class PooledCompute implements ProverCompute {
  readonly compilerName: string;
  readonly #compiler: NativeCompiler | undefined;
  readonly #compileLimits: CompileLimits;
  readonly #allowance: CompileAllowance;
  readonly #ownAllowances: CompileAllowances;
  readonly #preparedFolder: string | undefined;
  readonly #residentBytesMax: number | undefined;
  readonly #pools: ComputePools;
  readonly #log: Log;
  readonly #tasks: ProcessTasks;
  readonly #openKeys: OpenKeys | undefined;
  readonly #memory: MemoryBudget;
  /** The last of the rehearsals that wait for each other. */
  #rehearsing: Promise<void> = Promise.resolve();
  #rehearsalsWaiting = 0;

  constructor(options: PooledComputeOptions, dependencies: PooledComputeDependencies) {
    this.#compiler = options.compiler;
    this.compilerName = compilationName(options.compiler);
    this.#compileLimits = { ...DEFAULT_COMPILE_LIMITS, constraintsMax: options.constraintsMax };
    this.#allowance = options.compile;
    this.#ownAllowances = options.compileOwners ?? new Map();
    this.#preparedFolder = options.preparedFolder;
    this.#residentBytesMax = options.residentBytesMax;
    this.#pools = dependencies.pools;
    this.#tasks = dependencies.tasks;
    this.#log = dependencies.log;
    this.#memory = dependencies.memory ?? new MemoryBudget({ bytes: Infinity });
    this.#openKeys = options.openKeys === undefined ? undefined : new OpenKeys(options.openKeys, dependencies);
  }

  /** Compiles in a process, unless the build has done so; a source that does not compile is a result. */
  async compile({ source, curve, hash }: CompileInput, options: ComputeOptions = {}): Promise<CompileOutcome> {
    this.#expectProofs();
    const prepared = await this.#findPrepared(hash);
    if (prepared !== undefined) return { ok: true, value: compilationOf(prepared) };
    const allowance = this.#ownAllowances.get(options.owner ?? "") ?? this.#allowance;
    const outcome = await runWithUnknownMemory(
      this.#memory,
      { ...turnOf(options), what: "the compilation of this circuit", memoryMb: allowance.memoryMb },
      async (memoryMb) => {
        const given = { ...allowance, memoryMb };
        const request = { sources: source.files, main: source.main, curve, ...source.options };
        return await compileInProcess(this.#tasks, request, {
          limits: { ...this.#compileLimits, compilerPagesMax: compilerPagesMax(given) },
          processLimits: compileProcessLimits(given),
          ...(this.#compiler === undefined ? {} : { compiler: withMemory(this.#compiler, memoryMb) }),
          ...signalOf(options),
          ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
        });
      },
      isOutOfMemory,
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

  /** Has the threads ready by the time at which this circuit has its keys. */
  #expectProofs(): void {
    void this.#pools.warm();
  }

  /** A circuit beyond the limit is left to the compiler, which refuses it. */
  async #findPrepared(hash: string | undefined): Promise<PreparedCircuit | undefined> {
    if (hash === undefined || this.#preparedFolder === undefined) return undefined;
    const found = await findPreparedCircuit(this.#preparedFolder, hash);
    if (found === undefined) return undefined;
    const { constraintCount } = readR1csHeader(found.r1cs);
    return constraintCount <= this.#compileLimits.constraintsMax ? found : undefined;
  }

  /** Reads the files in a process, as soon as there is memory for it. */
  async readImport(input: ImportInput, options: ComputeOptions = {}): Promise<ImportOutcome> {
    this.#expectProofs();
    const limits = {
      limits: this.#compileLimits,
      ...(this.#residentBytesMax === undefined ? {} : { residentBytesMax: this.#residentBytesMax }),
    };
    const fileBytes = await filesBytes(input);
    const bytes = Math.min(importBytes(fileBytes), IMPORT_PROCESS_LIMITS.memoryBytesMax);
    const what = "reading the files of this import";
    const refused = refusalOf(this.#memory, { bytes, what });
    if (refused !== undefined) return refused;
    const outcome = await this.#memory.run(
      { bytes, what, ...turnOf(options) },
      async () =>
        await readImportInProcess(
          this.#tasks,
          { ...input, ...limits },
          { limits: importLimits(fileBytes), ...runOf(options) },
        ),
    );
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

  /**
   * Makes keys in a process that ends afterwards, as soon as there is memory for it. A circuit whose key this server
   * could not make or open is refused before that.
   */
  async setup(input: SetupInput, options: ComputeOptions = {}): Promise<SetupOutcome> {
    const counts = countsOf(input.r1cs);
    let needs = counts === undefined ? undefined : memoryNeeds(input.system, counts);
    for (;;) {
      const outcome = await this.#setupOnce(input, needs, options);
      if (!("domainPower" in outcome)) return outcome;
      if (counts === undefined) throw new AppError("internal_error", { message: "a setup asks for memory again" });
      needs = memoryNeeds(input.system, counts, outcome.domainPower);
    }
  }

  async #setupOnce(
    input: SetupInput,
    needs: MemoryNeeds | undefined,
    options: ComputeOptions,
  ): Promise<SetupOutcome | { readonly ok: false; readonly domainPower: number }> {
    const bytes =
      needs === undefined
        ? SETUP_PROCESS_LIMITS.memoryBytesMax
        : needs.setup + stringBytes(input.system, input.referenceStrings, needs);
    const given = {
      bytes,
      limits:
        needs === undefined
          ? SETUP_PROCESS_LIMITS
          : limitsFor(SETUP_PROCESS_LIMITS, { ...needs, bytes, answerBytes: needs.keyFile }),
    };
    const refused = refusalOf(this.#memory, {
      bytes: Math.max(given.bytes, leastOpenBytes(needs)),
      what: "the setup of this circuit",
    });
    if (refused !== undefined) return refused;
    const domain = needs === undefined ? {} : { domainPowerMax: needs.domainPower };
    const outcome = await this.#memory.run(
      { bytes: given.bytes, what: "the setup of this circuit", ...turnOf(options) },
      async () =>
        await setupInProcess(this.#tasks, { ...input, ...domain }, { limits: given.limits, ...runOf(options) }),
    );
    this.#pools.tellSetUp();
    if (!outcome.ok) return this.#stepFailure("setup", outcome, options);
    const key = outcome.value;
    if (!key.ok && key.code === "memory_required") return { ok: false, domainPower: key.domainPower };
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
    const { bytes, file } = referenceStringNeeds(input.curve, input.power);
    const what = "making a reference string of this size";
    const refused = refusalOf(this.#memory, { bytes, what });
    if (refused !== undefined) return refused;
    const limits = limitsFor(SETUP_PROCESS_LIMITS, { bytes, domainPower: input.power, answerBytes: file });
    const made = await this.#memory.run(
      { bytes, what, ...turnOf(options) },
      async () => await makeReferenceStringInProcess(this.#tasks, input, { limits, ...runOf(options) }),
    );
    this.#pools.tellSetUp();
    return made.ok ? made : this.#stepFailure("reference string", made, options);
  }

  /** Runs the gates on the stored files in a process. */
  async gates(input: GatesInput, options: ComputeOptions = {}): Promise<GatesOutcome> {
    const { sizes, ...request } = input;
    const needs = sizes === undefined ? undefined : storedKeyNeeds(input.system, sizes.circuit, sizes);
    const bytes =
      needs === undefined
        ? GATES_PROCESS_LIMITS.memoryBytesMax
        : needs.gates + stringBytes(input.system, input.referenceString, needs);
    const what = "the check of this circuit's key";
    const refused = refusalOf(this.#memory, { bytes, what });
    if (refused !== undefined) return refused;
    const limits =
      needs === undefined ? GATES_PROCESS_LIMITS : limitsFor(GATES_PROCESS_LIMITS, { ...needs, bytes, answerBytes: 0 });
    const outcome = await this.#memory.run(
      { bytes, what, ...turnOf(options) },
      async () => await checkKeyInProcess(this.#tasks, request, { limits, ...runOf(options) }),
    );
    if (!outcome.ok) return this.#stepFailure("gates", outcome, options);
    const checked = outcome.value;
    return checked.ok ? { ok: true } : { ok: false, errors: [diagnostic("setup_gate_failed", checked.message)] };
  }

  /** Writes the file in a process. */
  async exportZkey(input: ExportInput, options: ComputeOptions = {}): Promise<ExportOutcome> {
    const { sizes, ...request } = input;
    const needs = sizes === undefined ? undefined : exportNeeds(input.system, sizes.circuit, sizes);
    const bytes = needs?.bytes ?? EXPORT_PROCESS_LIMITS.memoryBytesMax;
    const what = "writing this key as snarkjs' file";
    const refused = refusalOf(this.#memory, { bytes, what });
    if (refused !== undefined) return refused;
    const limits =
      needs === undefined
        ? EXPORT_PROCESS_LIMITS
        : limitsFor(EXPORT_PROCESS_LIMITS, { ...needs, answerBytes: needs.file });
    const outcome = await this.#memory.run(
      { bytes, what, ...turnOf(options) },
      async () => await exportZkeyInProcess(this.#tasks, request, { limits, ...signalOf(options) }),
    );
    if (!outcome.ok) return this.#stepFailure("export", outcome, options);
    const made = outcome.value;
    return made.ok ? made : { ok: false, errors: [diagnostic(made.code, made.message)] };
  }

  /** Proves in the pool `prove`, with the key open for the kernels where possible. */
  async prove(input: ProveInput, options: ComputeOptions = {}): Promise<TaskResult<ProveValue>> {
    const sinceMs = performance.now();
    for (;;) {
      try {
        return await this.#proveOnce(input, { ...options, sinceMs });
      } catch (error) {
        // Another owner needed the thread: the proof waits for its turn again, within the same deadline.
        if (!(error instanceof GaveWay)) throw error;
      }
    }
  }

  /** Has the key open, and the threads of the pool `prove` ready for it. */
  async warmKey(input: WarmInput, options: ComputeOptions = {}): Promise<boolean> {
    const { system } = input;
    const warmed = await this.#openKeys?.warm(input, options, async (openKey) => {
      const [witnessProgram, verifyingKey] = await Promise.all([input.witnessProgram(), input.verifyingKey()]);
      return { program: await this.#pools.warmKey({ system, openKey, witnessProgram, verifyingKey }, options) };
    });
    if (warmed?.program !== undefined) this.#rehearseLater(input, warmed.program, options);
    return warmed !== undefined;
  }

  /** Rehearses the key's first proof after those of other keys, whose opening does not wait for it. */
  #rehearseLater(input: WarmInput, program: WarmKeyValue, options: ComputeOptions): void {
    if (this.#rehearsalsWaiting >= REHEARSALS_MAX) return;
    this.#rehearsalsWaiting += 1;
    this.#rehearsing = this.#rehearsing
      .then(async () => await this.#rehearse(input, program, options))
      .catch((error: unknown) => {
        this.#log.debug("the first proof of a key was not rehearsed", () => ({ error }));
      })
      .finally(() => {
        this.#rehearsalsWaiting -= 1;
      });
  }

  async #rehearse(input: WarmInput, program: WarmKeyValue, options: ComputeOptions): Promise<void> {
    const { system, circuit, provingKey } = input;
    const startedMs = performance.now();
    const outcome = await this.#openKeys?.warm(
      input,
      options,
      async (openKey) => await this.#pools.rehearse({ system, openKey, circuit, ...program }, options),
    );
    if (outcome === "lost") this.#openKeys?.drop(provingKey.sha256);
    const duration_ms = Math.round(performance.now() - startedMs);
    this.#log.debug("the first proof of a key was rehearsed", () => ({ outcome: outcome ?? "no_room", duration_ms }));
  }

  async #proveOnce(input: ProveInput, options: ProveOptions): Promise<TaskResult<ProveValue>> {
    const prove = async (openKey?: OpenKey): Promise<TaskResult<ProveValue>> =>
      await this.#proveWith(openKey, input, options);
    return this.#openKeys === undefined ? await prove() : await this.#openKeys.use(input, options, prove);
  }

  async #proveWith(
    openKey: OpenKey | undefined,
    input: ProveInput,
    options: ProveOptions,
  ): Promise<TaskResult<ProveValue>> {
    const { provingKey, ...rest } = input;
    // A thread that is lost during a proof never gives its workspace of the key back.
    const onThreadLost = (): void => {
      this.#openKeys?.drop(provingKey.sha256);
    };
    const begun = { value: false };
    const message = openKey === undefined ? { ...rest, provingKey: await provingKey.shared() } : { ...rest, openKey };
    try {
      const made = await this.#pools.prove(message, {
        ...options,
        onThreadLost,
        onBegin: () => {
          begun.value = true;
        },
      });
      return made.ok || made.needsProvingKey === undefined ? made : await this.#proveWith(undefined, input, options);
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
    return treeResult(await this.#pools.run("interactive", "append_notes", message, treeLimits(options)));
  }

  /** Hashes nullifiers into their tree, as `appendNotes`, and throws the same. */
  async insertNullifiers(
    message: InsertNullifiersMessage,
    options: ComputeOptions = {},
  ): Promise<InsertNullifiersValue> {
    return treeResult(await this.#pools.run("interactive", "insert_nullifiers", message, treeLimits(options)));
  }

  /** Hashes what a proof about notes needs, as `appendNotes`, and throws the same. */
  async proveNotes(message: ProveNotesMessage, options: ComputeOptions = {}): Promise<ProveNotesValue> {
    return treeResult(await this.#pools.run("interactive", "prove_notes", message, treeLimits(options)));
  }

  /** Writes the contract in the pool `prove`: of a key with many public signals it takes seconds. */
  async verifierContract(
    message: VerifierContractMessage,
    options?: ComputeOptions,
  ): Promise<TaskResult<VerifierContractValue>> {
    return await this.#pools.run("prove", "verifier_contract", message, options);
  }

  /** Checks in the pool `prove`: it takes a hundred times as long as a verification. */
  async crossCheck(message: CrossCheckMessage, options?: ComputeOptions): Promise<TaskResult<CrossCheckValue>> {
    return await this.#pools.run("prove", "cross_check", message, options);
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

function treeLimits(options: ComputeOptions): ComputeOptions & { readonly deadlineMs: number } {
  return { ...options, deadlineMs: NOTES_DEADLINE_MS };
}

function treeResult<Value>(result: TaskResult<Value>): Value {
  if (!result.ok) throw new AppError("internal_error", { message: "the tree could not be hashed" });
  return result.value;
}

function compilationOf({ wasm, r1cs, sym, warnings, compiler }: PreparedCircuit): Compilation {
  const circuit = readCircuitInterface(readR1csHeader(r1cs), sym);
  return { witnessProgram: wasm, r1cs, sym, circuit, warnings, compiler };
}

/** Undefined for what is no R1CS, which the process then says. */
function countsOf(r1cs: Uint8Array): CircuitCounts | undefined {
  try {
    return circuitCounts(readR1csHeader(r1cs), r1cs.length);
  } catch (error) {
    if (error instanceof R1csFormatError) return undefined;
    throw error;
  }
}

/** A key that one thread can prove with. */
function leastOpenBytes(needs: MemoryNeeds | undefined): number {
  return needs === undefined ? 0 : openKeyBytes(needs, { workspaces: 1 });
}

function runOf(options: ComputeOptions): Pick<ComputeOptions, "signal" | "onProgress"> {
  return {
    ...signalOf(options),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  };
}

function turnOf({ owner, signal }: ComputeOptions): Pick<MemoryRequest, "owner" | "signal"> {
  return { owner, signal };
}

async function filesBytes({ files }: ImportInput): Promise<number> {
  const stored = Object.values(files) as StoredFile[];
  const sizes = await Promise.all(stored.map(async ({ path }) => (await stat(path)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function signalOf(options: ComputeOptions): { readonly signal?: AbortSignal } {
  return options.signal === undefined ? {} : { signal: options.signal };
}

/** What the powers of tau of a Groth16 key take; the needs of a universal system have its string in them. */
function stringBytes(
  system: SetupInput["system"],
  string: SetupInput["referenceStrings"] | GatesInput["referenceString"],
  { domainPower }: Pick<MemoryNeeds, "domainPower">,
): number {
  return string !== undefined && PROOF_SYSTEMS[system].setup === "own" ? phase1Bytes(domainPower) : 0;
}
