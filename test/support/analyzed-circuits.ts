/** Analyses circuits in this process as the server's process does, with a budget that counts no time unless asked to. */
import { analyzeCircuit, DEFAULT_BUDGET } from "../../src/engine/analysis/analyze-circuit.js";
import type { Analysis, AnalysisReport } from "../../src/engine/analysis/analysis-report.js";
import { readCircuitInterface } from "../../src/engine/circuit/interface.js";
import { readR1cs } from "../../src/engine/circuit/r1cs.js";
import { readLibrary } from "../../src/engine/circuit/toolchain.js";
import { findUnsatisfied } from "../../src/engine/circuit/satisfaction.js";
import { compileOnce, type CircuitText } from "./compiled-circuits.js";

const LIBRARY = new Map([...readLibrary()].map(([path, bytes]) => [path, Buffer.from(bytes).toString("utf8")]));

/** A budget that is spent by asking: the same at every speed of the machine. */
export function steps(): () => number {
  let asked = 0;
  return () => {
    asked += 1;
    return asked;
  };
}

/** Analyses a circuit; what it accuses is checked against the R1CS by other code. */
export async function analyzed(
  { files, main }: Pick<CircuitText, "files" | "main">,
  {
    optimization = 0,
    example,
    elapsedMs = steps(),
  }: { readonly optimization?: 0 | 1; readonly example?: unknown; readonly elapsedMs?: () => number } = {},
): Promise<AnalysisReport> {
  const compiled = await compileOnce({ files, main, options: { optimization } });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const r1cs = readR1cs(compiled.r1cs);
  const analysis = await analyzeCircuit(
    {
      r1cs: compiled.r1cs,
      sym: compiled.sym,
      program: compiled.wasm,
      circuit: readCircuitInterface(r1cs, compiled.sym),
      optimization,
      sources: compiled.filesRead.flatMap(({ path, isShipped }) => {
        const text = isShipped ? LIBRARY.get(path) : files[path];
        return text === undefined ? [] : [{ path, text }];
      }),
      library: LIBRARY,
      ...(example === undefined ? {} : { example }),
    },
    { ...DEFAULT_BUDGET, elapsedMs },
  );
  for (const witness of analysis.witnesses ?? [])
    if (findUnsatisfied(r1cs, witness) !== undefined) throw new Error("a witness of the pair breaks a constraint");
  requireDifference(analysis);
  return analysis.report;
}

/** A circuit in one text. */
export function oneFile(text: string): Pick<CircuitText, "files" | "main"> {
  return { files: { "main.circom": `pragma circom 2.1.0;\n${text}` }, main: "main.circom" };
}

/** A template of the shipped library as the main component. */
export function libraryCircuit(file: string, call: string): Pick<CircuitText, "files" | "main"> {
  return oneFile(`include "circomlib/circuits/${file}.circom";\ncomponent main = ${call};`);
}

function requireDifference({ report, witnesses }: Analysis): void {
  if (report.verdict !== "under_determined") return;
  const [first, second] = witnesses ?? [];
  if (first === undefined || second === undefined || Buffer.from(first).equals(second))
    throw new Error("an accusation without two witnesses");
  if (report.pair?.differs !== "output") throw new Error("an accusation whose witnesses have the same outputs");
}
