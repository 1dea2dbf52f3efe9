/** The built-in circuits, compiled once and kept under the system's temporary folder by what they were compiled from. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileCircuit } from "../src/engine/circuit/compile.js";
import { checkInputs } from "../src/engine/circuit/inputs.js";
import { readCircuitInterface } from "../src/engine/circuit/interface.js";
import { readR1cs } from "../src/engine/circuit/r1cs.js";
import type { R1cs } from "../src/engine/circuit/r1cs.js";
import { computeWitness } from "../src/engine/circuit/witness.js";
import { BN254 } from "../src/engine/curve/curve-parameters.js";
import { writeBigIntLE } from "../src/engine/field/bytes.js";
import { PACKAGE_ROOT } from "../src/platform/package-root.js";

export interface BenchCircuit {
  readonly name: string;
  readonly r1csBytes: Uint8Array;
  /** The same bytes as a file, for peers that want a path. */
  readonly r1csPath: string;
  readonly r1cs: R1cs;
  /** The satisfying inputs' witness, 32 bytes little-endian per wire. */
  readonly witness: Uint8Array;
}

/** Folder that bench runs share. */
export function benchFolder(): string {
  const folder = join(tmpdir(), "proofwright-bench");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Loads a circuit of circuits/; the first time it is compiled, which takes up to ten seconds. */
export async function loadCircuit(name: string): Promise<BenchCircuit> {
  const folder = join(PACKAGE_ROOT, "circuits", name);
  const main = `${name}.circom`;
  const source = readFileSync(join(folder, main), "utf8");
  const compilerVersion = (JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as { dependencies: Record<string, string> }).dependencies.circom2 ?? "";
  const key = createHash("sha256").update(JSON.stringify([source, compilerVersion])).digest("hex").slice(0, 24);
  const path = (extension: string): string => join(benchFolder(), `${name}-${key}.${extension}`);
  if (!["r1cs", "wasm", "sym"].every((extension) => existsSync(path(extension)))) {
    const compiled = await compileCircuit({ sources: { [main]: source }, main, curve: "BN254" });
    if (!compiled.ok) throw new Error(`${name}: ${compiled.diagnostics[0]?.message ?? "did not compile"}`);
    for (const extension of ["r1cs", "wasm", "sym"] as const) keepFile(path(extension), compiled[extension]);
  }
  const r1csBytes = new Uint8Array(readFileSync(path("r1cs")));
  const r1cs = readR1cs(r1csBytes);
  const circuit = readCircuitInterface(r1cs, new Uint8Array(readFileSync(path("sym"))));
  const { satisfying } = JSON.parse(readFileSync(join(folder, "inputs.json"), "utf8")) as { readonly satisfying: unknown };
  const inputs = checkInputs(circuit, satisfying);
  if (!inputs.ok) throw new Error(`${name}: ${inputs.details[0]?.message ?? "bad inputs"}`);
  const computed = computeWitness(await WebAssembly.compile(readFileSync(path("wasm"))), circuit, inputs.values);
  if (!computed.ok) throw new Error(`${name}: the satisfying inputs do not satisfy the circuit`);
  return { name, r1csBytes, r1csPath: path("r1cs"), r1cs, witness: computed.witness };
}

/** snarkjs' `.wtns` file around a witness. */
export function wtnsFile(witness: Uint8Array): Uint8Array {
  const file = new Uint8Array(76 + witness.length);
  const view = new DataView(file.buffer);
  file.set(Buffer.from("wtns"));
  view.setUint32(4, 2, true);
  view.setUint32(8, 2, true);
  view.setUint32(12, 1, true);
  view.setBigUint64(16, 40n, true);
  view.setUint32(24, 32, true);
  writeBigIntLE(BN254.r, file, 28);
  view.setUint32(60, witness.length / 32, true);
  view.setUint32(64, 2, true);
  view.setBigUint64(68, BigInt(witness.length), true);
  file.set(witness, 76);
  return file;
}

/** Written aside and renamed, so that an interrupted run leaves no half file behind. */
export function keepFile(path: string, bytes: Uint8Array): void {
  const part = `${path}.${String(process.pid)}.part`;
  writeFileSync(part, bytes);
  renameSync(part, path);
}
