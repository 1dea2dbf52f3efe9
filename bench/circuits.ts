/**
 * The built-in circuits and those of the bench, compiled once and kept under the system's temporary folder by what they
 * were compiled from.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_COMPILE_LIMITS, compileCircuit } from "../src/engine/circuit/compile-circuit.js";
import type { CompileLimits } from "../src/engine/circuit/compile-circuit.js";
import { checkInputs } from "../src/engine/circuit/inputs.js";
import { readCircuitInterface } from "../src/engine/circuit/interface.js";
import { readR1cs } from "../src/engine/circuit/r1cs.js";
import type { R1cs } from "../src/engine/circuit/r1cs.js";
import { WitnessPrograms } from "../src/engine/circuit/routines/witness-programs.js";
import { computeWitness } from "../src/engine/circuit/witness.js";
import { BN254 } from "../src/engine/curves/bn254.js";
import type { CurveParameters } from "../src/engine/curves/curve-parameters.js";
import { writeBigIntLE } from "../src/engine/field/bytes.js";
import { PACKAGE_ROOT } from "../src/platform/files/package-root.js";
import { BuiltInCircuits, type CircuitSource } from "../src/prover/provisioning/sources.js";

export interface BenchCircuit {
  readonly name: string;
  readonly r1csBytes: Uint8Array;
  /** The same bytes as a file, for peers that want a path. */
  readonly r1csPath: string;
  readonly witnessProgramPath: string;
  readonly r1cs: R1cs;
  /** Satisfying inputs by name, as parsed JSON. */
  readonly inputs: unknown;
  /** The satisfying inputs' witness, 32 bytes little-endian per wire. */
  readonly witness: Uint8Array;
  /** Computes the witness anew, on the routines that a server takes. */
  readonly makeWitness: () => Uint8Array;
  /** The same by the program as circom made it. */
  readonly makePlainWitness: () => Uint8Array;
}

