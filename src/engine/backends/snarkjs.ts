/**
 * The only importer of snarkjs and ffjavascript. Prepares both so that they start no thread, leave no listener and end
 * with the thread that loaded them; provides ffjavascript's WebAssembly program of a curve for the engine's own
 * instances.
 */
import { readFile } from "node:fs/promises";
import Module, { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { SingleThreadCurve } from "ffjavascript";
import type { CurveName } from "../curves/curve-parameters.js";
import { preparedProgram } from "../prepared/prepared-programs.js";
import type * as snarkjsTypes from "snarkjs";

/** A curve's compiled WebAssembly program with the sizes that its pairing needs. May be posted to another thread. */
export interface CurveProgram {
  readonly curve: CurveName;
  readonly module: WebAssembly.Module;
  readonly preparedG1Bytes: number;
  readonly preparedG2Bytes: number;
}

/** The program before it is compiled. */
interface EmittedCurveProgram extends Pick<CurveProgram, "preparedG1Bytes" | "preparedG2Bytes"> {
  readonly code: Uint8Array;
}

/** snarkjs itself, set up to run single-threaded on the calling thread. */
export type Snarkjs = Pick<typeof snarkjsTypes, "groth16" | "zKey" | "wtns">;

/** Where ffjavascript keeps each curve that it has built. */
const CURVE_GLOBALS = { BN254: "curve_bn128", BLS12_381: "curve_bls12381" } as const;

/** Loaded once per thread; module state because the packages keep global state of their own. */
const curvePromises = new Map<CurveName, Promise<SingleThreadCurve>>();
const programPromises = new Map<CurveName, Promise<CurveProgram>>();
let snarkjsPromise: Promise<Snarkjs> | undefined;

/**
 * Returns the program of a curve, BN254 by default, compiled once per thread: where it is not prepared, about 0.3 s the
 * first time, twice that for BLS12-381. Works on the main thread, in a worker thread (Piscina's, too) and in a child
 * process.
 */
export function primeCurve(name: CurveName = "BN254"): Promise<CurveProgram> {
  let promise = programPromises.get(name);
  if (promise === undefined) programPromises.set(name, (promise = compileProgram(name)));
  return promise;
}

/** Returns the name of a prepared program. */
export function curveProgramName(name: CurveName): string {
  return `reference-${name}`;
}

/** Has ffjavascript emit its program of a curve. */
export async function emitCurveProgram(name: CurveName): Promise<EmittedCurveProgram> {
  const curve = await buildCurve(name);
  return { code: curve.tm.code, preparedG1Bytes: curve.prePSize, preparedG2Bytes: curve.preQSize };
}

/**
 * Loads snarkjs on a single-thread curve, BN254 by default, so that `groth16.*`, `zKey.*` and the rest run in the
 * calling thread. Every call must pass bytes and never a string: snarkjs opens strings as paths.
 */
export async function primeSnarkjs(name: CurveName = "BN254"): Promise<Snarkjs> {
  snarkjsPromise ??= loadSnarkjs();
  const snarkjs = await snarkjsPromise;
  // After the import, because loading snarkjs resets these globals; every call of snarkjs then reuses the curve instead
  // of building a multi-threaded one.
  (globalThis as Record<string, unknown>)[CURVE_GLOBALS[name]] = await buildCurve(name);
  return snarkjs;
}

/** Schemes whose verifier snarkjs writes in Solidity. */
export type SolidityScheme = "groth16" | "plonk" | "fflonk";

/** Reads a Solidity template that snarkjs ships; the package does not list them among its exports. */
export async function readSolidityTemplate(scheme: SolidityScheme): Promise<string> {
  const entry = createRequire(import.meta.url).resolve("snarkjs");
  return await readFile(join(dirname(entry), "..", "templates", `verifier_${scheme}.sol.ejs`), "utf8");
}

async function compileProgram(name: CurveName): Promise<CurveProgram> {
  const prepared = preparedProgram(curveProgramName(name)) as EmittedCurveProgram | undefined;
  const { code, ...sizes } = prepared ?? (await emitCurveProgram(name));
  return { curve: name, module: await WebAssembly.compile(code), ...sizes };
}

function buildCurve(name: CurveName): Promise<SingleThreadCurve> {
  let promise = curvePromises.get(name);
  if (promise === undefined) curvePromises.set(name, (promise = buildSingleThread(name)));
  return promise;
}

async function buildSingleThread(name: CurveName): Promise<SingleThreadCurve> {
  disableNestedWorkers();
  const { buildBls12381, buildBn128 } = await import("ffjavascript");
  return await { BN254: buildBn128, BLS12_381: buildBls12381 }[name](true);
}

async function loadSnarkjs(): Promise<Snarkjs> {
  disableNestedWorkers();
  return await import("snarkjs");
}

/**
 * Puts a stand-in for `web-worker` into the module cache. Inside a worker thread the real one acts as its own shim: it
 * listens on the parent port, defines `self`, keeps the thread alive and loads the module that `workerData.mod` names.
 */
function disableNestedWorkers(): void {
  const require = createRequire(import.meta.url);
  const id = createRequire(require.resolve("ffjavascript")).resolve("web-worker");
  if (require.cache[id] !== undefined) return;
  const standIn = new Module(id);
  standIn.filename = id;
  standIn.loaded = true;
  standIn.exports = function (): never {
    throw new Error("nested workers are disabled: the curve must be built single-threaded");
  };
  require.cache[id] = standIn;
}
