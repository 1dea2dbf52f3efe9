/**
 * A million constraints: the setup with all of its gates in its own process, the key opened, and proofs on two threads,
 * each with the memory that its process took at most. The proof's peer is rapidsnark, which is not ours to install: its
 * program is taken from RAPIDSNARK or PATH, and its row is missing with a notice where there is none. The setup's peers
 * would take an hour.
 */
import { execFile } from "node:child_process";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  referenceStringNeeds,
  circuitCounts,
  memoryNeeds,
  openKeyBytes,
} from "../../src/engine/proof-systems/memory-needs.js";
import { readR1csHeader } from "../../src/engine/circuit/r1cs.js";
import type { ProofSystemName } from "../../src/engine/proof-systems/names.js";
import { ProcessTasks, type ProcessTaskLimits } from "../../src/platform/pool/process-task.js";
import {
  SETUP_PROCESS_LIMITS,
  limitsFor,
  makeReferenceStringInProcess,
  setupInProcess,
} from "../../src/prover/compute/setup-task.js";
import { benchFolder, keepFile, wtnsFile } from "../circuits.js";
import { largeCircuit } from "../large-circuit.js";
import type { LargeCircuit, LargeCircuitKind } from "../large-circuit.js";
import type { LargeProofs } from "../peers/large-prover.js";
import { findRapidsnark, proveNatively } from "../peers/rapidsnark.js";
import { summarize } from "../sample.js";
import type { BenchRow, BenchSubject, Report } from "../subject.js";

/** Rows of the domain that the circuit fills, as a power of two. */
const POWERS = { quick: 16, full: 20 } as const;
/** What is measured; the bits take two gates of PLONK a row, and so another domain. */
const CASES: readonly (readonly [system: ProofSystemName, kind: LargeCircuitKind])[] = [
  ["groth16/BN254", "bits"],
  ["groth16/BN254", "full"],
  ["plonk/BN254", "full"],
];
const SAMPLES = 3;
/** As the server's, but without its politeness, which would measure what else the machine does. */
const LIMITS: ProcessTaskLimits = { ...SETUP_PROCESS_LIMITS, niceness: 0 };
const MB = 1e6;
const POLL_MS = 50;

export const subject: BenchSubject = {
  name: "large",
  title: "A million constraints",
  run: async (report, { quick }) => {
    const power = quick ? POWERS.quick : POWERS.full;
    // One row is the output's, and one the constant's.
    for (const [system, kind] of CASES)
      await measure({ system, power, kind }, largeCircuit(2 ** power - 2, { kind }), report);
  },
};

interface Measured {
  readonly system: ProofSystemName;
  readonly power: number;
  readonly kind: LargeCircuitKind;
}

type Row = Pick<BenchRow, "subject" | "circuit" | "samples">;

async function measure({ system, power, kind }: Measured, circuit: LargeCircuit, report: Report): Promise<void> {
  const files = filesOf(system);
  const row: Row = { subject: "large", circuit: `${system}, 2^${String(power)} rows, ${kind}`, samples: 1 };
  try {
    const tasks = new ProcessTasks();
    const needs = memoryNeeds(system, circuitCounts(readR1csHeader(circuit.r1cs), circuit.r1cs.length));
    const limits = limitsFor(LIMITS, { ...needs, bytes: needs.setup, answerBytes: needs.keyFile });
    const string = system.startsWith("groth16") ? {} : await referenceString(tasks, power, files.string);
    const { value, ms, peakMb } = await watched(() =>
      setupInProcess(tasks, { system, r1cs: circuit.r1cs, ...string }, { limits }),
    );
    if (!value.ok || !value.value.ok) throw new Error(`${system}: ${JSON.stringify(value)}`);
    const note = `${String(circuit.constraintCount)} constraints, process and self-test included`;
    report({ ...row, id: "setup", peer: "proofwright", unit: "s", median: ms / 1000, note });
    const told = `told before: ${(needs.setup / MB).toFixed(0)} MB`;
    report({ ...row, id: "setup_memory", peer: "proofwright", unit: "MB", median: peakMb, note: told });
    keepFile(files.key, value.value.provingKey);
    keepFile(files.verifyingKey, Buffer.from(JSON.stringify(value.value.verifyingKey)));
    keepFile(files.witness, circuit.witness);
    const found = await proveApart(system, files);
    report({ ...row, id: "open", peer: "proofwright", unit: "s", median: found.openMs / 1000 });
    const { median, p95 } = summarize(found.proveMs.map((each) => each / 1000));
    report({ ...row, id: "prove", peer: "proofwright", unit: "s", median, p95, samples: SAMPLES, note: "2 threads" });
    const bound = openKeyBytes(needs, { workspaces: 2 }) + needs.keyFile;
    const memory = `key and file, told before: ${(bound / MB).toFixed(0)} MB; the key has ${found.keyMb.toFixed(0)} MB`;
    report({ ...row, id: "prove_memory", peer: "proofwright", unit: "MB", median: found.peakMb, note: memory });
    if (system === "groth16/BN254") await rapidsnark(circuit, files, row, report);
  } finally {
    for (const path of Object.values(files)) rmSync(path, { force: true });
  }
}

