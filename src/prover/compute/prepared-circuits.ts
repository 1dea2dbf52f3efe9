/**
 * Circuits that the build has compiled, by their hash (`circuitHash`): source, compiler, flags, library and curve, so
 * that one that is not exactly the same is not found. Only the server's own circuits are among them.
 *
 *   <folder>/<hash>/circuit.r1cs.gz, circuit.sym.gz, circuit.wasm.gz, compilation.json (compiler and warnings)
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { CompiledCircuit } from "../../engine/circuit/compile-circuit.js";

/** What a prover needs of a compilation. */
export type PreparedCircuit = Pick<CompiledCircuit, "r1cs" | "sym" | "wasm" | "compiler" | "warnings">;

const FILES = ["r1cs", "sym", "wasm"] as const;
const COMPILATION_FILE = "compilation.json";
const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** Finds a compiled circuit; undefined where the build has left none, or its files are damaged. */
export async function findPreparedCircuit(folder: string, hash: string): Promise<PreparedCircuit | undefined> {
  const place = join(folder, hash);
  try {
    const [r1cs, sym, wasm] = await Promise.all(
      FILES.map(async (name) => decompress(await readFile(fileOf(place, name)))),
    );
    const text = await readFile(join(place, COMPILATION_FILE), "utf8");
    const { compiler, warnings } = JSON.parse(text) as Pick<PreparedCircuit, "compiler" | "warnings">;
    if (r1cs === undefined || sym === undefined || wasm === undefined) return undefined;
    return { r1cs, sym, wasm, compiler, warnings };
  } catch {
    // The circuit is compiled instead.
    return undefined;
  }
}

/**
 * Compiles circuits, two at a time, into a folder, of which nothing else is left: none is kept from an earlier build.
 * @param circuits by hash; one that does not compile is left out
 */
export async function writePreparedCircuits(
  folder: string,
  circuits: ReadonlyMap<string, () => Promise<PreparedCircuit | undefined>>,
): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const waiting = [...circuits].values();
  const work = async (): Promise<void> => {
    for (const [hash, compile] of waiting) {
      const compiled = await compile();
      if (compiled !== undefined) await write(join(folder, hash), compiled);
    }
  };
  await Promise.all([work(), work()]);
}

async function write(place: string, circuit: PreparedCircuit): Promise<void> {
  const unfinished = `${place}.new`;
  await mkdir(unfinished);
  for (const name of FILES) await writeFile(fileOf(unfinished, name), await compress(circuit[name]));
  const { compiler, warnings } = circuit;
  await writeFile(join(unfinished, COMPILATION_FILE), JSON.stringify({ compiler, warnings }));
  await rename(unfinished, place);
}

function fileOf(place: string, name: (typeof FILES)[number]): string {
  return join(place, `circuit.${name}.gz`);
}
