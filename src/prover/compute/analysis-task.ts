/**
 * Analyses a circuit in processes of their own: compiles it once more without simplification, then looks for signals
 * that its inputs do not fix. Whatever the circuit does is an outcome; a limit that it reaches is a reason why nothing
 * is proved.
 */
import { ANALYSIS_CONSTRAINTS_MAX } from "../../engine/analysis/analyze-circuit.js";
import { unfinished, type Analysis, type NotProvenReason } from "../../engine/analysis/analysis-report.js";
import {
  DEFAULT_COMPILE_LIMITS,
  type CompiledCircuit,
  type CompileLimits,
  type CompileRequest,
  type FileRead,
} from "../../engine/circuit/compile-circuit.js";
import { MemoryBudget } from "../../platform/concurrency/memory-budget.js";
import { runWithUnknownMemory } from "../../platform/concurrency/unknown-memory.js";
import { AppError } from "../../platform/errors.js";
import { workerPath } from "../../platform/files/package-root.js";
import type { ProcessTaskFailure, ProcessTaskLimits, ProcessTasks } from "../../platform/pool/process-task.js";
import type { CircuitSource } from "../provisioning/sources.js";
import type { CompileAllowances } from "./compile-allowances.js";
import {
  compileInProcess,
  compileProcessLimits,
  compilerPagesMax,
  isOutOfMemory,
  type CompileAllowance,
} from "./compile-task.js";

export interface AnalysisInput {
  readonly source: CircuitSource;
  readonly curve: CompileRequest["curve"];
  /** Of the system that is proved, if it is known: a large circuit is not compiled at level 0 in vain. */
  readonly constraintCount?: number;
  /** Inputs that satisfy the circuit, and are no secret. */
  readonly example?: unknown;
  /** For whom it is compiled, such as `user:<uuid>`: an owner may have limits of its own. */
  readonly owner?: string;
}

/** An analysis with the files that its witnesses belong to. */
export interface AnalysisOutcome extends Analysis {
  readonly files?: { readonly r1cs: Uint8Array; readonly sym: Uint8Array };
}

export interface CircuitAnalyzer {
  /**
   * Analyses untrusted source. Rejects only for the caller's abort or a fault of the server.
   * @throws AppError `internal_error` when a process ended without an answer
   */
  analyze(input: AnalysisInput, signal: AbortSignal): Promise<AnalysisOutcome>;
}

/** What crosses to workers/analysis.process.ts. */
export interface AnalysisRequest {
  readonly r1cs: Uint8Array;
  readonly sym: Uint8Array;
  readonly program: Uint8Array;
  readonly optimization: 0 | 1;
  readonly files: CircuitSource["files"];
  readonly filesRead: readonly FileRead[];
  readonly example?: unknown;
  /** The budget of the analysis, as a share of the default. */
  readonly budgetShare: number;
}

interface ProcessAnalyzerOptions {
  readonly compile: CompileAllowance;
  /** The same of single owners. None unless given. */
  readonly compileOwners?: CompileAllowances;
  /** Processor time of one analysis, without its compilation. */
  readonly seconds: number;
}

type Level = AnalysisRequest["optimization"];

/** Level 0 has up to seven times the constraints; above this, level 1 comes first. */
const UNSIMPLIFIED_CONSTRAINTS_MAX = 40_000;
/** The default budget of the engine; other settings scale it. */
const BUDGET_SECONDS = 60;
/** For reading the files and the report. */
const SPARE_SECONDS = 30;
/** As for compilation: the clock allows more than the processor time, for a busy server. */
const WALL_PER_CPU_SECOND = 5;
/** After every other process of the server: nothing waits for an analysis. */
const NICENESS = 19;
const HEAP_SHARE = 0.75;

export class ProcessAnalyzer implements CircuitAnalyzer {
  readonly #tasks: ProcessTasks;
  readonly #memory: MemoryBudget;
  readonly #options: ProcessAnalyzerOptions;

  /** @param dependencies.memory that the processes share with others; no limit unless given */
  constructor(
    options: ProcessAnalyzerOptions,
    dependencies: { readonly tasks: ProcessTasks; readonly memory?: MemoryBudget },
  ) {
    this.#tasks = dependencies.tasks;
    this.#memory = dependencies.memory ?? new MemoryBudget({ bytes: Infinity });
    this.#options = options;
  }