function filesOf(system: ProofSystemName): Record<"key" | "verifyingKey" | "witness" | "string", string> {
  const path = (ending: string): string =>
    join(benchFolder(), `large-${system.replace("/", "-")}-${String(process.pid)}.${ending}`);
  return { key: path("zkey"), verifyingKey: path("json"), witness: path("witness"), string: path("ptau") };
}

/** Its secret is thrown away, and its making is not measured: a server does it once. */
async function referenceString(
  tasks: ProcessTasks,
  power: number,
  path: string,
): Promise<{ readonly referenceStrings: readonly { path: string; sha256: string; power: number }[] }> {
  const { bytes, file } = referenceStringNeeds("BN254", power);
  const limits = limitsFor(LIMITS, { bytes, domainPower: power, answerBytes: file });
  const made = await makeReferenceStringInProcess(tasks, { curve: "BN254", power }, { limits });
  if (!made.ok) throw new Error(`no reference string: ${made.message}`);
  keepFile(path, made.value);
  return { referenceStrings: [{ path, sha256: "00".repeat(32), power }] };
}

async function proveApart(system: ProofSystemName, files: ReturnType<typeof filesOf>): Promise<LargeProofs> {
  const entry = fileURLToPath(new URL("../peers/large-prover.js", import.meta.url));
  const parameters = [entry, system, files.key, files.verifyingKey, files.witness, String(SAMPLES)];
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { maxBuffer: 1 << 24 });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as LargeProofs;
}

async function rapidsnark(
  circuit: LargeCircuit,
  files: ReturnType<typeof filesOf>,
  row: Row,
  report: Report,
): Promise<void> {
  const program = findRapidsnark();
  if (program === undefined) {
    process.stderr.write("large: no rapidsnark in RAPIDSNARK or PATH; its proof is not measured\n");
    return;
  }
  keepFile(files.witness, wtnsFile(circuit.witness));
  const seconds: number[] = [];
  for (let i = 0; i < SAMPLES; i += 1) seconds.push((await proveNatively(program, files)).ms / 1000);
  const { median, p95 } = summarize(seconds);
  report({ ...row, id: "prove", peer: "rapidsnark", unit: "s", median, p95, samples: SAMPLES, note: "all cores" });
}

/** Runs work that starts a process, and tells how long it took and what the process had of memory at most. */
async function watched<Value>(
  work: () => Promise<Value>,
): Promise<{ readonly value: Value; readonly ms: number; readonly peakMb: number }> {
  let peakMb = 0;
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, ...childPeaksMb());
  }, POLL_MS);
  const startedAt = performance.now();
  try {
    const value = await work();
    return { value, ms: performance.now() - startedAt, peakMb };
  } finally {
    clearInterval(timer);
  }
}

/** Of each child, the most that it has had; where /proc is missing nothing is known. */
function childPeaksMb(): number[] {
  try {
    const threads = readdirSync("/proc/self/task");
    const children = threads.flatMap((thread) => readFileSync(`/proc/self/task/${thread}/children`, "utf8").split(" "));
    return children.filter((child) => child !== "").map(peakOf);
  } catch {
    return [];
  }
}

function peakOf(child: string): number {
  try {
    const status = readFileSync(`/proc/${child}/status`, "utf8");
    return (Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024) / MB;
  } catch {
    // It has just ended.
    return 0;
  }
}
