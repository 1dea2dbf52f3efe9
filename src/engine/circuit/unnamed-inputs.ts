/**
 * Inputs of a circuit that came without a symbol table. Its witness program knows them by a hash of their names only,
 * so the caller's names are looked up there, as snarkjs does: a name has a value, or all values of its array, nested or
 * in one list; members of a bus are `A.B`, or objects. The program cannot say which input is missing, only how many
 * values there must be.
 */
import { Problems, parseFieldElement } from "./inputs.js";
import type { InputProblem } from "./inputs.js";
import { scalarFieldOf } from "./interface.js";
import type { CircuitInterface } from "./interface.js";
import { withProgramMemory } from "./program-memory.js";
import { checkProgram, inputHash, instantiate, type ProgramExports } from "./witness-program.js";
import type { InputRun } from "./witness.js";

type UnnamedInputs =
  | { readonly ok: true; readonly runs: readonly InputRun[] }
  | { readonly ok: false; readonly details: readonly InputProblem[] };

/** Nesting that JSON of this server may have is less. */
const DEPTH_MAX = 64;
const PATH_CHARS_MAX = 128;

/**
 * Matches inputs to those of the program.
 * @param module the witness program of this very circuit
 * @param inputs parsed JSON
 * @returns each input with its values, complete, or one problem per member at fault
 */
export function checkUnnamedInputs(
  module: WebAssembly.Module,
  circuit: CircuitInterface,
  inputs: unknown,
): UnnamedInputs {
  const problems = new Problems();
  const reader = new InputReader(scalarFieldOf(circuit.curve), problems);
  if (isRecord(inputs)) reader.readMembers(inputs, "", 0);
  else problems.add("", "the witness must be an object of member names and values");
  withProgramMemory(module, (imports) => {
    const program = instantiate(module, [], imports);
    checkProgram(program, circuit);
    matchInputs(program, reader.found, problems);
  });
  if (problems.count > 0) return { ok: false, details: problems.list() };
  return { ok: true, runs: [...reader.found].map(([path, values]) => ({ path, values })) };
}

function matchInputs(program: ProgramExports, found: ReadonlyMap<string, readonly bigint[]>, problems: Problems): void {
  const hashes = new Set<string>();
  let given = 0;
  for (const [path, values] of found) {
    const [high, low] = inputHash(path);
    const size = program.getInputSignalSize(high, low);
    if (size < 0) problems.add(path, `${path} is not an input of this circuit`);
    else if (size !== values.length)
      problems.add(path, `${path} has ${String(values.length)} values, the circuit takes ${String(size)}`);
    else if (hashes.has(`${String(high)} ${String(low)}`)) problems.add(path, `${path} is given twice`);
    hashes.add(`${String(high)} ${String(low)}`);
    given += values.length;
  }
  const wanted = program.getInputSize();
  if (problems.count === 0 && given !== wanted)
    problems.add("", `the inputs have ${String(given)} values, the circuit takes ${String(wanted)}; one is missing`);
}

/** Collects values by the names of the arrays that they belong to. */
class InputReader {
  readonly found = new Map<string, bigint[]>();
  readonly #prime: bigint;
  readonly #problems: Problems;

  constructor(prime: bigint, problems: Problems) {
    this.#prime = prime;
    this.#problems = problems;
  }

  readMembers(members: Record<string, unknown>, prefix: string, depth: number): void {
    for (const [key, value] of Object.entries(members)) this.#read(value, `${prefix}${key}`, depth + 1);
  }

  #read(value: unknown, path: string, depth: number): void {
    const shown = path.slice(0, PATH_CHARS_MAX);
    if (depth > DEPTH_MAX || path.length > PATH_CHARS_MAX) this.#problems.add(shown, `${shown} is not an input`);
    else if (isRecord(value)) this.readMembers(value, `${path}.`, depth);
    else if (Array.isArray(value) && holdsRecords(value))
      // Elements of an array of buses have names of their own.
      for (const [i, item] of value.entries()) this.#read(item, `${path}[${String(i)}]`, depth + 1);
    else this.#add(value, path);
  }

  #add(value: unknown, path: string): void {
    if (this.found.has(path)) {
      this.#problems.add(path, `${path} is given twice`);
      return;
    }
    const items: readonly unknown[] = Array.isArray(value) ? (value as unknown[]).flat(DEPTH_MAX) : [value];
    const values: bigint[] = [];
    for (const [i, item] of items.entries()) {
      const parsed = parseFieldElement(item, this.#prime);
      if (typeof parsed === "string") {
        const place = Array.isArray(value) ? `${path}[${String(i)}]` : path;
        this.#problems.add(place, `${place} ${parsed}`);
      } else values.push(parsed);
    }
    if (values.length === items.length) this.found.set(path, values);
  }
}

/** Whether there is an object among the values, at any depth. */
function holdsRecords(value: readonly unknown[]): boolean {
  return value.some((item) => isRecord(item) || (Array.isArray(item) && holdsRecords(item)));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
