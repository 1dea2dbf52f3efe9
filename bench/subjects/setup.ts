/** Making a Groth16 key from an R1CS: ours needs no powers of tau; snarkjs gets ready ones and its default threads. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ProcessTasks } from "../../src/platform/pool/process-task.js";
import { SETUP_PROCESS_LIMITS, setupInProcess } from "../../src/prover/compute/setup-task.js";
import { zkeyCountsOf } from "../../src/engine/groth16/zkey-writer.js";
import { onTwoLanes } from "../../src/engine/kernels/wide/wide-form.js";
import { benchFolder, loadCircuit } from "../circuits.js";
import type { BenchCircuit } from "../circuits.js";
import { chooseForm, lanesNote } from "../kernel-form.js";
import { runPeer } from "../peers/run-peer.js";
import { preparedPowersOfTau } from "../powers-of-tau.js";
import { summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

export const subject: BenchSubject = {
  name: "setup",
  title: "Groth16 setup from an R1CS, all cores",
  run: async (report, { quick }) => {
    for (const name of quick ? ["merkle_membership"] : ["merkle_membership", "sha256_preimage", "sha256_1536"])
      await setUpCircuit(name, quick ? 1 : 3, report);
  },
};

async function setUpCircuit(name: string, samples: number, report: Report): Promise<void> {
  const circuit = await loadCircuit(name);
  const { forms } = await chooseForm();
  const peers = forms === undefined ? (["proofwright"] as const) : (["proofwright", "two lanes"] as const);
  const row = { subject: "setup", circuit: name, unit: "ms" } as const;
  const constraints = `${String(circuit.r1cs.constraintCount)} constraints`;
  const times = new Map(peers.map((peer) => [peer, { whole: [] as number[], keyOnly: [] as number[] }]));
  for (let i = 0; i < samples; i += 1) {
    // By turns, so that the machine's other work falls on both.
    for (const [peer, { whole, keyOnly }] of times) {
      const startedAt = performance.now();
      keyOnly.push(await (peer === "proofwright" ? makeKey(circuit) : onTwoLanes(() => makeKey(circuit))));
      whole.push(performance.now() - startedAt);
    }
  }
  for (const [peer, { whole, keyOnly }] of times) {
    const note = peer === "proofwright" ? `${constraints}, by a server on ${await lanesNote()}` : constraints;
    report({ ...row, id: "setup", peer, ...summarize(keyOnly), note: `${note}, key only` });
    const withGates = "process start, self-test and gates included";
    report({ ...row, id: "setup-with-gates", peer, ...summarize(whole), note: withGates });
  }
  const ptau = preparedPowersOfTau(zkeyCountsOf(circuit.r1cs).domainPower);
  const zkey = join(benchFolder(), `peer-${String(process.pid)}.zkey`);
  try {
    const snarkjs = summarize(await runPeer("plain-snarkjs", ["setup", circuit.r1csPath, ptau, zkey]));
    for (const id of ["setup", "setup-with-gates"])
      report({ ...row, id, peer: "snarkjs", ...snarkjs, note: "ready powers of tau; checks nothing" });
  } finally {
    rmSync(zkey, { force: true });
  }
}

/** Makes a key as a server on this thread's lanes would, which large circuits alone show, and returns its milliseconds. */
async function makeKey({ name, r1csBytes }: BenchCircuit): Promise<number> {
  // At normal priority, as the peer runs; the server gives setup the lowest.
  const limits = { ...SETUP_PROCESS_LIMITS, niceness: 0 };
  const outcome = await setupInProcess(new ProcessTasks(), { system: "groth16/BN254", r1cs: r1csBytes }, { limits });
  if (!outcome.ok || !outcome.value.ok) throw new Error(`${name}: ${outcome.ok ? "a gate failed" : outcome.message}`);
  return outcome.value.timings.keyMs;
}
