/**
 * Process that compiles one untrusted circuit; started by src/prover/compute/compile-task.ts with limits on everything.
 */
import { compileCircuit, compileNatively } from "../src/engine/circuit/compile-circuit.js";
import type { NativeCompiler } from "../src/engine/circuit/compiler/native-compiler.js";
import type { CompileLimits, CompileRequest, CompileResult } from "../src/engine/circuit/compile-circuit.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";

await runProcessEntry(
  async (
    {
      request,
      limits,
      compiler,
    }: {
      request: CompileRequest;
      limits: CompileLimits;
      compiler?: NativeCompiler;
    },
    report,
  ): Promise<CompileResult> =>
    compiler === undefined
      ? await compileCircuit(request, limits, report)
      : // The working folder of the process is its private one.
        compileNatively(request, limits, { compiler, folder: process.cwd() }),
);
