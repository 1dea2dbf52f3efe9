/**
 * Process that analyses one circuit and runs its witness program on made-up inputs; started by
 * src/prover/compute/analysis-task.ts with limits on everything.
 */
import { analyzeCircuit, DEFAULT_BUDGET } from "../src/engine/analysis/analyze-circuit.js";
import type { Analysis } from "../src/engine/analysis/analysis-report.js";
import { readCircuitInterface } from "../src/engine/circuit/interface.js";
import { readR1csHeader } from "../src/engine/circuit/r1cs.js";
import { readLibrary } from "../src/engine/circuit/toolchain.js";
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import type { AnalysisRequest } from "../src/prover/compute/analysis-task.js";

/** Of this process in milliseconds, threads of the collector and the compiler included. */
function elapsedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

await runProcessEntry(async (request: AnalysisRequest): Promise<Analysis> => {
  const library = new Map([...readLibrary()].map(([path, bytes]) => [path, Buffer.from(bytes).toString("utf8")]));
  const { r1cs, sym, program, optimization, example, budgetShare } = request;
  const sources = request.filesRead.flatMap(({ path, isShipped }) => {
    const text = isShipped ? library.get(path) : request.files[path];
    return text === undefined ? [] : [{ path, text }];
  });
  const circuit = readCircuitInterface(readR1csHeader(r1cs), sym);
  return await analyzeCircuit(
    { r1cs, sym, program, circuit, optimization, sources, library, ...(example === undefined ? {} : { example }) },
    {
      elapsedMs,
      propagationMs: DEFAULT_BUDGET.propagationMs * budgetShare,
      samplesMs: DEFAULT_BUDGET.samplesMs * budgetShare,
      searchMs: DEFAULT_BUDGET.searchMs * budgetShare,
      guardsMs: DEFAULT_BUDGET.guardsMs * budgetShare,
    },
  );
});
