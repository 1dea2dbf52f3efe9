/**
 * The status machine of a prover: its statuses and the table of allowed transitions. A status only moves forward, so
 * that a polling client never sees it go back, even after a crash.
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
 * From each status to those that may follow. `deploying_artifacts` is for provers that were created with verifier
 * contracts, and ends in `provisioned` whatever becomes of those. `compiled -> provisioned` is for schemes without a
 * setup of their own, whose keys are derived meanwhile.
 */
const TRANSITIONS: Readonly<Record<ProverStatus, readonly ProverStatus[]>> = {
  init: ["compiling", "compiled", "failed"],
  compiling: ["compiled", "failed"],
  compiled: ["pending_setup", "deploying_artifacts", "provisioned", "failed"],
  pending_setup: ["running_setup", "failed"],
  running_setup: ["deploying_artifacts", "provisioned", "failed"],
  deploying_artifacts: ["provisioned", "failed"],
  provisioned: [],
  failed: [],
};

/**
 * The progress at which each status begins and ends, 0 to 1, for the status route. Compiling and setup are the long
 * steps.
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

const PROGRESS_OF_DERIVING = [0.4, 0.95] as const;

/** The step of each status, in words for people. */
const STEPS: Readonly<Record<ProverStatus, string>> = {
  init: "waiting to be compiled",
  compiling: "compiling the circuit",
  compiled: "compiled",
  pending_setup: "waiting for the trusted setup",
  running_setup: "running the trusted setup and its checks",
  deploying_artifacts: "deploying the verifiers on chain",
  provisioned: "ready to prove and verify",
  failed: "failed",
};

/** Returns whether a prover in status `from` may move to `to`. A status does not follow itself. */
export function mayFollow(from: ProverStatus, to: ProverStatus): boolean {
  return TRANSITIONS[from].includes(to);
}

/** Returns whether the status is final. */
export function isFinished(status: ProverStatus): boolean {
  return TRANSITIONS[status].length === 0;
}

/**
 * How a prover's keys are made: by a setup of its circuit's own, or while it is `compiled` from a universal one or from
 * the circuit alone.
 */
type Setup = "own" | "universal" | "none";

/**
 * Returns the progress of provisioning, 0 to 1.
 * @param share how much of the status's own work is done, 0 to 1
 */
export function progressOf(status: ProverStatus, share = 0, setup: Setup = "own"): number {
  const [begin, end] = derivesKeys(status, setup) ? PROGRESS_OF_DERIVING : PROGRESS[status];
  return begin + (end - begin) * Math.min(1, Math.max(0, share));
}

/** Returns the step in words for people. */
export function stepOf(status: ProverStatus, setup: Setup = "own"): string {
  return derivesKeys(status, setup) ? "deriving the keys and checking them" : STEPS[status];
}

function derivesKeys(status: ProverStatus, setup: Setup): boolean {
  return status === "compiled" && setup !== "own";
}
