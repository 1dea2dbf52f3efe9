/**
 * Circuits that are compiled once and not once a test file, because the larger ones take the compiler many seconds.
 * What it wrote is kept under dist for later runs too, by everything that it depends on: compiler, library, the
 * engine's code around them, Node and the source.
 */
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { compileCircuit, type CompileRequest, type CompileResult } from "../../src/engine/circuit/compile-circuit.js";
import type { CurveName } from "../../src/engine/curves/curve-parameters.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { compilationName } from "../../src/prover/compute/compile-task.js";
import { findPreparedCircuit, type PreparedCircuit } from "../../src/prover/compute/prepared-circuits.js";
import { BuiltInCircuits, circuitHash } from "../../src/prover/provisioning/sources.js";
import { KeptResults } from "./kept-results.js";

export interface CircuitText {
  /** Path to text. */
  readonly files: Readonly<Record<string, string>>;
  readonly main: string;
  readonly options?: Pick<CompileRequest, "optimization" | "rounds">;
}

const { resolve } = createRequire(import.meta.url);
const KEPT = new KeptResults<CompileResult>({
  folder: "test-circuits",
  madeWith: [
    dirname(resolve("circom2/package.json")),
    join(dirname(resolve("circomlib/package.json")), "circuits"),
    join(PACKAGE_ROOT, "src/engine/circuit"),
  ],
});
const compiled = new Map<string, Promise<CompileResult>>();

/**
 * As `compileCircuit` with its default limits; only what compiled is kept beyond the test file. Everybody gets bytes of
 * their own.
 */
export async function compileOnce(
  { files, main, options }: CircuitText,
  curve: CurveName = "BN254",
): Promise<CompileResult> {
  const name = createHash("sha256")
    .update(
      JSON.stringify([main, files, ...(options === undefined ? [] : [options]), ...(curve === "BN254" ? [] : [curve])]),
    )
    .digest("hex");
  const compiling =
    compiled.get(name) ??
    KEPT.get(
      name,
      async () => await compileCircuit({ sources: files, main, curve, ...options }),
      ({ ok }) => ok,
    );
  compiled.set(name, compiling);
  return structuredClone(await compiling);
}

/** A circuit that ships with the server, as its build has compiled it. */
export async function readBuiltIn(identifier: string): Promise<PreparedCircuit> {
  const named = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") }).get(identifier);
  const prepared = await findPreparedCircuit(
    join(PACKAGE_ROOT, "dist/circuits"),
    circuitHash(named, "BN254", compilationName()),
  );
  if (prepared === undefined) throw new Error(`the build has not compiled ${identifier}`);
  return prepared;
}
