/** Checking a prepared powers-of-tau file in full: ours here and in the process that the server starts, snarkjs as its users do. */
import { loadPairing } from "../../src/engine/groth16/pairing-backend.js";
import { checkPowersOfTau } from "../../src/engine/powers-of-tau/check-powers.js";
import { openRangeFile } from "../../src/engine/powers-of-tau/range-file.js";
import { ProcessTasks } from "../../src/platform/pool/process-task.js";
import { POWERS_OF_TAU_PROCESS_LIMITS, checkPowersInProcess } from "../../src/prover/compute/powers-of-tau-task.js";
import { powersOnThreads } from "../../workers/powers-threads.js";
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
    const row = { subject: "ptau", circuit: `2^${String(power)}`, unit: "ms" } as const;
    const note = "128-bit weights, subgroup of every point";
    const here = await samplesOf(async () => await checkHere(path));
    report({ ...row, id: "ptau-check", peer: "proofwright", ...here, note });
    const tasks = new ProcessTasks();
    const started = await samplesOf(async () => await checkAsServer(tasks, path));
    report({
      ...row,
      id: "ptau-check-process",
      peer: "proofwright",
      ...started,
      note: `${note}, process start included`,
    });
    const peer = summarize(await runPeer("plain-snarkjs", ["ptau-verify", path]));
    for (const id of ["ptau-check", "ptau-check-process"])
      report({ ...row, id, peer: "snarkjs", ...peer, note: "32-bit weights, process start not included" });
  },
};

const SAMPLES = 3;

async function samplesOf(check: () => Promise<boolean>): Promise<ReturnType<typeof summarize>> {
  const samples: number[] = [];
  for (let i = 0; i < SAMPLES; i += 1) {
    const startedAt = performance.now();
    if (!(await check())) throw new Error("a sound file was refused");
    samples.push(performance.now() - startedAt);
  }
  return summarize(samples);
}

/** As the process does it once it has started. */
async function checkHere(path: string): Promise<boolean> {
  const file = openRangeFile(path);
  try {
    const { ok } = await checkPowersOfTau(file, await loadPairing("wasm"), { execute: powersOnThreads(path, file) });
    return ok;
  } finally {
    file.close();
  }
}

/** At normal priority, as the peer runs; the server gives the check the lowest. */
async function checkAsServer(tasks: ProcessTasks, path: string): Promise<boolean> {
  const outcome = await checkPowersInProcess(tasks, path, {
    limits: { ...POWERS_OF_TAU_PROCESS_LIMITS, niceness: 0 },
  });
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.value.ok;
}
