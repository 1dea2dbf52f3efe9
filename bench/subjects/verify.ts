/** Groth16 verification on one thread: ours with a prepared key, snarkjs as it comes, and snarkjs with its curve kept. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../src/engine/curve/curve-parameters.js";
import { loadKernels } from "../../src/engine/curve/wasm-kernels.js";
import { decodeProofHex, encodeProofHex, proofToJson } from "../../src/engine/encoding/groth16-proof.js";
import { verifyingKeyToJson } from "../../src/engine/encoding/groth16-verifying-key.js";
import { proveGroth16, publicSignalsOf } from "../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../src/engine/groth16/setup.js";
import { prepareVerifyingKey, verifyGroth16 } from "../../src/engine/groth16/verify.js";
import { benchFolder, loadCircuit } from "../circuits.js";
import { runPeer } from "../peers/run-peer.js";
import { sampleMs, summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

export const subject: BenchSubject = {
  name: "verify",
  title: "Groth16 verify, one thread",
  run: async (report, { quick }) => {
    for (const name of quick ? ["cubic"] : ["cubic", "merkle_membership", "eddsa_signature"]) await verifyCircuit(name, quick ? 30 : 100, report);
  },
};

async function verifyCircuit(name: string, samples: number, report: Report): Promise<void> {
  const circuit = await loadCircuit(name);
  const setup = await setupGroth16(circuit.r1cs);
  const key = readProvingKey(setup.zkey);
  const prepared = await prepareVerifyingKey(setup.verifyingKey);
  const proof = await proveGroth16(key, circuit.witness);
  const publicSignals = publicSignalsOf(key, circuit.witness);
  const hex = encodeProofHex(proof, BN254);
  const row = { subject: "verify", circuit: name, unit: "ms" } as const;
  const options = { samples, warmups: 20 };
  const verify = (): void => { if (!verifyGroth16(prepared, proof, publicSignals)) throw new Error("the proof does not verify"); };
  const note = `${String(publicSignals.length)} public`;
  report({ ...row, id: "verify", peer: "proofwright", ...await sampleMs(verify, options), note: `${note}, subgroup checked` });
  const fromHex = (): void => {
    const decoded = decodeProofHex(hex, prepared.kernels);
    if (!decoded.ok || !verifyGroth16(prepared, decoded.value, publicSignals)) throw new Error("the proof does not verify");
  };
  report({ ...row, id: "verify-from-hex", peer: "proofwright", ...await sampleMs(fromHex, options), note });

  const json = { verifyingKey: verifyingKeyToJson(setup.verifyingKey, await loadKernels()), proof: proofToJson(proof, BN254), publicSignals: publicSignals.map(String) };
  const path = join(benchFolder(), `verify-${String(process.pid)}.json`);
  writeFileSync(path, JSON.stringify(json));
  report({ ...row, id: "verify", peer: "snarkjs", ...summarize(await runPeer("plain-snarkjs", ["verify", path, String(samples)])), note: "as it comes, no subgroup check" });
  const snarkjs = await primeSnarkjs();
  const kept = await sampleMs(async () => { await snarkjs.groth16.verify(json.verifyingKey, json.publicSignals, json.proof); }, options);
  report({ ...row, id: "verify", peer: "snarkjs (curve kept)", ...kept, note: "no subgroup check" });
}
