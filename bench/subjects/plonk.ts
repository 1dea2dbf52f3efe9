/**
 * PLONK against snarkjs: the key from a circuit and ready powers of tau, the proof on one thread and on two, and
 * verification, one by one and in batches.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { decodePlonkProofHex, encodePlonkProofHex, plonkProofToJson } from "../../src/engine/encoding/plonk-proof.js";
import { plonkVerifyingKeyToJson } from "../../src/engine/encoding/plonk-verifying-key.js";
import { randomNonZero, readBigIntLE, writeBigIntLE } from "../../src/engine/field/bytes.js";
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { buildPlonkKey } from "../../src/engine/kernels/plonk/build-plonk-key.js";
import type { PlonkSetupPoints } from "../../src/engine/kernels/plonk/build-plonk-key.js";
import type { ResidentPlonkKey } from "../../src/engine/kernels/plonk/plonk-key.js";
import { BLINDING_COUNT } from "../../src/engine/kernels/plonk/plonk-layout.js";
import { PlonkProver } from "../../src/engine/kernels/plonk/plonk-prover.js";
import { createTeam } from "../../src/engine/kernels/threads/thread-team.js";
import { makeDevelopmentSetup } from "../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../src/engine/plonk/plonk-gates.js";
import { domainPowerOf } from "../../src/engine/plonk/key.js";
import type { PlonkProof } from "../../src/engine/plonk/key.js";
import { verifyPlonkBatch } from "../../src/engine/plonk/verify-plonk-batch.js";
import { preparePlonkKey, verifyPlonk } from "../../src/engine/plonk/verify-plonk.js";
import type { PreparedPlonkKey } from "../../src/engine/plonk/verify-plonk.js";
import { loadReferenceKernels } from "../../src/engine/reference/reference-kernels.js";
import { benchFolder, loadCircuit } from "../circuits.js";
import type { BenchCircuit } from "../circuits.js";
import { runPeer } from "../peers/run-peer.js";
import { preparedPowersOfTau } from "../powers-of-tau.js";
import { sampleMs, summarize } from "../sample.js";
import type { BenchRow, BenchSubject, Report } from "../subject.js";

export const subject: BenchSubject = {
  name: "plonk",
  title: "PLONK: setup, prove, verify",
  run: async (report, { quick }) => {
    for (const name of quick ? ["eddsa_signature"] : ["eddsa_signature", "merkle_membership"])
      await measureCircuit(await loadCircuit(name), quick ? 3 : 7, report);
  },
};

const BATCH_PROOFS = 64;

type Row = Pick<BenchRow, "subject" | "circuit" | "unit">;

async function measureCircuit(circuit: BenchCircuit, samples: number, report: Report): Promise<void> {
  const row = { subject: "plonk", circuit: circuit.name, unit: "ms" } as const;
  const domainPower = domainPowerOf(gatesOf(circuit.r1cs).gateCount);
  const points = await makeDevelopmentSetup(await loadReferenceKernels(), domainPower);
  const key = await setup(circuit, points, { samples, row, domainPower }, report);
  const prepared = preparePlonkKey(await loadPairing("wasm"), key.verifyingKey);
  const publicSignals = Array.from({ length: key.verifyingKey.publicCount }, (_, i) =>
    readBigIntLE(circuit.witness, 32 * (i + 1)),
  );
  const proof = await prove(circuit, key, { samples, row, domainPower }, report);
  await verify(prepared, { proof, publicSignals }, { samples, row }, report);
}

interface Run {
  readonly samples: number;
  readonly row: Row;
  readonly domainPower: number;
}

/** From the constraint system to a key that proves; snarkjs writes a file that it reads again with each proof. */
async function setup(
  circuit: BenchCircuit,
  points: PlonkSetupPoints,
  { samples, row, domainPower }: Run,
  report: Report,
): Promise<ResidentPlonkKey> {
  const build = (): ResidentPlonkKey => buildPlonkKey(gatesOf(circuit.r1cs), points, { curve: BN254, workspaces: 2 });
  const ours = await sampleMs(build, { samples, warmups: 1 });
  const note = `${String(circuit.r1cs.constraintCount)} constraints, domain 2^${String(domainPower)}`;
  report({ ...row, id: "setup", peer: "proofwright", ...ours, note: `${note}, 1 thread` });
  const parameters = [circuit.r1csPath, preparedPowersOfTau(domainPower), snarkjsZkeyPath()];
  const theirs = summarize(await runPeer("plain-snarkjs", ["plonk-setup", ...parameters]));
  report({ ...row, id: "setup", peer: "snarkjs", ...theirs, note: "all cores" });
  return build();
}

