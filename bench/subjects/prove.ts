/**
 * Groth16 proving on one thread from a ready witness, beside snarkjs with its single-threaded curve kept, in the same
 * process.
 */
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { proveGroth16, publicSignalsOf } from "../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../src/engine/groth16/setup.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../src/engine/groth16/verify.js";
import { loadCircuit, wtnsFile } from "../circuits.js";
import { sampleMs } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

/** Circuit and samples. */
const CIRCUITS: readonly (readonly [name: string, samples: number])[] = [
  ["cubic", 50],
  ["merkle_membership", 10],
  ["eddsa_signature", 10],
  ["sha256_preimage", 5],
];

export const subject: BenchSubject = {
  name: "prove",
  title: "Groth16 prove, one thread, witness given",
  run: async (report, { quick }) => {
    for (const [name, samples] of quick ? CIRCUITS.slice(0, 2) : CIRCUITS)
      await proveCircuit(name, quick ? Math.ceil(samples / 3) : samples, report);
  },
};

async function proveCircuit(name: string, samples: number, report: Report): Promise<void> {
  const circuit = await loadCircuit(name);
  const { zkey, verifyingKey } = await setupGroth16(circuit.r1cs);
  const key = readProvingKey(zkey);
  const prepared = prepareWith(await loadPairing("wasm"), verifyingKey);
  if (!verifyGroth16(prepared, await proveGroth16(key, circuit.witness), publicSignalsOf(key, circuit.witness)))
    throw new Error(`${name}: the proof does not verify`);
  const options = { samples, warmups: Math.min(5, samples) };
  const row = { subject: "prove", id: "prove", circuit: name, unit: "ms" } as const;
  report({
    ...row,
    peer: "proofwright",
    ...(await sampleMs(() => proveGroth16(key, circuit.witness), options)),
    note: `${String(circuit.r1cs.constraintCount)} constraints`,
  });
  const snarkjs = await primeSnarkjs();
  const plainKey = Uint8Array.from(zkey),
    witnessFile = wtnsFile(circuit.witness);
  report({
    ...row,
    peer: "snarkjs",
    ...(await sampleMs(() => snarkjs.groth16.prove(plainKey, witnessFile), options)),
    note: "curve kept, one thread",
  });
}