  /** Compiles at level 0, or 1 when that is too large, and analyses what was compiled. */
  async analyze(input: AnalysisInput, signal: AbortSignal): Promise<AnalysisOutcome> {
    const levels: Level[] = (input.constraintCount ?? 0) > UNSIMPLIFIED_CONSTRAINTS_MAX ? [1] : [0, 1];
    for (const level of levels) {
      const compiled = await this.#compile(input, level, signal);
      if (compiled === "size") continue;
      return compiled === "compiler"
        ? { report: unfinished(compiled) }
        : await this.#run(input, compiled, { level, signal });
    }
    return { report: unfinished("size") };
  }

  async #compile(
    { source, curve, owner }: AnalysisInput,
    optimization: Level,
    signal: AbortSignal,
  ): Promise<CompiledCircuit | "size" | "compiler"> {
    const allowance = this.#allowanceOf(owner);
    const outcome = await runWithUnknownMemory(
      this.#memory,
      { owner, signal, what: "the analysis of this circuit", memoryMb: allowance.memoryMb },
      async (memoryMb) => {
        const given = { ...allowance, memoryMb };
        const limits: CompileLimits = {
          ...DEFAULT_COMPILE_LIMITS,
          constraintsMax: ANALYSIS_CONSTRAINTS_MAX,
          compilerPagesMax: compilerPagesMax(given),
        };
        const request = { sources: source.files, main: source.main, curve, optimization };
        return await compileInProcess(this.#tasks, request, {
          ...{ limits, processLimits: this.#compileProcess(given), signal },
        });
      },
      isOutOfMemory,
    );
    if (!outcome.settled) throw faultOf(outcome.failure, signal);
    if (outcome.result.ok) return outcome.result;
    return outcome.result.code === "circuit_too_large" ? "size" : "compiler";
  }

  async #run(
    { source, example, owner }: AnalysisInput,
    { r1cs, sym, wasm, filesRead }: CompiledCircuit,
    { level, signal }: { readonly level: Level; readonly signal: AbortSignal },
  ): Promise<AnalysisOutcome> {
    const allowance = this.#allowanceOf(owner);
    const request: AnalysisRequest = {
      ...{ r1cs, sym, program: wasm, optimization: level, files: source.files, filesRead },
      ...(example === undefined ? {} : { example }),
      budgetShare: this.#options.seconds / BUDGET_SECONDS,
    };
    const outcome = await runWithUnknownMemory(
      this.#memory,
      { owner, signal, what: "the analysis of this circuit", memoryMb: allowance.memoryMb },
      async (memoryMb) =>
        await this.#tasks.run<AnalysisRequest, Analysis>({
          entry: workerPath("analysis.process"),
          request,
          limits: this.#processLimits({ ...allowance, memoryMb }),
          isUntrusted: true,
          signal,
        }),
      (ended) => !ended.ok && (ended.code === "memory" || ended.code === "output"),
    );
    if (outcome.ok) return { ...outcome.value, files: { r1cs, sym } };
    const reason = reasonOf(outcome.code);
    if (reason === undefined) throw faultOf(outcome, signal);
    return { report: unfinished(reason) };
  }

  #allowanceOf(owner: string | undefined): CompileAllowance {
    return this.#options.compileOwners?.get(owner ?? "") ?? this.#options.compile;
  }

  #compileProcess(allowance: CompileAllowance): ProcessTaskLimits {
    return { ...compileProcessLimits(allowance), niceness: NICENESS };
  }

  #processLimits(allowance: CompileAllowance): ProcessTaskLimits {
    const cpuSeconds = this.#options.seconds + SPARE_SECONDS;
    return {
      ...this.#compileProcess(allowance),
      cpuSeconds,
      deadlineMs: cpuSeconds * WALL_PER_CPU_SECOND * 1000,
      heapMegabytesMax: Math.floor(allowance.memoryMb * HEAP_SHARE),
    };
  }
}

/** The reason of a limit that the circuit reached; undefined for what is no fault of the circuit. */
function reasonOf(code: ProcessTaskFailure["code"]): NotProvenReason | undefined {
  switch (code) {
    case "deadline":
      return "time";
    case "memory":
      return "memory";
    case "output":
      return "size";
    case "sandbox":
      return "compiler";
    case "aborted":
    case "crashed":
      return undefined;
  }
}

function faultOf(failure: ProcessTaskFailure, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return new AppError("internal_error", { message: "the analysis ended without an answer", cause: failure });
}
