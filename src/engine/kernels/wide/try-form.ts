/**
 * Finds out whether the four-lane form of a curve's kernels is right and faster here. V8 pairs 128-bit instructions
 * while its flag is on, in whatever it optimises then: so the flag is on only while the wide module is called until it
 * is optimised, and nothing else of WebAssembly may run in the process meanwhile. Code that was optimised stays as it
 * is, and threads that are given the module have it at once.
 */
import { setFlagsFromString } from "node:v8";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { callOf, formCandidates } from "./form-candidates.js";
import type { CandidateModules, FormCandidate } from "./form-candidates.js";
import type { KernelCall, RandomBelow, WideTrial } from "./trial-memory.js";
import type { WideForm } from "./wide-form.js";

interface TryOptions {
  readonly curve: CurveParameters;
  readonly random: RandomBelow;
  /** Milliseconds, such as `performance.now`. */
  readonly now: () => number;
  /** Sets a flag of V8, given as on the command line; for the process, unless given. */
  readonly setFlag?: (flag: string) => void;
  /** Modules to try in place of the curve's: for tests, which spoil a kernel. */
  readonly modules?: CandidateModules;
}

/** What was found of one kernel. */
export interface KernelFinding {
  readonly kernel: string;
  readonly isRight: boolean;
  /** How many times as fast four lanes are as two; undefined where they are not right. */
  readonly speedup: number | undefined;
}

export interface FormFinding {
  readonly forms: readonly WideForm[];
  readonly findings: readonly KernelFinding[];
}

/** The flag of V8. */
export const WIDE_FLAG = "experimental-wasm-revectorize";
/** Code of the first tier takes at least twice as long as optimised code. */
const OPTIMISED_RATIO = 1.6;
/** Calls that must have been so much faster: one alone may be luck. */
const FAST_CALLS = 3;
/** Wide kernels that V8 has not optimised after so long without progress, as under load, show themselves slow. */
const WIDE_SETTLED_MS = 1000;
/**
 * Kernels call functions, which become fast one by one, and no ratio tells that the last one has, but so many rounds in
 * which nothing became faster. Rounds and not time: V8's own threads compile, which wait as well on a busy machine.
 */
const QUIET_ROUNDS = { wide: 100, narrow: 30 } as const;
/** As V8 optimises them at its leisure, kernels on two lanes need not show that they are fast. */
const NARROW_SETTLED_MS = 100;
/** Progress is a call that takes so much less than any before. */
const PROGRESS_RATIO = 0.9;
/** Calls of each form that are timed, in turn; the fastest counts. */
const TIMED_CALLS = 30;
/** Less is not worth leaving the code that has been there for years. */
const SPEEDUP_MIN = 1.1;

/** Compiles, optimises, checks and times the four-lane kernels of a curve. Takes a second, on the calling thread. */
export function tryWideForm({ curve, random, now, modules, setFlag = setFlagsFromString }: TryOptions): FormFinding {
  const candidates = formCandidates(curve, random, modules);
  const compiled = pairing(setFlag, () => {
    const tried = candidates.map((candidate) => {
      const module = new WebAssembly.Module(candidate.bytes);
      return { candidate, module, call: callOf(module, candidate.memory) };
    });
    optimise(
      tried.flatMap(({ candidate, call }) => runsOf(candidate, call, 4)),
      { now, settledMs: WIDE_SETTLED_MS, quietRounds: QUIET_ROUNDS.wide },
    );
    return tried;
  });
  // Loaded only now: kernels of two lanes must not be optimised while the flag is on.
  const both = compiled.map((each) => ({ ...each, onTwo: each.candidate.openNarrow() }));
  const right = new Map(
    both.map(({ candidate, call, onTwo }) => [
      candidate,
      new Set(candidate.trials.filter((trial) => isRight(trial, { call, onTwo }))),
    ]),
  );
  optimise(
    both.flatMap(({ candidate, onTwo }) => runsOf(candidate, onTwo, 2)),
    { now, settledMs: NARROW_SETTLED_MS, quietRounds: QUIET_ROUNDS.narrow },
  );
  const found = both.map(({ candidate, module, call, onTwo }) => {
    const findings = candidate.trials.map((trial): KernelFinding => {
      const isSound = right.get(candidate)?.has(trial) === true;
      const faster = isSound ? speedup(trial, { call, onTwo }, now) : undefined;
      return { kernel: trial.kernel, isRight: isSound, speedup: faster };
    });
    const kernels = findings.filter((finding) => (finding.speedup ?? 0) >= SPEEDUP_MIN).map(({ kernel }) => kernel);
    return { form: { curve: candidate.curve, kind: candidate.kind, module, kernels }, findings };
  });
  return { forms: found.map(({ form }) => form), findings: found.flatMap(({ findings }) => findings) };
}

