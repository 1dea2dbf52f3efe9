/**
 * The program that circom emits for a circuit, which computes its witness. It is untrusted code: it gets only the four
 * fixed `runtime` imports, its `log()` output (often private inputs) is discarded, and its memory has a maximum
 * (wasm-memory.ts). The caller's thread or process sets the deadline. Interface: circom's generated
 * witness_calculator.js.
 */
import { runsOf, scalarFieldOf } from "./interface.js";
import type { CircuitInterface } from "./interface.js";

/** Bytes of one element of a witness. */
const WITNESS_ELEMENT_BYTES = 32;

export const WORDS_PER_ELEMENT = WITNESS_ELEMENT_BYTES / 4;

/** The program has other imports or exports than circom's, or is not the circuit's. */
export class WitnessProgramError extends Error {
  override readonly name = "WitnessProgramError";
}

/** The program writes one line per level of the template tree; more lines do not help a reader. */
const TRACE_LINES_MAX = 16;
const TRACE_CHARS_MAX = 300;

export interface ProgramExports {
  readonly memory: WebAssembly.Memory;
  getSharedRWMemoryStart(): number;
  getFieldNumLen32(): number;
  getRawPrime(): void;
  getWitnessSize(): number;
  getInputSize(): number;
  getInputSignalSize(hashHigh: number, hashLow: number): number;
  init(sanityCheck: number): void;
  setInputSignal(hashHigh: number, hashLow: number, position: number): void;
  getWitness(wire: number): void;
  getMessageChar(): number;
}

const IMPORTS: ReadonlySet<string> = new Set([
  "exceptionHandler",
  "printErrorMessage",
  "writeBufferMessage",
  "showSharedRWMemory",
]);
const EXPORTS: readonly (readonly [name: keyof ProgramExports, kind: "memory" | "function"])[] = [
  ["memory", "memory"],
  ["getSharedRWMemoryStart", "function"],
  ["getFieldNumLen32", "function"],
  ["getRawPrime", "function"],
  ["getWitnessSize", "function"],
  ["getInputSize", "function"],
  ["getInputSignalSize", "function"],
  ["init", "function"],
  ["setInputSignal", "function"],
  ["getWitness", "function"],
  ["getMessageChar", "function"],
];

/** Thrown by the program's import exceptionHandler. */
export class ProgramException extends Error {
  override readonly name = "ProgramException";
  readonly exceptionCode: number;

  constructor(exceptionCode: number) {
    super(`witness program exception ${exceptionCode}`);
    this.exceptionCode = exceptionCode;
  }
}

/**
 * Requires that a module from outside is the program of this circuit. Starts it, which may loop.
 * @throws WitnessProgramError for other imports than circom's, for missing exports, and as `checkProgram`
 */
export function requireProgram(module: WebAssembly.Module, circuit: CircuitInterface): void {
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (from !== "runtime" || kind !== "function" || !IMPORTS.has(name))
      throw new WitnessProgramError(
        `the witness program imports ${from.slice(0, 32)}.${name.slice(0, 32)}, which none of circom's does`,
      );
  }
  const kinds = new Map(WebAssembly.Module.exports(module).map(({ name, kind }) => [name, kind]));
  for (const [name, kind] of EXPORTS) {
    if (kinds.get(name) !== kind) throw new WitnessProgramError(`the witness program exports no ${kind} ${name}`);
  }
  const program = instantiate(module, []);
  checkProgram(program, circuit);
  if (circuit.isUnnamed === true) return;
  for (const signal of circuit.signals) {
    if (signal.visibility === "output") continue;
    for (const { path, size } of runsOf(signal)) {
      const [high, low] = inputHash(path);
      if (program.getInputSignalSize(high, low) !== size)
        throw new WitnessProgramError(
          `the witness program takes no input ${path.slice(0, 64)} of ${String(size)} values`,
        );
    }
  }
}

/** Returns the two halves of the number by which the program knows an input. */
export function inputHash(path: string): readonly [high: number, low: number] {
  const hash = fnv1a64(path);
  return [Number(hash >> 32n) | 0, Number(hash & 0xffffffffn) | 0];
}

/**
 * Starts a new instance; its error lines are appended to `trace`.
 * @param imports what it takes beside functions (program-memory.ts)
 */
export function instantiate(
  module: WebAssembly.Module,
  trace: string[],
  imports: { readonly memory?: WebAssembly.Memory } = {},
): ProgramExports {
  const takeMessage = (): string => {
    let text = "";
    // The buffer ends with a zero; the bound only guards against a program that never sends one.
    for (let i = 0; i < 4096; i += 1) {
      const character = program.getMessageChar();
      if (character === 0) break;
      text += String.fromCharCode(character);
    }
    return text;
  };
  const runtime = {
    ...imports,
    exceptionHandler(code: number): never {
      throw new ProgramException(code);
    },
    printErrorMessage(): void {
      const line = takeMessage();
      if (trace.length < TRACE_LINES_MAX) trace.push(line.slice(0, TRACE_CHARS_MAX));
    },
    // log() of the circuit: the buffer has to be emptied; its content may be private.
    writeBufferMessage(): void {
      takeMessage();
    },
    showSharedRWMemory(): void {},
  };
  const program = new WebAssembly.Instance(module, { runtime }).exports as unknown as ProgramExports;
  return program;
}

/**
 * Checks that the program belongs to this circuit, curve and compiler generation. The artifacts of a
 * prover are pinned by hash, so that a mismatch is a bug there.
 * @throws WitnessProgramError
 */
export function checkProgram(program: ProgramExports, circuit: CircuitInterface): void {
  if (program.getFieldNumLen32() !== WORDS_PER_ELEMENT)
    throw new WitnessProgramError("the witness program has another field size");
  program.getRawPrime();
  if (toBigInt(sharedWords(program)) !== scalarFieldOf(circuit.curve))
    throw new WitnessProgramError("the witness program is over another field");
  if (program.getWitnessSize() !== circuit.wireCount)
    throw new WitnessProgramError("the witness program has another number of wires");
  if (program.getInputSize() !== circuit.publicInputCount + circuit.privateInputCount)
    throw new WitnessProgramError("the witness program takes other inputs");
}

/**
 * Returns a view of the program's exchange area for one element. Call it again after a computation: growing memory
 * detaches older views.
 */
export function sharedWords(program: ProgramExports): Uint32Array {
  return new Uint32Array(program.memory.buffer, program.getSharedRWMemoryStart(), WORDS_PER_ELEMENT);
}

function toBigInt(words: Uint32Array): bigint {
  return words.reduceRight((value, word) => (value << 32n) | BigInt(word), 0n);
}

/** FNV-1a, 64 bits, by which the program identifies its inputs (Fowler, Noll, Vo; draft-eastlake-fnv). */
function fnv1a64(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text, "utf8")) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash;
}