/** Folder that bench runs share. */
export function benchFolder(): string {
  const folder = join(tmpdir(), "proofwright-bench");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

interface BenchSource {
  readonly source: CircuitSource;
  readonly inputs: unknown;
  readonly optimization: 1 | 2;
}

/**
 * Circuits that only the bench has, larger than the built-in ones. `sha256_1536` is what published figures are about:
 * 126,594 constraints at level 1; `sha256_3600` fills a domain of 2^18.
 */
const BENCH_CIRCUITS: Readonly<Record<string, () => BenchSource>> = {
  sha256_1536: () => sha256OfBits(1536),
  sha256_3600: () => sha256OfBits(3600),
  merkle_20: () => merkleOfDepth(20),
};

/** Above the server's own limits: 254,000 constraints take half a minute and a gigabyte. */
const BENCH_LIMITS: CompileLimits = {
  ...DEFAULT_COMPILE_LIMITS,
  compilerPagesMax: 49_152,
  outputBytesMax: 2 ** 30,
  constraintsMax: 2 ** 18,
};

/** Loads a circuit of circuits/ or of the bench for a curve, BN254 by default; the first time it is compiled, which takes up to half a minute. */
export async function loadCircuit(name: string, curve: CurveParameters = BN254): Promise<BenchCircuit> {
  const { source, inputs: given, optimization } = BENCH_CIRCUITS[name]?.() ?? builtIn(name);
  const compilerVersion =
    (JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as { dependencies: Record<string, string> })
      .dependencies.circom2 ?? "";
  const key = createHash("sha256")
    .update(JSON.stringify([source, compilerVersion, optimization, ...(curve === BN254 ? [] : [curve.name])]))
    .digest("hex")
    .slice(0, 24);
  const path = (extension: string): string => join(benchFolder(), `${name}-${key}.${extension}`);
  if (!["r1cs", "wasm", "sym"].every((extension) => existsSync(path(extension)))) {
    const compiled = await compileCircuit(
      { sources: source.files, main: source.main, curve: curve.name, optimization },
      BENCH_LIMITS,
    );
    if (!compiled.ok) throw new Error(`${name}: ${compiled.diagnostics[0]?.message ?? "did not compile"}`);
    for (const extension of ["r1cs", "wasm", "sym"] as const) keepFile(path(extension), compiled[extension]);
  }
  const r1csBytes = new Uint8Array(readFileSync(path("r1cs")));
  const r1cs = readR1cs(r1csBytes);
  const circuit = readCircuitInterface(r1cs, new Uint8Array(readFileSync(path("sym"))));
  const inputs = checkInputs(circuit, given);
  if (!inputs.ok) throw new Error(`${name}: ${inputs.details[0]?.message ?? "bad inputs"}`);
  const plain = readFileSync(path("wasm"));
  const [makeWitness, makePlainWitness] = await Promise.all(
    [true, false].map(async (isFaster) => {
      const sha256 = createHash("sha256").update(plain).digest("hex");
      const bytes = new SharedArrayBuffer(plain.length);
      new Uint8Array(bytes).set(plain);
      const programs = new WitnessPrograms({ max: 1 });
      const program = isFaster
        ? (await programs.open({ sha256, bytes })).module
        : await programs.openPlain({ sha256, bytes });
      return (): Uint8Array => {
        const computed = computeWitness(program, circuit, inputs.values);
        if (!computed.ok) throw new Error(`${name}: the satisfying inputs do not satisfy the circuit`);
        return computed.witness;
      };
    }) as [Promise<() => Uint8Array>, Promise<() => Uint8Array>],
  );
  return {
    name,
    r1csBytes,
    r1csPath: path("r1cs"),
    witnessProgramPath: path("wasm"),
    r1cs,
    inputs: given,
    witness: makeWitness(),
    makeWitness,
    makePlainWitness,
  };
}

function builtIn(name: string): BenchSource {
  const { source, satisfyingInputs } = new BuiltInCircuits({ folder: join(PACKAGE_ROOT, "circuits") }).get(name);
  return { source, inputs: satisfyingInputs, optimization: 2 };
}

/**
 * A leaf of a Poseidon tree of this depth, whose root is an output: inputs satisfy it over every field, unlike those of
 * `merkle_membership`.
 */
function merkleOfDepth(depth: number): BenchSource {
  const text = `pragma circom 2.1.0;
include "circomlib/circuits/poseidon.circom";
template Member(depth) {
    signal input leaf;
    signal input siblings[depth];
    signal input isRight[depth];
    signal output root;
    signal nodes[depth + 1];
    signal moved[depth];
    nodes[0] <== leaf;
    for (var i = 0; i < depth; i++) {
        isRight[i] * (isRight[i] - 1) === 0;
        moved[i] <== isRight[i] * (siblings[i] - nodes[i]);
        nodes[i + 1] <== Poseidon(2)([nodes[i] + moved[i], siblings[i] - moved[i]]);
    }
    root <== nodes[depth];
}
component main = Member(${String(depth)});
`;
  return {
    source: { files: { "main.circom": text }, main: "main.circom" },
    inputs: {
      leaf: "7",
      siblings: Array.from({ length: depth }, (_, i) => String(1000 + i)),
      isRight: Array.from({ length: depth }, (_, i) => String(i & 1)),
    },
    optimization: 2,
  };
}

/** Knowledge of `bits` bits whose SHA-256 is the output, as two numbers of 128 bits. */
function sha256OfBits(bits: number): BenchSource {
  const text = `pragma circom 2.1.0;
include "circomlib/circuits/sha256/sha256.circom";
template Preimage(bits) {
    signal input in[bits];
    signal output hash[2];
    component sha = Sha256(bits);
    for (var i = 0; i < bits; i++) {
        in[i] * (in[i] - 1) === 0;
        sha.in[i] <== in[i];
    }
    for (var half = 0; half < 2; half++) {
        var number = 0;
        for (var j = 0; j < 128; j++) { number = 2 * number + sha.out[128 * half + j]; }
        hash[half] <== number;
    }
}
component main = Preimage(${String(bits)});
`;
  return {
    source: { files: { "main.circom": text }, main: "main.circom" },
    inputs: { in: Array.from({ length: bits }, (_, i) => String((i * i + (i >> 3)) & 1)) },
    optimization: 1,
  };
}

/** snarkjs' `.wtns` file around a witness. */
export function wtnsFile(witness: Uint8Array, { r }: CurveParameters = BN254): Uint8Array {
  const file = new Uint8Array(76 + witness.length);
  const view = new DataView(file.buffer);
  file.set(Buffer.from("wtns"));
  view.setUint32(4, 2, true);
  view.setUint32(8, 2, true);
  view.setUint32(12, 1, true);
  view.setBigUint64(16, 40n, true);
  view.setUint32(24, 32, true);
  writeBigIntLE(r, file, 28);
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
