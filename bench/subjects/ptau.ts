/** Checking a prepared powers-of-tau file in full: ours in the process that the server starts, snarkjs as its users do. */
import { ProcessTasks } from "../../src/platform/pool/process-task.js";
import { POWERS_OF_TAU_PROCESS_LIMITS, checkPowersInProcess } from "../../src/prover/compute/powers-of-tau-task.js";
import { fullPowersOfTau } from "../full-powers-of-tau.js";
import { runPeer } from "../peers/run-peer.js";
import { summarize } from "../sample.js";
import type { BenchSubject } from "../subject.js";

export const subject: BenchSubject = {
  name: "ptau",
  title: "Check of a prepared powers-of-tau file, all cores",
  run: async (report, { quick }) => {
    const power = quick ? 12 : 16;
    const path = await fullPowersOfTau(power);
    const tasks = new ProcessTasks();
    const samples: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const startedAt = performance.now();
      // At normal priority, as the peer runs; the server gives the check the lowest.
      const outcome = await checkPowersInProcess(tasks, path, {
        limits: { ...POWERS_OF_TAU_PROCESS_LIMITS, niceness: 0 },
      });
      if (!outcome.ok || !outcome.value.ok) throw new Error(outcome.ok ? "a sound file was refused" : outcome.message);
      samples.push(performance.now() - startedAt);
    }
    const row = { subject: "ptau", id: "ptau-check", circuit: `2^${String(power)}`, unit: "ms" } as const;
    const note = "process start included; 128-bit weights, subgroup of every point";
    report({ ...row, peer: "proofwright", ...summarize(samples), note });
    const peer = summarize(await runPeer("plain-snarkjs", ["ptau-verify", path]));
    report({ ...row, peer: "snarkjs", ...peer, note: "process start not included; 32-bit weights" });
  },
};
