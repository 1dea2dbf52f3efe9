/**
 * Runs a circuit's witness program on inputs that mean nothing, so that V8 has its code ready for all threads of the
 * process. The program is untrusted and may loop for ever: only for a thread that can be ended at any moment.
 */
import { runsOf } from "./interface.js";
import type { CircuitInterface, SignalValues } from "./interface.js";
import { computeWitness } from "./witness.js";

/** Circuits leave at different places for zeros and for ones; a second run of each has V8 optimise what is hot. */
const RUNS: readonly bigint[] = [0n, 1n, 0n, 1n];

/**
 * Returns how many runs came to a witness. Most circuits refuse such inputs, but late: what was run until then is what
 * counts.
 * @param circuit with names: without, only the program knows its inputs
 */
export function rehearseProgram(program: WebAssembly.Module, circuit: CircuitInterface): number {
  return RUNS.filter((value) => isComputed(program, circuit, allInputs(circuit, value))).length;
}

function isComputed(program: WebAssembly.Module, circuit: CircuitInterface, values: SignalValues): boolean {
  try {
    return computeWitness(program, circuit, values).ok;
  } catch {
    // Whatever is wrong with the program is told to the first proof.
    return false;
  }
}

function allInputs(circuit: CircuitInterface, value: bigint): SignalValues {
  const inputs = circuit.signals.filter(({ visibility }) => visibility !== "output");
  return new Map(
    inputs.map((signal) => {
      const count = runsOf(signal).reduce((sum, { size }) => sum + size, 0);
      return [signal.name, new Array<bigint>(count).fill(value)];
    }),
  );
}
