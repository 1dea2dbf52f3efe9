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

/** How far a status, or one of its parts, has come when it begins and when it ends, 0 to 1. */
type Range = readonly [begin: number, end: number];

/** What is there of the keys while they are made. */
export type KeyProgress = "missing" | "unchecked" | "checked";

interface Ranges {
  readonly compiling: Range;
  readonly keys: Readonly<Record<KeyProgress, Range>>;
}

/** By the time that circuits of 30,000 to 90,000 constraints take. */
const OWN_RANGES: Ranges = {
  compiling: [0.02, 0.6],
  keys: { missing: [0.62, 0.86], unchecked: [0.86, 0.97], checked: [0.97, 0.98] },
};
/** Polynomials are committed to while the keys are made, and once more while they are checked. */
const UNIVERSAL_RANGES: Ranges = {
  compiling: [0.02, 0.2],
  keys: { missing: [0.22, 0.55], unchecked: [0.55, 0.97], checked: [0.97, 0.98] },
};

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
export type Setup = "own" | "universal" | "none";

/** A prover's place in its provisioning. */
export interface ProvisioningPlace {
  readonly status: ProverStatus;
  /** `own` unless given. */
  readonly setup?: Setup;
  /** `missing` unless given. */
  readonly keys?: KeyProgress;
}

/**
 * Returns the progress of provisioning, 0 to 1.
 * @param share how much of the work of this place is done, 0 to 1
 */
export function progressOf(place: ProvisioningPlace, share = 0): number {
  const [begin, end] = rangeOf(place);
  return begin + (end - begin) * Math.min(1, Math.max(0, share));
}

function rangeOf({ status, setup = "own", keys = "missing" }: ProvisioningPlace): Range {
  const ranges = setup === "universal" ? UNIVERSAL_RANGES : OWN_RANGES;
  const [, compiled] = ranges.compiling;
  switch (status) {
    case "init":
      return [0, 0];
    case "compiling":
      return ranges.compiling;
    case "compiled":
      return derivesKeys(status, setup) ? ranges.keys[keys] : [compiled, compiled];
    case "pending_setup":
      return [compiled, compiled];
    case "running_setup":
      return ranges.keys[keys];
    case "deploying_artifacts":
      return [0.98, 0.99];
    case "provisioned":
    case "failed":
      return [1, 1];
  }
}

/** Returns the step in words for people. */
export function stepOf({ status, setup = "own" }: ProvisioningPlace): string {
  return derivesKeys(status, setup) ? "deriving the keys and checking them" : STEPS[status];
}

function derivesKeys(status: ProverStatus, setup: Setup): boolean {
  return status === "compiled" && setup !== "own";
}
