/**
 * Puts the routines of field-routines.ts into a witness program that circom made. Only programs whose own routines are,
 * byte by byte, those that ours were held against are changed (circom 2, both curves); any other stays as it is.
 */
import { createHash } from "node:crypto";
import type { FunctionHandle } from "../../kernels/wasm/wasm-builder.js";
import { curveNamed } from "../../curves/curves.js";
import type { CurveName } from "../../curves/curve-parameters.js";
import { preparedProgram } from "../../prepared/prepared-programs.js";
import { KEPT, ROUTINES, SIGNATURES, fitBody, invertBody, routineBody, type RoutineHandles } from "./field-routines.js";
import { ModuleFormError, readModuleParts, withFunctions, type ModuleParts } from "./module-sections.js";

/** By the SHA-256 of the routines' names, places and code: the curve whose scalar field they compute in. */
const KNOWN: ReadonlyMap<string, CurveName> = new Map([
  ["6d109f12de7fd0cb2c54b14e3fb101502fb781a4817503ce37def51d112c3290", "BN254"],
  ["befb3dca9648cab3a196388ddfde1413a527417aa881c9572b0b6a1ca1dfa299", "BLS12_381"],
]);

/** Routines of the field, by circom's names. */
const FIELD_PREFIX = "Fr_";
/** A function that takes an element and gives nothing has its type. */
const FIT_TYPE_OF = "Fr_toNormal";
/** A function of two addresses that gives nothing has its type. */
const INVERT_TYPE_OF = "Fr_inv";

/** Returns the curve of a program whose routines are known; undefined for any other. */
export function knownRoutines(parts: ModuleParts): CurveName | undefined {
  return KNOWN.get(routinesHash(parts));
}

/** Returns the SHA-256 of a program's own field routines, in hex. */
export function routinesHash({ byName }: ModuleParts): string {
  const hash = createHash("sha256");
  for (const [name, { index, body }] of byName)
    if (name.startsWith(FIELD_PREFIX)) hash.update(`${name} ${String(index)} ${String(body.length)} `).update(body);
  return hash.digest("hex");
}

/** Returns the program with faster routines; undefined for one whose own routines are not known. */
export function withFasterRoutines(wasm: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  try {
    const parts = readModuleParts(wasm);
    const curve = knownRoutines(parts);
    return curve === undefined ? undefined : replaced(parts, curve);
  } catch (error) {
    if (error instanceof ModuleFormError) return undefined;
    throw error;
  }
}

/**
 * Exchanges the routines.
 * @param curve the one whose scalar field the program's own routines are known to compute in
 * @param options.exports whether JavaScript may call them, by their names: to try them
 */
export function replaced(parts: ModuleParts, curve: CurveName, { exports = false } = {}): Uint8Array<ArrayBuffer> {
  const { importCount, functions, byName } = parts;
  const firstAdded = importCount + functions.length;
  const own = (name: string): FunctionHandle => ({ ...signatureOf(name), index: required(parts, name).index, name });
  const handles: RoutineHandles = {
    own,
    original: (name) => ({ ...own(name), index: firstAdded + 2 + KEPT.indexOf(name) }),
    fit: { ...signatureOf(FIT_TYPE_OF), index: firstAdded, name: "fit" },
    invert: { ...signatureOf(INVERT_TYPE_OF), index: firstAdded + 1, name: "invert" },
  };
  const added = [
    { type: required(parts, FIT_TYPE_OF).type, body: fitBody() },
    { type: required(parts, INVERT_TYPE_OF).type, body: inversionOf(curve) },
    ...KEPT.map((name) => required(parts, name)),
  ];
  const bodies = new Map(
    Object.keys(ROUTINES).map((name) => [required(parts, name).index, routineBody(name, handles)] as const),
  );
  const shown = new Map([...byName].flatMap(([name, { index }]) => (name in ROUTINES ? [[name, index] as const] : [])));
  return withFunctions(parts, { bodies, added, ...(exports ? { exports: shown } : {}) });
}

/** Returns the name of the prepared inversion of a curve's scalars. */
export function inversionName(curve: CurveName): string {
  return `witness-inversion-${curve}`;
}

/** Returns the program with its own routines, which JavaScript may call as well. */
export function withRoutineExports(parts: ModuleParts): Uint8Array<ArrayBuffer> {
  const exports = new Map(Object.keys(ROUTINES).map((name) => [name, required(parts, name).index]));
  return withFunctions(parts, { bodies: new Map(), added: [], exports });
}

/** It takes 4 ms to emit, in a thread that has emitted nothing before. */
function inversionOf(curve: CurveName): Uint8Array {
  return (preparedProgram(inversionName(curve)) as Uint8Array | undefined) ?? invertBody(curveNamed(curve).r);
}

function required({ byName }: ModuleParts, name: string): ModuleParts["functions"][number] {
  const found = byName.get(name);
  if (found === undefined) throw new ModuleFormError(`the program has no routine ${name}`);
  return found;
}

function signatureOf(name: string): Pick<FunctionHandle, "params" | "results"> {
  if (name === "Fr_rawCopyS2L") return { params: ["i32", "i64"], results: [] };
  const { params, hasResult } = SIGNATURES[name] ?? { params: 0, hasResult: false };
  return { params: Array.from({ length: params }, () => "i32" as const), results: hasResult ? ["i32"] : [] };
}
