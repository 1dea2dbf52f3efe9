/**
 * Groth16 proofs on one thread with and without tables of multiples of the key's points, proof by proof in turn, and
 * what the tables cost (PROOFWRIGHT_KEY_TABLES_MB).
 */
import { readProvingKey, verifyingKeyOf } from "../../src/engine/groth16/proving-key.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { publicSignalsOf } from "../../src/engine/groth16/prove.js";
import { prepareWith, verifyGroth16 } from "../../src/engine/groth16/verify.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { randomNonZero } from "../../src/engine/field/bytes.js";
import { hasTables, writeKeyTables } from "../../src/engine/kernels/groth16/key-tables.js";
import { ResidentProver } from "../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../../src/engine/kernels/groth16/resident-proving.js";
import { whileChecked } from "../../src/engine/kernels/wide/wide-form.js";
import { loadCircuit } from "../circuits.js";
import { chooseForm } from "../kernel-form.js";
import { loadKey } from "../keys.js";
import { summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

const CIRCUITS = {
  quick: ["cubic", "merkle_membership"],
  full: ["cubic", "eddsa_signature", "merkle_membership", "sha256_preimage"],
} as const;
const MIB = 2 ** 20;
/** The server's default. */
const TABLE_BYTES_MAX = 64 * MIB;

export const subject: BenchSubject = {
  name: "tables",
  title: "Proofs with tables of multiples of the key's points, one thread",
  run: async (report, { quick }) => {
    await chooseForm();
    for (const name of quick ? CIRCUITS.quick : CIRCUITS.full) await compare(name, quick ? 15 : 40, report);
  },
};

async function compare(name: string, samples: number, report: Report): Promise<void> {
  const circuit = await loadCircuit(name);
  const { zkey } = await loadKey(circuit);
  const key = readProvingKey(zkey);
  const prepared = prepareWith(await loadPairing("wasm"), verifyingKeyOf(key));
  const signals = publicSignalsOf(key, circuit.witness);
  const keys = [0, TABLE_BYTES_MAX].map((tableBytesMax) => makeKeyResident(key, { workspaces: 1, tableBytesMax }));
  // Where no table pays the two keys are one.
  const contenders = keys.slice(0, keys[1]?.tables === undefined ? 1 : 2).map((resident) => {
    const started = performance.now();
    writeKeyTables(resident);
    const madeMs = performance.now() - started;
    return { resident, madeMs, prover: new ResidentProver(resident), ms: [] as number[] };
  });
  const [plain] = contenders;
  for (let i = -4; i < samples; i += 1)
    for (const { prover, ms } of contenders) {
      const blinding = { r: randomNonZero(BN254.r), s: randomNonZero(BN254.r) };
      const started = performance.now();
      const proof = whileChecked(() => proveResident(prover, circuit.witness, blinding));
      if (i >= 0) ms.push(performance.now() - started);
      if (!verifyGroth16(prepared, proof, signals)) throw new Error(`${name}: the proof does not verify`);
    }
  for (const { resident, madeMs, ms } of contenders) {
    const moreBytes = resident.keyBytes - (plain?.resident.keyBytes ?? 0);
    const made = `${(moreBytes / MIB).toFixed(1)} MB more, made in ${madeMs.toFixed(0)} ms`;
    report({
      ...{ subject: "tables", id: "prove", circuit: name, unit: "ms" },
      peer: hasTables(resident) ? "proofwright, with tables" : "without tables",
      ...summarize(ms),
      note: hasTables(resident) ? made : `key of ${(resident.keyBytes / MIB).toFixed(1)} MB`,
    });
  }
}
