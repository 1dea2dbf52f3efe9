/**
 * Compiles untrusted Solidity in a process of its own, as compile-task.ts does with circom. Faults of the source are
 * results with diagnostics; only faults of the server are failures of the task.
 */
import { ownError } from "../../../engine/circuit/diagnostics.js";
import type { SolidityRequest, SolidityResult } from "../../../engine/solidity/compile-solidity.js";
import { workerPath } from "../../../platform/files/package-root.js";
import type { CompileTaskFailure } from "../../../prover/compute/compile-task.js";
import type { ProcessTaskLimits, ProcessTasks } from "../../../platform/pool/process-task.js";
import { SANDBOX_INCOMPLETE } from "../../../platform/pool/sandbox.js";

/** Settled: the source compiled or has faults. Otherwise nothing is known about it, and another try may succeed. */
export type SolidityTaskResult =
  | { readonly settled: true; readonly result: SolidityResult }
  | { readonly settled: false; readonly failure: CompileTaskFailure };

/**
 * OpenZeppelin's governor with everything it imports takes 4 s and 0.4 GB through the IR; loading the compiler alone
 * takes 0.17 GB.
 */
export const SOLIDITY_PROCESS_LIMITS: ProcessTaskLimits = {
  // The limit of processor time ends an endless loop; the wall clock leaves room for a busy server.
  deadlineMs: 300_000,
  cpuSeconds: 60,
  memoryBytesMax: 1024 ** 3,
  // The artifact of a contract at the size limits of EIP-170 and EIP-3860 has well below 1 MiB, opcodes and metadata
  // included.
  answerBytesMax: 16 * 1024 ** 2,
  heapMegabytesMax: 512,
  niceness: 15,
};

interface SolidityTaskOptions {
  readonly limits?: ProcessTaskLimits;
  readonly signal?: AbortSignal;
}

/** Compiles one source. Rejects only when the server's temporary folder fails. */
export async function compileSolidityInProcess(
  tasks: ProcessTasks,
  request: SolidityRequest,
  options: SolidityTaskOptions = {},
): Promise<SolidityTaskResult> {
  const limits = options.limits ?? SOLIDITY_PROCESS_LIMITS;
  const outcome = await tasks.run<SolidityRequest, SolidityResult>({
    entry: workerPath("solidity.process"),
    request,
    limits,
    isUntrusted: true,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  if (outcome.ok) return { settled: true, result: outcome.value };
  switch (outcome.code) {
    case "deadline":
      return tooLarge(`the source did not compile within ${String(limits.cpuSeconds)} seconds of processor time`);
    case "memory":
      return tooLarge("the source needs more memory than a compile may take");
    case "output":
      return tooLarge("the compiled contract is larger than it may be");
    case "crashed":
      // The compiler ended because its 4 GiB or its stack were used up or an internal check failed; the same source
      // would end it again.
      if (/RuntimeError|RangeError|abort\(|memory access/i.test(outcome.stderr ?? ""))
        return tooLarge("the compiler failed on this source: it is too deeply nested or too large");
      return { settled: false, failure: { ...outcome, code: outcome.code } };
    case "sandbox":
      return refused(SANDBOX_INCOMPLETE, outcome.message);
    case "aborted":
      return { settled: false, failure: { ...outcome, code: outcome.code } };
    default:
      return outcome.code satisfies never;
  }
}

function tooLarge(message: string): SolidityTaskResult {
  return refused("source_too_large", message);
}

function refused(code: string, message: string): SolidityTaskResult {
  return { settled: true, result: { ok: false, code: "source_invalid", diagnostics: [ownError(code, message)] } };
}
