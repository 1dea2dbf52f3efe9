/** Run by the build: compiles the built-in circuits as a prover over BN254 takes them by default. */
import { join } from "node:path";
import { DEFAULT_COMPILE_LIMITS } from "../../engine/circuit/compile-circuit.js";
import { PACKAGE_ROOT } from "../../platform/files/package-root.js";
import { ProcessTasks } from "../../platform/pool/process-task.js";
import { BuiltInCircuits, circuitHash } from "../provisioning/sources.js";
import { compilationName, compileInProcess, compileProcessLimits } from "./compile-task.js";
import { writePreparedCircuits, type PreparedCircuit } from "./prepared-circuits.js";

const CURVE = "BN254";
/** The defaults of the settings; the largest circuit takes 8 s and 0.6 GB. */
const ALLOWANCE = { memoryMb: 2048, seconds: 120 };

/** Compiles all circuits: some 15 s of processor time. */
export async function prepareBuiltIns(folder: string): Promise<void> {
  const builtIns = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") });
  const tasks = new ProcessTasks();
  const circuits = builtIns.identifiers.map((identifier) => {
    const named = builtIns.get(identifier);
    const compile = async (): Promise<PreparedCircuit | undefined> => {
      const outcome = await compileInProcess(
        tasks,
        { sources: named.source.files, main: named.source.main, curve: CURVE },
        { limits: DEFAULT_COMPILE_LIMITS, processLimits: compileProcessLimits(ALLOWANCE) },
      );
      return outcome.settled && outcome.result.ok ? outcome.result : undefined;
    };
    return [circuitHash(named, CURVE, compilationName()), compile] as const;
  });
  await writePreparedCircuits(folder, new Map(circuits));
}
