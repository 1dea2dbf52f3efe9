/**
 * Reads a circuit that was compiled elsewhere: its R1CS, its witness program and its symbol table. Trusts none of them,
 * but may take long and much memory, and starts the program: for a process of its own (workers/import.process.ts).
 */
import { CircuitInterfaceError, readCircuitInterface, scalarFieldOf, unnamedInterface, valuesOf } from "./interface.js";
import type { CircuitInterface } from "./interface.js";
import type { CurveName } from "../curves/curve-parameters.js";
import { R1csFormatError, readR1cs, type R1cs } from "./r1cs.js";
import { requireOneTable, WasmMemoryError, withMemoryMaximum } from "./wasm-memory.js";
import { requireProgram, WitnessProgramError } from "./witness-program.js";

export interface ImportedFiles {
  readonly r1cs: Uint8Array;
  /** WebAssembly that circom emitted for the circuit. */
  readonly witnessProgram: Uint8Array;
  /** Symbol table; without it the circuit's signals have no names of their own. */
  readonly sym?: Uint8Array;
}

export interface ImportLimits {
  readonly constraintsMax: number;
  /** Outputs and inputs together, an array counted by its values. */
  readonly valuesMax: number;
  /** Memory of the witness program in pages of 64 KiB. */
  readonly witnessPagesMax: number;
}

/** What is wrong with a file, for its sender. */
export interface ImportProblem {
  readonly ok: false;
  readonly code: "import_invalid" | "circuit_too_large";
  /** Name of the file at fault. */
  readonly file: string;
  readonly message: string;
}

export type ImportedCircuitResult =
  | {
      readonly ok: true;
      readonly circuit: CircuitInterface;
      readonly r1cs: R1cs;
      /** The program with a maximum of memory. */
      readonly witnessProgram: Uint8Array;
    }
  | ImportProblem;

/**
 * Reads the files and starts the program once, which may loop or end the process.
 * @param curve over whose scalar field the circuit must be
 */
export async function readImportedCircuit(
  files: ImportedFiles,
  { curve, ...limits }: ImportLimits & { readonly curve: CurveName },
): Promise<ImportedCircuitResult> {
  let file = "circuit.r1cs";
  try {
    const r1cs = readR1cs(files.r1cs);
    if (r1cs.prime !== scalarFieldOf(curve))
      return problem(file, "the circuit is over the field of another curve than the prover's");
    const excess = excessOf(r1cs, limits);
    if (excess !== undefined) return { ok: false, code: "circuit_too_large", file, message: excess };
    if (files.sym !== undefined) file = "circuit.sym";
    const circuit = files.sym === undefined ? unnamedInterface(r1cs) : readCircuitInterface(r1cs, files.sym);
    if (valuesOf(circuit) > limits.valuesMax)
      return {
        ...problem(file, `the circuit has more than ${String(limits.valuesMax)} values of inputs and outputs`),
        code: "circuit_too_large",
      };
    file = "circuit.wasm";
    requireOneTable(files.witnessProgram);
    const witnessProgram = withMemoryMaximum(files.witnessProgram, limits.witnessPagesMax);
    requireProgram(await WebAssembly.compile(Uint8Array.from(witnessProgram)), circuit);
    return { ok: true, circuit, r1cs, witnessProgram };
  } catch (error) {
    return problem(file, sentenceOf(error));
  }
}

function excessOf(r1cs: R1cs, { constraintsMax }: ImportLimits): string | undefined {
  // Wires cost as much as constraints, and a circuit has hardly more of them.
  const largest = Math.max(r1cs.constraintCount, Math.floor(r1cs.wireCount / 2));
  return largest > constraintsMax
    ? `the circuit has ${String(r1cs.constraintCount)} constraints and ${String(r1cs.wireCount)} wires, ${String(constraintsMax)} constraints are allowed`
    : undefined;
}

function problem(file: string, message: string): ImportProblem {
  return { ok: false, code: "import_invalid", file, message };
}

/** Other errors come from the engine that reads the bytes, and say nothing to their sender. */
function sentenceOf(error: unknown): string {
  const isOwn =
    error instanceof R1csFormatError ||
    error instanceof CircuitInterfaceError ||
    error instanceof WasmMemoryError ||
    error instanceof WitnessProgramError;
  if (isOwn) return error.message;
  if (error instanceof WebAssembly.CompileError) return "not a WebAssembly module that can be compiled";
  if (error instanceof WebAssembly.RuntimeError) return "the witness program failed when it was started";
  return "cannot be read";
}
