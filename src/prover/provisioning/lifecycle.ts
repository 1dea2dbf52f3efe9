/**
 * The status machine of a prover: the names and the one table of allowed transitions. A status only ever moves forward,
 * so that a client that polls never sees it go back, whatever crashed in between.
 */

export const PROVER_STATUSES = [
  "init",
  "compiling",
  "compiled",
  "pending_setup",
  "running_setup",
  "deploying_artifacts",
  "provisioned",
  "failed",
] as const;
export type ProverStatus = (typeof PROVER_STATUSES)[number];

/**
 * From each status to those that may follow. `deploying_artifacts` waits for on-chain verifiers and is entered by
 * nobody yet; `compiled -> provisioned` is for schemes without a setup of their own and for keys that are taken over.
 */
const TRANSITIONS: Readonly<Record<ProverStatus, readonly ProverStatus[]>> = {
  init: ["compiling", "compiled", "failed"],
  compiling: ["compiled", "failed"],
  compiled: ["pending_setup", "provisioned", "failed"],
  pending_setup: ["running_setup", "failed"],
  running_setup: ["deploying_artifacts", "provisioned", "failed"],
  deploying_artifacts: ["provisioned", "failed"],
  provisioned: [],
  failed: [],
};

/**
 * How far along each status is, 0 to 1: where it begins and where it ends. What `progress` of the status route says;
 * compiling and setup are the long steps.
 */
const PROGRESS: Readonly<Record<ProverStatus, readonly [number, number]>> = {
  init: [0, 0],
  compiling: [0.05, 0.4],
  compiled: [0.4, 0.4],
  pending_setup: [0.45, 0.45],
  running_setup: [0.5, 0.95],
  deploying_artifacts: [0.95, 0.99],
  provisioned: [1, 1],
  failed: [1, 1],
};

/** What is going on, in words for people. */
const STEPS: Readonly<Record<ProverStatus, string>> = {
  init: "waiting to be compiled",
  compiling: "compiling the circuit",
  compiled: "compiled",
  pending_setup: "waiting for the trusted setup",
  running_setup: "running the trusted setup and its checks",
  deploying_artifacts: "deploying the on-chain verifier",
  provisioned: "ready to prove and verify",
  failed: "failed",
};

/** True when a prover in status `from` may go to `to`. A status does not follow itself. */
export function mayFollow(from: ProverStatus, to: ProverStatus): boolean {
  return TRANSITIONS[from].includes(to);
}

/** True when nothing will change the status any more. */
export function isFinished(status: ProverStatus): boolean {
  return TRANSITIONS[status].length === 0;
}

/** @param share how much of the status's own work is done, 0 to 1 */
export function progressOf(status: ProverStatus, share = 0): number {
  const [begin, end] = PROGRESS[status];
  return begin + (end - begin) * Math.min(1, Math.max(0, share));
}

export function stepOf(status: ProverStatus): string {
  return STEPS[status];
}