/** Runs something while V8 pairs instructions of what it optimises. */
function pairing<T>(setFlag: (flag: string) => void, run: () => T): T {
  setFlag(`--${WIDE_FLAG}`);
  try {
    return run();
  } finally {
    setFlag(`--no-${WIDE_FLAG}`);
  }
}

/** A trial as it is run in one of the forms. */
interface TrialRun {
  readonly isComposed: boolean;
  prepare(): void;
  run(): void;
}

function runsOf({ trials }: FormCandidate, call: KernelCall, lanes: 2 | 4): TrialRun[] {
  return trials.map((trial) => ({
    isComposed: trial.isComposed === true,
    prepare: () => {
      trial.prepare();
    },
    run: () => {
      trial.run(call, lanes);
    },
  }));
}

/**
 * Calls the kernels in turn, so that V8 compiles one while the others run, until each has become faster, or none has
 * for a while; and then until none becomes faster still.
 */
function optimise(runs: readonly TrialRun[], { now, settledMs, quietRounds }: OptimiseOptions): void {
  const tried = runs.map((each) => {
    each.prepare();
    // The first call compiles for the first tier.
    each.run();
    const slowMs = Math.min(timeOf(each, now), timeOf(each, now));
    return { each, slowMs, bestMs: slowMs, fastCalls: 0 };
  });
  let [progressMs, rounds] = [now(), 0];
  for (let isDone = false; !isDone; rounds += 1) {
    for (const one of tried) {
      const ms = timeOf(one.each, now);
      if (one.each.isComposed || ms * OPTIMISED_RATIO < one.slowMs) one.fastCalls += 1;
      if (ms >= one.bestMs * PROGRESS_RATIO) continue;
      one.bestMs = ms;
      [progressMs, rounds] = [now(), 0];
    }
    const isFast = tried.every(({ fastCalls }) => fastCalls >= FAST_CALLS);
    isDone = isFast ? rounds >= quietRounds : now() - progressMs >= settledMs;
  }
}

interface OptimiseOptions {
  readonly now: () => number;
  readonly settledMs: number;
  /** Rounds without progress, once all are fast. */
  readonly quietRounds: number;
}

/** A kernel's calls in both forms. */
interface BothForms {
  readonly call: KernelCall;
  readonly onTwo: KernelCall;
}

function isRight(trial: WideTrial, { call, onTwo }: BothForms): boolean {
  trial.prepare();
  try {
    trial.run(call, 4);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return false;
    throw error;
  }
  return trial.isRight(onTwo);
}

function speedup(trial: WideTrial, { call, onTwo }: BothForms, now: () => number): number {
  trial.prepare();
  let [four, two] = [Infinity, Infinity];
  for (let i = 0; i < TIMED_CALLS; i += 1) {
    two = Math.min(two, timeOf({ run: () => trial.run(onTwo, 2) }, now));
    four = Math.min(four, timeOf({ run: () => trial.run(call, 4) }, now));
  }
  return two / four;
}

function timeOf(timed: Pick<TrialRun, "run">, now: () => number): number {
  const startedMs = now();
  timed.run();
  return now() - startedMs;
}