async function prove(
  circuit: BenchCircuit,
  key: ResidentPlonkKey,
  { samples, row }: Run,
  report: Report,
): Promise<PlonkProof> {
  const prover = new PlonkProver(key, BN254);
  const blinding = (): bigint[] => Array.from({ length: BLINDING_COUNT }, () => randomNonZero(BN254.r));
  const helper = new Worker(new URL("../peers/plonk-helper.js", import.meta.url), { workerData: { key } });
  const heard = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      helper.once("message", resolve);
      helper.once("error", reject);
    });
  await heard();
  const times: { one: number[]; two: number[] } = { one: [], two: [] };
  let { proof } = prover.prove(circuit.witness, blinding());
  for (let i = -1; i < samples; i += 1) {
    const [team, helped] = [createTeam(), heard()];
    helper.postMessage(team);
    const startedAt = performance.now();
    proof = prover.prove(circuit.witness, blinding(), team).proof;
    const twoAt = performance.now();
    await helped;
    const resumedAt = performance.now();
    prover.prove(circuit.witness, blinding());
    if (i < 0) continue;
    times.two.push(twoAt - startedAt);
    times.one.push(performance.now() - resumedAt);
  }
  await helper.terminate();
  report({ ...row, id: "prove", peer: "proofwright", ...summarize(times.two), note: "2 threads" });
  report({ ...row, id: "prove", peer: "proofwright, 1 thread", ...summarize(times.one) });
  const witnessPath = join(benchFolder(), `plonk-${String(process.pid)}.wtns`);
  try {
    writeFileSync(witnessPath, witnessFile(circuit.witness));
    const parameters = [snarkjsZkeyPath(), witnessPath, String(Math.min(3, samples))];
    const theirs = summarize(await runPeer("plain-snarkjs", ["plonk-prove", ...parameters]));
    report({ ...row, id: "prove", peer: "snarkjs", ...theirs, note: "all cores" });
  } finally {
    rmSync(witnessPath, { force: true });
    rmSync(snarkjsZkeyPath(), { force: true });
  }
  return proof;
}

async function verify(
  prepared: PreparedPlonkKey,
  { proof, publicSignals }: { readonly proof: PlonkProof; readonly publicSignals: readonly bigint[] },
  { samples, row }: { readonly samples: number; readonly row: Row },
  report: Report,
): Promise<void> {
  const hex = encodePlonkProofHex(proof, BN254);
  const fromHex = (): PlonkProof => {
    const decoded = decodePlonkProofHex(hex, prepared.kernels);
    if (!decoded.ok) throw new Error(decoded.message);
    return decoded.value;
  };
  const one = await sampleMs(
    () => {
      if (!verifyPlonk(prepared, fromHex(), publicSignals)) throw new Error("the proof does not verify");
    },
    { samples: 10 * samples, warmups: 10 },
  );
  report({ ...row, id: "verify-from-hex", peer: "proofwright", ...one });
  const batch = await sampleMs(
    () => {
      const claims = Array.from({ length: BATCH_PROOFS }, () => ({ proof: fromHex(), publicSignals }));
      if (verifyPlonkBatch(prepared, claims).includes(false)) throw new Error("the batch does not verify");
    },
    { samples, warmups: 1 },
  );
  const perProof = { median: batch.median / BATCH_PROOFS, p95: batch.p95 / BATCH_PROOFS, samples: batch.samples };
  report({ ...row, id: "verify-batch", peer: "proofwright", ...perProof, note: `of ${String(BATCH_PROOFS)}, each` });
  const snarkjs = (await primeSnarkjs()) as unknown as {
    readonly plonk: { verify(key: unknown, signals: readonly string[], proof: unknown): Promise<boolean> };
  };
  const json = [plonkVerifyingKeyToJson(prepared.key, BN254), publicSignals.map(String)] as const;
  const kept = await sampleMs(
    async () => {
      if (!(await snarkjs.plonk.verify(...json, plonkProofToJson(proof, BN254))))
        throw new Error("snarkjs refuses the proof");
    },
    { samples: 5 * samples, warmups: 5 },
  );
  for (const id of ["verify-from-hex", "verify-batch"])
    report({ ...row, id, peer: "snarkjs (curve kept)", ...kept, note: "one by one, from JSON" });
}

function snarkjsZkeyPath(): string {
  return join(benchFolder(), `plonk-${String(process.pid)}.zkey`);
}

/** "wtns" || version 2 || sections 2 || header: field bytes, r, count || values. */
function witnessFile(witness: Uint8Array): Uint8Array {
  const u32 = (...values: readonly number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);
  const order = new Uint8Array(32);
  writeBigIntLE(BN254.r, order);
  const header = Buffer.concat([u32(32), order, u32(witness.length / 32)]);
  const sections = [u32(1, header.length, 0), header, u32(2, witness.length, 0), witness];
  return Buffer.concat([Buffer.from("wtns"), u32(2, 2), ...sections]);
}
