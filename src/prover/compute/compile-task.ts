/**
 * Compiles untrusted circom source in a process of its own. Everything that the source can do wrong, endless loops and
 * memory bombs included, is a compile failure that names it; only faults of the server are failures of another kind.
 */
import { DEFAULT_COMPILE_LIMITS } from "../../engine/circuit/compile-circuit.js";
import type {
  CompileFailure,
  CompileLimits,
  CompileRequest,
  CompileResult,
} from "../../engine/circuit/compile-circuit.js";
import type { NativeCompiler } from "../../engine/circuit/compiler/native-compiler.js";
import { readCompilerName, readLibraryName } from "../../engine/circuit/toolchain.js";
import { WASM_PAGE_BYTES } from "../../engine/circuit/wasm-memory.js";
import { workerPath } from "../../platform/files/package-root.js";
import { SANDBOX_INCOMPLETE } from "../../platform/pool/sandbox.js";
import type { ProcessTaskFailure, ProcessTaskLimits, ProcessTasks } from "../../platform/pool/process-task.js";

/** What one compilation may take, as the operator sets it: PROOFWRIGHT_COMPILE_MEMORY_MB and _SECONDS. */
export interface CompileAllowance {
  /** MiB of the process. */
  readonly memoryMb: number;
  /** Processor time in seconds. */
  readonly seconds: number;
}

interface CompileTaskOptions {
  readonly limits?: CompileLimits;
  readonly processLimits: ProcessTaskLimits;
  readonly signal?: AbortSignal;
  /** The operator's own circom, in place of the one in WebAssembly. */
  readonly compiler?: NativeCompiler;
  /** Called with the share that is done, 0 to 1; the operator's own circom says nothing. */
  readonly onProgress?: (share: number) => void;
}

interface CompileMessage {
  readonly request: CompileRequest;
  readonly limits: CompileLimits;
  readonly compiler?: NativeCompiler;
}

/** The caller aborted, or the process died for a reason that is not the source's. */
export type CompileTaskFailure = ProcessTaskFailure & { readonly code: "aborted" | "crashed" };

/** Whether the source compiles (`settled`); otherwise nothing is known about it and another try may succeed. */
export type CompileTaskResult =
  | { readonly settled: true; readonly result: CompileResult }
  | { readonly settled: false; readonly failure: CompileTaskFailure };

const MIB = 1024 ** 2;
/**
 * Processor time is what ends a loop. The clock allows five times as much, so that a sound circuit on a busy server is
 * not called too large.
 */
const WALL_PER_CPU_SECOND = 5;

/** The R1CS of 2^20 constraints has some 200 MB, and the server reads it whole: a quarter of what made it. */
const ANSWER_BYTES_MIN = 256 * MIB;
const ANSWER_SHARE = 0.25;
/** The compiler's own memory stays below that of its process, so that it runs out first and reports it. */
const COMPILER_SHARE = 0.75;
/** WebAssembly's addresses have 32 bits. */
const PAGES_MAX = 65_536;

/**
 * Names everything but the source that decides what a compilation makes: the compiler that the server ships, or the
 * operator's own, its flags, and the library from which includes may come.
 */
export function compilationName(compiler?: Pick<NativeCompiler, "name">): string {
  return `${compiler?.name ?? readCompilerName()} O2 with ${readLibraryName()}`;
}

/** Returns the memory that the compiler in WebAssembly may have, in pages of 64 KiB. */
export function compilerPagesMax({ memoryMb }: CompileAllowance): number {
  return Math.min(PAGES_MAX, Math.floor((memoryMb * MIB * COMPILER_SHARE) / WASM_PAGE_BYTES));
}

/** Returns the limits of a compile process. The largest built-in circuit takes 8 s and 0.6 GB. */
export function compileProcessLimits({ memoryMb, seconds }: CompileAllowance): ProcessTaskLimits {
  return {
    deadlineMs: seconds * WALL_PER_CPU_SECOND * 1000,
    cpuSeconds: seconds,
    memoryBytesMax: memoryMb * MIB,
    answerBytesMax: Math.max(ANSWER_BYTES_MIN, memoryMb * MIB * ANSWER_SHARE),
    heapMegabytesMax: 512,
    // The same as proving: both yield to the event loop, and a server that is busy proving still compiles.
    niceness: 15,
  };
}

/**
 * Compiles one circuit. Cost: 0.3 s and more, mostly of another core; see `compileCircuit`.
 * @returns the outcome; rejects only when the server's own temporary folder fails
 */
export async function compileInProcess(
  tasks: ProcessTasks,
  request: CompileRequest,
  options: CompileTaskOptions,
): Promise<CompileTaskResult> {
  const { processLimits } = options;
  const outcome = await tasks.run<CompileMessage, CompileResult>({
    entry: workerPath("compile.process"),
    request: {
      request,
      limits: options.limits ?? DEFAULT_COMPILE_LIMITS,
      ...(options.compiler === undefined ? {} : { compiler: options.compiler }),
    },
    limits: processLimits,
    isUntrusted: true,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
  if (outcome.ok) {
    const result = outcome.value;
    return result.ok || result.limit !== "memory" ? { settled: true, result } : outOfMemory(processLimits);
  }
  switch (outcome.code) {
    case "deadline":
      return settled(
        `the circuit did not compile within ${processLimits.cpuSeconds} seconds of processor time and ${processLimits.deadlineMs / 1000} by the clock (PROOFWRIGHT_COMPILE_SECONDS): a loop without end, or too large`,
      );
    case "memory":
      return outOfMemory(processLimits);
    case "output":
      return settled(
        `the compiled circuit has more bytes than the memory of a compile allows, ${processLimits.answerBytesMax} (PROOFWRIGHT_COMPILE_MEMORY_MB)`,
        "memory",
      );
    case "sandbox":
      return refused(SANDBOX_INCOMPLETE, outcome.message);
    case "aborted":
    case "crashed":
      return { settled: false, failure: { ...outcome, code: outcome.code } };
    default:
      return outcome.code satisfies never;
  }
}

/** Returns whether a compilation ended for its memory, or for lengths that follow from it. */
export function isOutOfMemory(outcome: CompileTaskResult): boolean {
  return outcome.settled && !outcome.result.ok && outcome.result.limit === "memory";
}

function outOfMemory({ memoryBytesMax }: ProcessTaskLimits): CompileTaskResult {
  const message = `the circuit needs more memory than a compile may take, ${Math.floor(memoryBytesMax / MIB)} MiB (PROOFWRIGHT_COMPILE_MEMORY_MB, within PROOFWRIGHT_MEMORY_MB)`;
  return settled(message, "memory");
}

function settled(message: string, limit?: CompileFailure["limit"]): CompileTaskResult {
  const { result } = refused("circuit_too_large", message);
  return { settled: true, result: limit === undefined ? result : { ...result, limit } };
}

function refused(
  code: CompileFailure["code"],
  message: string,
): { readonly settled: true; readonly result: CompileFailure } {
  return { settled: true, result: { ok: false, code, diagnostics: [{ severity: "error", code, message }] } };
}
