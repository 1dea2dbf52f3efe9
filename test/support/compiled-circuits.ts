/**
 * Circuits that are compiled once and not once a test file: the larger built-in ones take the compiler many seconds.
 * What it wrote is kept under dist for later runs too, by everything that it depends on: compiler, library, the
 * engine's code around them, Node and the source.
 */
import { createHash, randomUUID, type Hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { compileCircuit, type CompiledCircuit, type CompileResult } from "../../src/engine/circuit/compile-circuit.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { BuiltInCircuits } from "../../src/prover/provisioning/sources.js";

export interface CircuitText {
  /** Path to text. */
  readonly files: Readonly<Record<string, string>>;
  readonly main: string;
}

const CACHE = join(PACKAGE_ROOT, "dist/test-circuits");
const compiled = new Map<string, Promise<CompileResult>>();
let toolchain: string | undefined;

/**
 * As `compileCircuit` with its default limits; only what compiled is kept beyond the test file. Everybody gets bytes of
 * their own.
 */
export async function compileOnce({ files, main }: CircuitText): Promise<CompileResult> {
  const name = createHash("sha256")
    .update(JSON.stringify([main, files]))
    .digest("hex");
  const compiling = compiled.get(name) ?? readOrCompile(name, { files, main });
  compiled.set(name, compiling);
  return structuredClone(await compiling);
}

/** A circuit that ships with the server. */
export async function compileBuiltIn(identifier: string): Promise<CompiledCircuit> {
  const result = await compileOnce(
    new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") }).get(identifier).source,
  );
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return result;
}

async function readOrCompile(name: string, { files, main }: CircuitText): Promise<CompileResult> {
  toolchain ??= hashToolchain();
  const path = join(CACHE, toolchain, name);
  if (existsSync(path)) return deserialize(readFileSync(path)) as CompiledCircuit;
  const result = await compileCircuit({ sources: files, main, curve: "BN254" });
  if (result.ok) keep(path, result);
  return result;
}

/** Test files run side by side: a file is there whole or not at all. */
function keep(path: string, result: CompiledCircuit): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  for (const other of readdirSync(CACHE))
    if (join(CACHE, other) !== folder) rmSync(join(CACHE, other), { recursive: true, force: true });
  const whole = `${path}.${randomUUID()}`;
  writeFileSync(whole, serialize(result));
  renameSync(whole, path);
}

function hashToolchain(): string {
  const { resolve } = createRequire(import.meta.url);
  const hash = createHash("sha256").update(process.version);
  for (const folder of [
    dirname(resolve("circom2/package.json")),
    join(dirname(resolve("circomlib/package.json")), "circuits"),
    join(PACKAGE_ROOT, "src/engine/circuit"),
  ])
    addFolder(hash, folder);
  return hash.digest("hex");
}

function addFolder(hash: Hash, folder: string): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.sort()) hash.update(`\0${file}\0`).update(readFileSync(file));
}
