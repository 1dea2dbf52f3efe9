/**
 * Process that compiles one untrusted circuit; started by src/prover/compute/compile-task.ts with limits on everything.
 */
import { compileCircuit } from "../src/engine/circuit/compile-circuit.js";
import type { CompileLimits, CompileRequest, CompileResult } from "../src/engine/circuit/compile-circuit.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";

await runProcessEntry(
  ({ request, limits }: { request: CompileRequest; limits: CompileLimits }): Promise<CompileResult> =>
    compileCircuit(request, limits),
);
