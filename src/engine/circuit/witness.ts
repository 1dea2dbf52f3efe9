/**
 * Computes the witness of a circuit by running the program that circom emitted for it. The program is untrusted code:
 * it gets only the four fixed `runtime` imports, its `log()` output (often private inputs) is discarded, and its memory
 * has a maximum (compile-circuit.ts). The caller's thread or process sets the deadline. Interface: circom's generated
 * witness_calculator.js.
 */
import { runsOf } from "./interface.js";
import type { CircuitInterface, SignalValues } from "./interface.js";
import { withProgramMemory } from "./program-memory.js";
import {
  checkProgram,
  inputHash,
  instantiate,
  ProgramException,
  sharedWords,
  WORDS_PER_ELEMENT,
} from "./witness-program.js";
import type { ProgramExports } from "./witness-program.js";

interface UnsatisfiedDetail {
  /** Names the template and the line of the assertion or constraint that failed. */
  readonly message: string;
  readonly code: "constraints_unsatisfied";
  /** `template:line` of the innermost place; absent when the program gave none. */
  readonly path?: string;
}

export type WitnessResult =
  | {
      readonly ok: true;
      /** One 32-byte little-endian field element per wire, standard form, wire 0 first. */
      readonly witness: Uint8Array;
    }
  | {
      readonly ok: false;
      readonly code: "constraints_unsatisfied";
      readonly message: string;
      readonly details: readonly UnsatisfiedDetail[];
    };

/** Codes that the program passes to `exceptionHandler`. */
const EXCEPTION = { assertFailed: 4, outOfMemory: 5, arrayOutOfBounds: 7 } as const;

/** Values of an input by the name that the witness program knows, arrays without their indices. */
export interface InputRun {
  readonly path: string;
  readonly values: readonly bigint[];
}

/**
 * Computes all wires from checked inputs. Each call runs a new instance (about 1 ms), so that no inputs of one caller
 * remain for the next. Cost: some milliseconds per thousand constraints of arithmetic, 0.2 s for SHA-256 of 512
 * bits.
 * @param module the witness program of this very circuit
 * @param values every public and private input, from `checkInputs`
 * @returns the witness, or where the inputs break the circuit's rules
 */
export function computeWitness(
  module: WebAssembly.Module,
  circuit: CircuitInterface,
  values: SignalValues,
): WitnessResult {
  return computeFromRuns(module, circuit, inputRuns(circuit, values));
}

/**
 * As `computeWitness`, from inputs by the program's own names.
 * @param runs every input, each as long as the program takes it
 */
export function computeFromRuns(
  module: WebAssembly.Module,
  circuit: CircuitInterface,
  runs: readonly InputRun[],
): WitnessResult {
  return withProgramMemory(module, (imports) => {
    const trace: string[] = [];
    const program = instantiate(module, trace, imports);
    checkProgram(program, circuit);
    return runProgram(program, circuit, { runs, trace });
  });
}

function runProgram(
  program: ProgramExports,
  circuit: CircuitInterface,
  { runs, trace }: { readonly runs: readonly InputRun[]; readonly trace: readonly string[] },
): WitnessResult {
  try {
    program.init(1);
    for (const run of runs) setInput(program, run);
    return { ok: true, witness: readWitness(program, circuit.wireCount) };
  } catch (error) {
    const message = sentenceOf(error);
    if (message === undefined) throw error;
    return unsatisfied(message, trace);
  }
}

function inputRuns(circuit: CircuitInterface, values: SignalValues): InputRun[] {
  return circuit.signals.flatMap((signal) => {
    if (signal.visibility === "output") return [];
    const elements = values.get(signal.name) ?? [];
    let next = 0;
    return runsOf(signal).map(({ path, size }) => {
      next += size;
      if (next > elements.length) throw new Error("inputs are incomplete");
      return { path, values: elements.slice(next - size, next) };
    });
  });
}

function setInput(program: ProgramExports, { path, values }: InputRun): void {
  const [high, low] = inputHash(path);
  if (program.getInputSignalSize(high, low) !== values.length)
    throw new Error("witness program takes another shape of input");
  for (const [i, element] of values.entries()) {
    writeElement(sharedWords(program), element);
    // Setting the last input starts the computation.
    program.setInputSignal(high, low, i);
  }
}

function readWitness(program: ProgramExports, wireCount: number): Uint8Array {
  const witness = new Uint32Array(wireCount * WORDS_PER_ELEMENT);
  const shared = sharedWords(program);
  for (let wire = 0; wire < wireCount; wire += 1) {
    program.getWitness(wire);
    witness.set(shared, wire * WORDS_PER_ELEMENT);
  }
  return new Uint8Array(witness.buffer);
}

function writeElement(words: Uint32Array, value: bigint): void {
  if (value <= 0xffffffffn) {
    words.fill(0);
    words[0] = Number(value);
    return;
  }
  for (let i = 0; i < WORDS_PER_ELEMENT; i += 1) words[i] = Number((value >> BigInt(32 * i)) & 0xffffffffn);
}

/** Returns what is wrong with the inputs as a sentence, or undefined when the inputs are not the cause. */
function sentenceOf(error: unknown): string | undefined {
  if (error instanceof ProgramException) {
    switch (error.exceptionCode) {
      case EXCEPTION.assertFailed:
        return "the inputs do not satisfy the circuit";
      case EXCEPTION.outOfMemory:
        return "the circuit needs more memory for these inputs than a witness may take";
      case EXCEPTION.arrayOutOfBounds:
        return "the circuit reads outside one of its arrays for these inputs";
      default:
        return undefined;
    }
  }
  // A trap: recursion without end, or arithmetic that the program does not allow.
  if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError)
    return "the circuit's witness program failed for these inputs";
  return undefined;
}

/**
 * Reads lines such as `Error in template Main_0 line: 4`, innermost first; the number after the name counts instances
 * and means nothing to the author.
 */
function unsatisfied(message: string, trace: readonly string[]): WitnessResult & { readonly ok: false } {
  const code = "constraints_unsatisfied";
  const places = trace.flatMap((line) => [...line.matchAll(/Error in template (\w+?)(?:_\d+)? line: (\d+)/g)]);
  const details = places.map(([, template = "", line = ""], depth): UnsatisfiedDetail => {
    const where = `template ${template}, line ${line}`;
    return {
      message: depth === 0 ? `${message}: ${where}` : `called from ${where}`,
      code,
      path: `${template}:${line}`,
    };
  });
  const first: UnsatisfiedDetail = details[0] ?? { message, code };
  return { ok: false, code, message: first.message, details: details.length === 0 ? [first] : details };
}
