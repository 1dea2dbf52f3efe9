/**
 * Groth16 on BLS12-381 on one thread, beside snarkjs with its single-threaded curve kept, in the same process: proving
 * with an open key from a ready witness, and verifying with a prepared key. The key is ours and both use it.
 */
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BLS12_381 } from "../../src/engine/curves/bls12-381.js";
import { proofToJson } from "../../src/engine/encoding/groth16-proof.js";
import { randomNonZero } from "../../src/engine/field/bytes.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import type { Groth16Proof } from "../../src/engine/groth16/proof.js";
import { publicSignalsOf } from "../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../src/engine/groth16/setup.js";
import { prepareWith, verifyGroth16 } from "../../src/engine/groth16/verify.js";
import { ResidentProver } from "../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../../src/engine/kernels/groth16/resident-proving.js";
import { loadCircuit, wtnsFile } from "../circuits.js";
import { chooseForm, lanesNote } from "../kernel-form.js";
import { sampleMs } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

/** Circuit and samples; 59,793 constraints are the SHA-256 of 512 bits. */
const CIRCUITS: readonly (readonly [name: string, samples: number])[] = [
  ["merkle_20", 10],
  ["sha256_preimage", 3],
];

export const subject: BenchSubject = {
  name: "bls",
  title: "Groth16 on BLS12-381, one thread, witness given",
  run: async (report, { quick }) => {
    await chooseForm();
    for (const [name, samples] of quick ? CIRCUITS.slice(0, 1) : CIRCUITS)
      await measure(name, quick ? 3 : samples, report);
  },
};

async function measure(name: string, samples: number, report: Report): Promise<void> {
  const circuit = await loadCircuit(name, BLS12_381);
  const { zkey, verifyingKey } = await setupGroth16(circuit.r1cs);
  const key = readProvingKey(zkey);
  const prover = new ResidentProver(makeKeyResident(key, { workspaces: 1 }));
  const prove = (): Groth16Proof =>
    proveResident(prover, circuit.witness, { r: randomNonZero(BLS12_381.r), s: randomNonZero(BLS12_381.r) });
  const prepared = prepareWith(await loadPairing("wasm", BLS12_381), verifyingKey);
  const signals = publicSignalsOf(key, circuit.witness);
  const proof = prove();
  if (!verifyGroth16(prepared, proof, signals)) throw new Error(`${name}: the proof does not verify`);
  const options = { samples, warmups: Math.min(2, samples) };
  const row = { subject: "bls", circuit: name, unit: "ms" } as const;
  const proved = await sampleMs(() => Promise.resolve(prove()), options);
  const note = `${String(circuit.r1cs.constraintCount)} constraints, ${await lanesNote()}`;
  report({ ...row, id: "prove", peer: "proofwright", ...proved, note });
  const verify = (): Promise<boolean> => Promise.resolve(verifyGroth16(prepared, proof, signals));
  const many = { samples: 10 * samples, warmups: 10 };
  report({ ...row, id: "verify", peer: "proofwright", ...(await sampleMs(verify, many)) });

  const snarkjs = await primeSnarkjs("BLS12_381");
  const plainKey = Uint8Array.from(zkey);
  const witnessFile = wtnsFile(circuit.witness, BLS12_381);
  const kept = "curve kept, one thread";
  const theirs = await sampleMs(() => snarkjs.groth16.prove(plainKey, witnessFile), options);
  report({ ...row, id: "prove", peer: "snarkjs", ...theirs, note: kept });
  const exported = await snarkjs.zKey.exportVerificationKey(plainKey);
  const json = proofToJson(proof, BLS12_381);
  const theirVerify = (): Promise<boolean> => snarkjs.groth16.verify(exported, signals.map(String), json);
  if (!(await theirVerify())) throw new Error(`${name}: snarkjs refuses the proof`);
  report({ ...row, id: "verify", peer: "snarkjs", ...(await sampleMs(theirVerify, many)), note: kept });
}
