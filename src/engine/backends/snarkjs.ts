/**
 * The only importer of snarkjs and ffjavascript. Prepares both so that they start no thread, leave no listener and end
 * with the thread that loaded them; provides ffjavascript's WebAssembly program of a curve for the engine's own
 * instances.
 */
import { readFile } from "node:fs/promises";
import Module, { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { SingleThreadCurve } from "ffjavascript";
import type * as snarkjsTypes from "snarkjs";

/** A curve's compiled WebAssembly program with the sizes that its pairing needs. May be posted to another thread. */
export interface CurveProgram {
  readonly curve: "BN254";
  readonly module: WebAssembly.Module;
  readonly preparedG1Bytes: number;
  readonly preparedG2Bytes: number;
}

/** snarkjs itself, set up to run single-threaded on the calling thread. */
export type Snarkjs = Pick<typeof snarkjsTypes, "groth16" | "zKey" | "wtns">;

/** Loaded once per thread; module state because the packages keep global state of their own. */
let curvePromise: Promise<SingleThreadCurve> | undefined;
let programPromise: Promise<CurveProgram> | undefined;
let snarkjsPromise: Promise<Snarkjs> | undefined;

/**
 * Returns the curve's program, compiled once per thread: about 0.3 s the first time. Works on the main thread, in a
 * worker thread (Piscina's, too) and in a child process.
 */
export function primeCurve(): Promise<CurveProgram> {
  programPromise ??= compileProgram();
  return programPromise;
}

/**
 * Loads snarkjs on the single-thread curve, so that `groth16.*`, `zKey.*` and the rest run in the calling thread. Every
 * call must pass bytes and never a string: snarkjs opens strings as paths.
 */
export function primeSnarkjs(): Promise<Snarkjs> {
  snarkjsPromise ??= loadSnarkjs();
  return snarkjsPromise;
}

/** Reads a Solidity template that snarkjs ships; the package does not list them among its exports. */
export async function readSolidityTemplate(scheme: "groth16" | "plonk" | "fflonk"): Promise<string> {
  const entry = createRequire(import.meta.url).resolve("snarkjs");
  return await readFile(join(dirname(entry), "..", "templates", `verifier_${scheme}.sol.ejs`), "utf8");
}

async function compileProgram(): Promise<CurveProgram> {
  const curve = await buildCurve();
  const module = await WebAssembly.compile(curve.tm.code);
  return { curve: "BN254", module, preparedG1Bytes: curve.prePSize, preparedG2Bytes: curve.preQSize };
}

function buildCurve(): Promise<SingleThreadCurve> {
  curvePromise ??= (async () => {
    disableNestedWorkers();
    const { buildBn128 } = await import("ffjavascript");
    return await buildBn128(true);
  })();
  return curvePromise;
}

async function loadSnarkjs(): Promise<Snarkjs> {
  const curve = await buildCurve();
  const snarkjs = await import("snarkjs");
  // After the import, because loading snarkjs resets this global; every call of snarkjs then reuses the curve instead
  // of building a multi-threaded one.
  (globalThis as { curve_bn128?: unknown }).curve_bn128 = curve;
  return snarkjs;
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
