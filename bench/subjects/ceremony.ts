/**
 * One contribution to a ceremony, and its check from the key before it: ours in the processes that the command line and
 * the server start, snarkjs as its users call it, all cores each.
 */
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { contributeInProcess } from "../../src/commands/ceremony/contribute-task.js";
import { workerPath } from "../../src/platform/files/package-root.js";
import { ProcessTasks } from "../../src/platform/pool/process-task.js";
import type { CeremonyTaskAnswers, CeremonyTaskRequest } from "../../src/prover/compute/ceremony-task.js";
import { makeFirstKey } from "../../src/prover/compute/run-ceremony.js";
import { SETUP_PROCESS_LIMITS } from "../../src/prover/compute/setup-task.js";
import { benchFolder, keepFile } from "../circuits.js";
import { fullPowersOfTau } from "../full-powers-of-tau.js";
import { largeCircuit } from "../large-circuit.js";
import { runPeer } from "../peers/run-peer.js";
import { summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

export const subject: BenchSubject = {
  name: "ceremony",
  title: "A contribution to a ceremony and its check, all cores",
  run: async (report, { quick }) => {
    await measure(quick ? 12 : 16, quick ? 1 : 3, report);
  },
};

/** Room for the rows of the public signals in a domain of 2^power. */
const PUBLIC_ROWS = 8;

async function measure(power: number, samples: number, report: Report): Promise<void> {
  const constraints = 2 ** power - PUBLIC_ROWS;
  const ptau = await fullPowersOfTau(power);
  const first = await firstKey(constraints, ptau, power);
  const own = join(benchFolder(), `contributed-${String(process.pid)}.zkey`);
  const theirs = join(benchFolder(), `contributed-peer-${String(process.pid)}.zkey`);
  const [contributions, checks]: [number[], number[]] = [[], []];
  try {
    for (let i = 0; i < samples; i += 1) {
      rmSync(own, { force: true });
      const startedAt = performance.now();
      const request = { from: first, to: own, name: "bench", entropyFile: undefined };
      await contributeInProcess(request, () => undefined);
      contributions.push(performance.now() - startedAt);
      checks.push(await check(first, own));
    }
    const circuit = `${String(constraints)} constraints`;
    const row = { subject: "ceremony", circuit, unit: "ms" } as const;
    const started = "process start included";
    report({ ...row, id: "contribute", peer: "proofwright", ...summarize(contributions), note: started });
    const peer = summarize(await runPeer("plain-snarkjs", ["contribute", first, theirs]));
    report({ ...row, id: "contribute", peer: "snarkjs", ...peer, note: "process start not included" });
    const note = `${started}; 128-bit weights, every byte compared`;
    report({ ...row, id: "check", peer: "proofwright", ...summarize(checks), note });
    const weights = "32-bit weights for C";
    const verified = summarize(await runPeer("plain-snarkjs", ["zkey-verify", r1csPath(constraints), ptau, own]));
    report({ ...row, id: "check", peer: "snarkjs", ...verified, note: `\`snarkjs zkey verify\`; ${weights}` });
    const fromInit = summarize(await runPeer("plain-snarkjs", ["zkey-verify-init", first, ptau, own]));
    report({ ...row, id: "check-from-init", peer: "proofwright", ...summarize(checks), note });
    report({ ...row, id: "check-from-init", peer: "snarkjs", ...fromInit, note: `verifyFromInit; ${weights}` });
  } finally {
    rmSync(own, { force: true });
    rmSync(theirs, { force: true });
  }
}

/** Made on first use from a powers-of-tau file, by whose time it is named: about half a minute for 2^16. */
async function firstKey(constraints: number, ptau: string, power: number): Promise<string> {
  const version = Math.floor(statSync(ptau).mtimeMs);
  const path = join(benchFolder(), `first-key-v2-${String(constraints)}-${String(version)}.zkey`);
  if (existsSync(path)) return path;
  const r1cs = readFileSync(r1csPath(constraints));
  const made = await makeFirstKey({ r1cs, strings: [{ power, sha256: "", path: ptau }] });
  if (!made.ok) throw new Error("the first key was not made");
  keepFile(path, made.value.key);
  return path;
}

/** The circuit's file, made on first use. */
function r1csPath(constraints: number): string {
  const path = join(benchFolder(), `ceremony-v1-${String(constraints)}.r1cs`);
  if (!existsSync(path)) keepFile(path, largeCircuit(constraints).r1cs);
  return path;
}

async function check(before: string, after: string): Promise<number> {
  const file = (path: string) => ({ path, sha256: "", bytes: statSync(path).size });
  const startedAt = performance.now();
  const outcome = await new ProcessTasks().run<CeremonyTaskRequest, CeremonyTaskAnswers["check"]>({
    entry: workerPath("ceremony.process"),
    request: { step: "check", before: file(before), after: file(after) },
    // At normal priority, as the peer runs.
    limits: { ...SETUP_PROCESS_LIMITS, niceness: 0 },
  });
  if (!outcome.ok || !outcome.value.ok) throw new Error(outcome.ok ? "the contribution was refused" : outcome.message);
  return performance.now() - startedAt;
}
