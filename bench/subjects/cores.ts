/**
 * What two cores are worth: one proof alone spread over both, proofs per second with both busy, and the memory that two
 * threads need.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { randomNonZero } from "../../src/engine/field/bytes.js";
import { readProvingKey } from "../../src/engine/groth16/proving-key.js";
import { ResidentProver } from "../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident } from "../../src/engine/kernels/groth16/resident-proving.js";
import { createTeam } from "../../src/engine/kernels/threads/thread-team.js";
import { benchFolder, keepFile, loadCircuit } from "../circuits.js";
import type { BenchCircuit } from "../circuits.js";
import { lanesNote } from "../kernel-form.js";
import { loadKey } from "../keys.js";
import type { BenchKey } from "../keys.js";
import type { TwoWorkersResult } from "../peers/two-workers.js";
import { summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

const CIRCUITS = { quick: ["merkle_membership"], full: ["merkle_membership", "sha256_1536"] } as const;
/** Fills a domain of 2^18. */
const MEMORY_CIRCUIT = "sha256_3600";
const SECONDS = { quick: 3, full: 15 } as const;

export const subject: BenchSubject = {
  name: "cores",
  title: "Groth16 prove on two cores",
  run: async (report, { quick }) => {
    const size = quick ? "quick" : "full";
    const lanes = await lanesNote();
    for (const name of CIRCUITS[size]) {
      const circuit = await loadCircuit(name),
        key = await loadKey(circuit);
      await alone({ circuit, key, lanes }, quick ? 3 : 9, report);
      await together({ circuit, key, lanes }, SECONDS[size], report);
    }
    if (quick) return;
    const circuit = await loadCircuit(MEMORY_CIRCUIT);
    await together({ circuit, key: await loadKey(circuit), lanes }, SECONDS.full, report);
  },
};

interface Measured {
  readonly circuit: BenchCircuit;
  readonly key: BenchKey;
  /** How wide the kernels are, in words. */
  readonly lanes: string;
}

/** One thread and two, turn by turn, so that the machine's other work falls on both. */
async function alone({ circuit, key: { zkey }, lanes }: Measured, samples: number, report: Report): Promise<void> {
  const key = makeKeyResident(readProvingKey(zkey), { workspaces: 2 });
  const prover = new ResidentProver(key);
  const helper = new Worker(new URL("../peers/helper.js", import.meta.url), { workerData: { key } });
  const heard = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      helper.once("message", resolve);
      helper.once("error", reject);
    });
  await heard();
  const times: { one: number[]; two: number[] } = { one: [], two: [] };
  for (let i = -2; i < samples; i += 1) {
    const blinding = { r: randomNonZero(BN254.r), s: randomNonZero(BN254.r) };
    const [team, helped] = [createTeam(), heard()];
    helper.postMessage(team);
    const startedAt = performance.now();
    const two = prover.prove(circuit.witness, blinding, team);
    const twoAt = performance.now();
    await helped;
    const resumedAt = performance.now();
    const one = prover.prove(circuit.witness, blinding);
    const endedAt = performance.now();
    if (two.proof.c?.[0] !== one.proof.c?.[0])
      throw new Error(`${circuit.name}: the proofs of one and two threads differ`);
    if (i < 0) continue;
    times.two.push(twoAt - startedAt);
    times.one.push(endedAt - resumedAt);
  }
  await helper.terminate();
  const row = { subject: "cores", id: "prove_alone", circuit: circuit.name, unit: "ms" } as const;
  report({
    ...row,
    peer: "proofwright, 1 thread",
    ...summarize(times.one),
    note: `${String(circuit.r1cs.constraintCount)} constraints, ${lanes}`,
  });
  const ratio = summarize(times.one.map((one, i) => one / (times.two[i] ?? Number.NaN))).median;
  report({
    ...row,
    peer: "proofwright, 2 threads",
    ...summarize(times.two),
    note: `${ratio.toFixed(2)} times as fast`,
  });
}

async function together({ circuit, key: { path }, lanes }: Measured, seconds: number, report: Report): Promise<void> {
  const witness = join(benchFolder(), `${circuit.name}-${String(process.pid)}.witness`);
  keepFile(witness, circuit.witness);
  for (const [peer, name] of [
    ["kernels", "proofwright"],
    ["snarkjs", "snarkjs"],
  ] as const) {
    const entry = fileURLToPath(new URL("../peers/two-workers.js", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [entry, peer, path, witness, String(seconds)]);
    const { proofsPerSecond, peakMb } = JSON.parse(stdout) as TwoWorkersResult;
    const row = {
      subject: "cores",
      circuit: circuit.name,
      peer: name,
      samples: 1,
      note: peer === "snarkjs" ? "two threads, curve kept" : `two threads, one key, ${lanes}`,
    };
    report({ ...row, id: "prove_throughput", unit: "ops/s", median: proofsPerSecond });
    report({ ...row, id: "prove_memory", unit: "MB", median: peakMb });
  }
}
