/**
 * Groth16 verification on one thread: ours with a prepared key, one proof and batches, snarkjs as it comes, and snarkjs
 * with its curve kept.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { loadReferenceKernels } from "../../src/engine/reference/reference-kernels.js";
import { decodeProofs, encodeProofHex, proofToJson } from "../../src/engine/encoding/groth16-proof.js";
import { verifyingKeyToJson } from "../../src/engine/encoding/groth16-verifying-key.js";
import type { Groth16Proof } from "../../src/engine/groth16/proof.js";
import { proveGroth16, publicSignalsOf } from "../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../src/engine/groth16/setup.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../src/engine/groth16/verify.js";
import type { PreparedVerifyingKey } from "../../src/engine/groth16/verify.js";
import { verifyGroth16Batch } from "../../src/engine/groth16/verify-batch.js";
import { benchFolder, loadCircuit } from "../circuits.js";
import { runPeer } from "../peers/run-peer.js";
import { sampleMs, summarize } from "../sample.js";
import type { BenchRow, BenchSubject, Report } from "../subject.js";

export const subject: BenchSubject = {
  name: "verify",
  title: "Groth16 verify, one thread",
  run: async (report, { quick }) => {
    for (const name of quick ? ["cubic"] : ["cubic", "merkle_membership", "eddsa_signature"])
      await verifyCircuit(name, quick ? 30 : 100, report);
  },
};

const BATCH_PROOFS = 64;
const BAD_INDEX = 37;

/** The same proof many times, decoded as a server decodes what a request has. */
function decodedAfresh(hex: string, count: number, { kernels }: PreparedVerifyingKey): Groth16Proof[] {
  return decodeProofs(
    Array.from({ length: count }, () => hex),
    kernels,
  ).map((decoded) => {
    if (!decoded.ok) throw new Error(decoded.message);
    return decoded.value;
  });
}

async function verifyCircuit(name: string, samples: number, report: Report): Promise<void> {
  const circuit = await loadCircuit(name);
  const setup = await setupGroth16(circuit.r1cs);
  const key = readProvingKey(setup.zkey);
  const prepared = prepareWith(await loadPairing("wasm"), setup.verifyingKey);
  const proof = await proveGroth16(key, circuit.witness);
  const publicSignals = publicSignalsOf(key, circuit.witness);
  const hex = encodeProofHex(proof, BN254);
  const row = { subject: "verify", circuit: name, unit: "ms" } as const;
  const options = { samples, warmups: 20 };
  // A copy of B each time: what is known of a point's lines is then computed anew.
  const verify = (): void => {
    if (!verifyGroth16(prepared, { ...proof, b: { ...proof.b } }, publicSignals))
      throw new Error("the proof does not verify");
  };
  const note = `${String(publicSignals.length)} public`;
  report({
    ...row,
    id: "verify",
    peer: "proofwright",
    ...(await sampleMs(verify, options)),
    note: `${note}, subgroup checked`,
  });
  const fromHex = (): void => {
    const [decoded] = decodedAfresh(hex, 1, prepared);
    if (decoded === undefined || !verifyGroth16(prepared, decoded, publicSignals))
      throw new Error("the proof does not verify");
  };
  report({ ...row, id: "verify-from-hex", peer: "proofwright", ...(await sampleMs(fromHex, options)), note });

  await verifyBatches(prepared, { hex, publicSignals }, { samples: Math.ceil(samples / 10), row, note }, report);
  const reference = prepareWith(await loadPairing("reference"), setup.verifyingKey);
  const onReference = await sampleMs(() => {
    if (!verifyGroth16(reference, proof, publicSignals)) throw new Error("the proof does not verify");
  }, options);
  report({
    ...row,
    id: "verify",
    peer: "proofwright (reference backend)",
    ...onReference,
    note: `${note}, subgroup checked`,
  });

  const json = {
    verifyingKey: verifyingKeyToJson(setup.verifyingKey, await loadReferenceKernels()),
    proof: proofToJson(proof, BN254),
    publicSignals: publicSignals.map(String),
  };
  const path = join(benchFolder(), `verify-${String(process.pid)}.json`);
  writeFileSync(path, JSON.stringify(json));
  report({
    ...row,
    id: "verify",
    peer: "snarkjs",
    ...summarize(await runPeer("plain-snarkjs", ["verify", path, String(samples)])),
    note: "as it comes, no subgroup check",
  });
  const snarkjs = await primeSnarkjs();
  const kept = await sampleMs(async () => {
    await snarkjs.groth16.verify(json.verifyingKey, json.publicSignals, json.proof);
  }, options);
  report({ ...row, id: "verify", peer: "snarkjs (curve kept)", ...kept, note: "no subgroup check" });
  // It has no batches: its figure for one proof is the peer of ours for one of a batch.
  const oneByOne = { peer: "snarkjs (curve kept)", ...kept, note: "one by one, from JSON, no subgroup check" };
  report({ ...row, id: "verify-from-hex", ...oneByOne });
  report({ ...row, id: "verify-batch-64", ...oneByOne });
  if (publicSignals.length > 0) report({ ...row, id: "verify-batch-64-one-wrong", ...oneByOne });
}

interface BatchOptions {
  readonly samples: number;
  readonly row: Pick<BenchRow, "subject" | "circuit" | "unit">;
  readonly note: string;
}

/**
 * Times are those of one proof of a batch. Decoded again each time, as a server does: the lines of a point are then
 * computed anew.
 */
async function verifyBatches(
  prepared: PreparedVerifyingKey,
  proven: { readonly hex: string; readonly publicSignals: readonly bigint[] },
  { samples, row, note }: BatchOptions,
  report: Report,
): Promise<void> {
  const run = (isBad: (index: number) => boolean): void => {
    const statements = decodedAfresh(proven.hex, BATCH_PROOFS, prepared).map((proof, i) => ({
      proof,
      publicSignals: isBad(i) ? proven.publicSignals.map((signal) => signal + 1n) : proven.publicSignals,
    }));
    if (verifyGroth16Batch(prepared, statements).some((isValid, i) => isValid === isBad(i)))
      throw new Error("the batch was judged wrongly");
  };
  const perProof = async (isBad: (index: number) => boolean): Promise<Pick<BenchRow, "median" | "p95" | "samples">> => {
    const {
      median,
      p95,
      samples: count,
    } = await sampleMs(
      () => {
        run(isBad);
      },
      { samples, warmups: 3 },
    );
    return { median: median / BATCH_PROOFS, p95: p95 / BATCH_PROOFS, samples: count };
  };
  report({
    ...row,
    id: "verify-batch-64",
    peer: "proofwright",
    ...(await perProof(() => false)),
    note: `${note}; one of a batch, from hex`,
  });
  if (proven.publicSignals.length > 0)
    report({
      ...row,
      id: "verify-batch-64-one-wrong",
      peer: "proofwright",
      ...(await perProof((i) => i === BAD_INDEX)),
      note: `${note}; one of a batch in which one is wrong and named`,
    });
}
