/** Making a Groth16 key from an R1CS: ours needs no powers of tau; snarkjs gets ready ones and its default threads. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ProcessTasks } from "../../src/platform/pool/process-task.js";
import { SETUP_PROCESS_LIMITS, setupInProcess } from "../../src/prover/compute/setup-task.js";
import { zkeyCountsOf } from "../../src/engine/groth16/zkey-writer.js";
import { benchFolder, loadCircuit } from "../circuits.js";
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
  const tasks = new ProcessTasks();
  const whole: number[] = [],
    keyOnly: number[] = [];
  for (let i = 0; i < samples; i += 1) {
    const startedAt = performance.now();
    // At normal priority, as the peer runs; the server gives setup the lowest.
    const outcome = await setupInProcess(
      tasks,
      { system: "groth16/BN254", r1cs: circuit.r1csBytes },
      { limits: { ...SETUP_PROCESS_LIMITS, niceness: 0 } },
    );
    if (!outcome.ok || !outcome.value.ok) throw new Error(`${name}: ${outcome.ok ? "a gate failed" : outcome.message}`);
    whole.push(performance.now() - startedAt);
    keyOnly.push(outcome.value.timings.keyMs);
  }
  const row = { subject: "setup", circuit: name, unit: "ms" } as const;
  const note = `${String(circuit.r1cs.constraintCount)} constraints`;
  report({ ...row, id: "setup", peer: "proofwright", ...summarize(keyOnly), note: `${note}, key only` });
  report({
    ...row,
    id: "setup-with-gates",
    peer: "proofwright",
    ...summarize(whole),
    note: "process start, self-test and gates included",
  });
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
