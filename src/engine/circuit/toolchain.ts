/**
 * Loads the circom compiler, limited in memory, and the circomlib sources from the installed packages. These are the
 * only host files that a compilation uses; the compiler itself reads only from memory.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { withMemoryMaximum } from "./wasm-memory.js";

/** The used part of the WASI layer that circom2 exports. */
interface WasiRunner {
  readonly wasi: {
    getImports(module: WebAssembly.Module): Record<string, Record<string, unknown>>;
    start(instance: WebAssembly.Instance): void;
  };
}

interface RunnerOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly preopens: Readonly<Record<string, string>>;
  readonly bindings: Readonly<Record<string, unknown>>;
}

interface CircomPackage {
  readonly CircomRunner: new (options: RunnerOptions) => WasiRunner;
  readonly bindings: Readonly<Record<string, unknown>>;
}

export interface Toolchain {
  readonly circom: CircomPackage;
  readonly compiler: WebAssembly.Module;
  /** Such as `circom2 0.2.23`; with it and the source, a compilation can be reproduced. */
  readonly compilerName: string;
  /** Include path (`circomlib/circuits/poseidon.circom`) to source bytes. */
  readonly library: ReadonlyMap<string, Uint8Array>;
}

/** The include prefix of the shipped library. */
const LIBRARY_PREFIX = "circomlib/";

/** Returns name and version of the compiler, such as `circom2 0.2.23`, without loading it. */
export function readCompilerName(): string {
  return nameOf("circom2");
}

/** Returns name and version of the shipped library, such as `circomlib 2.0.5`, without loading it. */
export function readLibraryName(): string {
  return nameOf("circomlib");
}

function nameOf(name: string): string {
  const path = createRequire(import.meta.url).resolve(`${name}/package.json`);
  const { version } = JSON.parse(readFileSync(path, "utf8")) as { version: string };
  return `${name} ${version}`;
}

/**
 * Loads the compiler and the library. Cost: about 0.1 s for compiling the 9 MB module.
 * @param memoryPagesMax the compiler's memory limit, in pages of 64 KiB
 */
export async function loadToolchain(memoryPagesMax: number): Promise<Toolchain> {
  const require = createRequire(import.meta.url);
  const packagePath = require.resolve("circom2/package.json");
  const wasm = withMemoryMaximum(readFileSync(join(dirname(packagePath), "circom.wasm")), memoryPagesMax);
  return {
    circom: require("circom2") as CircomPackage,
    compiler: await WebAssembly.compile(new Uint8Array(wasm)),
    compilerName: readCompilerName(),
    library: readLibrary(),
  };
}

/** Reads the shipped library: include path (`circomlib/circuits/poseidon.circom`) to source bytes. */
export function readLibrary(): Map<string, Uint8Array> {
  const folder = join(dirname(createRequire(import.meta.url).resolve("circomlib/package.json")), "circuits");
  const library = new Map<string, Uint8Array>();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".circom"))
      library.set(`${LIBRARY_PREFIX}circuits/${name.replaceAll("\\", "/")}`, readFileSync(join(folder, name)));
  }
  return library;
}
