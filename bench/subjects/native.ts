/**
 * Groth16 proofs beside rapidsnark (C++ and assembler) with the same keys, proof by proof in turn: ours as a server makes
 * them, with the key open and tables where they pay, theirs by its program, whose start and look at the key's file are in
 * its time; the smallest circuit shows how little that is. Both take the cores that the process may use: `taskset -c 1`
 * before the command leaves one to each.
 */
import { rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { randomNonZero } from "../../src/engine/field/bytes.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { proofFromJson, proofToJson } from "../../src/engine/encoding/groth16-proof.js";
import { publicSignalsOf } from "../../src/engine/groth16/prove.js";
import { readProvingKey, verifyingKeyOf, type Groth16ProvingKey } from "../../src/engine/groth16/proving-key.js";
import { prepareWith, verifyGroth16 } from "../../src/engine/groth16/verify.js";
import { hasTables, writeKeyTables } from "../../src/engine/kernels/groth16/key-tables.js";
import { ResidentProver } from "../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../../src/engine/kernels/groth16/resident-proving.js";
import { whileChecked } from "../../src/engine/kernels/wide/wide-form.js";
import { benchFolder, keepFile, loadCircuit, wtnsFile } from "../circuits.js";
import { chooseForm, lanesNote } from "../kernel-form.js";
import { loadKey } from "../keys.js";
import { findRapidsnark, proveNatively } from "../peers/rapidsnark.js";
import { summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

const CIRCUITS = {
  quick: ["cubic", "merkle_membership"],
  full: ["cubic", "eddsa_signature", "merkle_membership", "sha256_preimage", "sha256_1536"],
} as const;
const SAMPLES = { quick: 7, full: 15 } as const;
const WARMUPS = 4;
/** The server's default. */
const TABLE_BYTES_MAX = 64 * 2 ** 20;

export const subject: BenchSubject = {
  name: "native",
  title: "Groth16 beside rapidsnark, one thread of ours",
  run: async (report, { quick }) => {
    const program = findRapidsnark();
    if (program === undefined) {
      process.stderr.write("native: no rapidsnark in RAPIDSNARK or PATH; nothing is measured\n");
      return;
    }
    await chooseForm();
    const samples = quick ? SAMPLES.quick : SAMPLES.full;
    for (const name of quick ? CIRCUITS.quick : CIRCUITS.full) await race({ program, name, samples }, report);
  },
};

interface Race {
  /** rapidsnark's. */
  readonly program: string;
  /** Of the circuit. */
  readonly name: string;
  readonly samples: number;
}

async function race({ program, name, samples }: Race, report: Report): Promise<void> {
  const circuit = await loadCircuit(name);
  const { zkey, path } = await loadKey(circuit);
  const key = readProvingKey(zkey);
  const resident = makeKeyResident(key, { workspaces: 1, tableBytesMax: TABLE_BYTES_MAX });
  writeKeyTables(resident);
  const prover = new ResidentProver(resident);
  const witness = join(benchFolder(), `native-${String(process.pid)}.wtns`);
  keepFile(witness, wtnsFile(circuit.witness));
  const isValid = await checkOf(key, circuit.witness);
  const ways = {
    ours: timesOf(() => {
      const blinding = { r: randomNonZero(BN254.r), s: randomNonZero(BN254.r) };
      return whileChecked(() => proveResident(prover, circuit.witness, blinding));
    }),
    theirs: { ms: [] as number[], run: async () => await proveNatively(program, { key: path, witness }) },
    witness: timesOf(circuit.makeWitness),
    plainWitness: timesOf(circuit.makePlainWitness),
  };
  try {
    for (let i = -WARMUPS; i < samples; i += 1) {
      const made = [ways.ours.run(), await ways.theirs.run(), ways.witness.run(), ways.plainWitness.run()] as const;
      if (!isValid(proofToJson(made[0].value, BN254)) || !isValid(made[1].proof))
        throw new Error(`${name}: a proof does not verify`);
      if (i >= 0) Object.values(ways).forEach(({ ms }, index) => ms.push(made[index]?.ms ?? Number.NaN));
    }
  } finally {
    rmSync(witness, { force: true });
  }
  const cores = `on ${String(availableParallelism())} of the cores`;
  const lanes = `${await lanesNote()}${hasTables(resident) ? ", with tables" : ""}`;
  const row = { subject: "native", id: "prove", circuit: name, unit: "ms" } as const;
  report({ ...row, peer: "proofwright", ...summarize(ways.ours.ms), note: lanes });
  report({ ...row, peer: "rapidsnark", ...summarize(ways.theirs.ms), note: cores });
  const request = { ...row, id: "witness_and_proof" };
  report({ ...request, peer: "proofwright", ...summarize(sumsOf(ways.witness.ms, ways.ours.ms)) });
  const sums = summarize(sumsOf(ways.plainWitness.ms, ways.theirs.ms));
  report({ ...request, peer: "rapidsnark", ...sums, note: "circom's WebAssembly makes the witness" });
}

/** Returns whether a proof, as snarkjs' JSON, verifies. */
async function checkOf(key: Groth16ProvingKey, witness: Uint8Array): Promise<(proof: unknown) => boolean> {
  const pairing = await loadPairing("wasm");
  const prepared = prepareWith(pairing, verifyingKeyOf(key));
  const signals = publicSignalsOf(key, witness);
  return (proof) => {
    const decoded = proofFromJson(proof, pairing);
    return decoded.ok && verifyGroth16(prepared, decoded.value, signals);
  };
}

function timesOf<T>(run: () => T): {
  readonly ms: number[];
  readonly run: () => { readonly ms: number; readonly value: T };
} {
  return {
    ms: [],
    run: () => {
      const startedAt = performance.now();
      const value = run();
      return { ms: performance.now() - startedAt, value };
    },
  };
}

function sumsOf(some: readonly number[], others: readonly number[]): number[] {
  return some.map((ms, index) => ms + (others[index] ?? 0));
}
