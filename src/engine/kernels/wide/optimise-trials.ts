/** Calls kernels until V8 has optimised them, as far as that shows from outside: in the time that they take. */
import type { KernelCall, WideTrial } from "./trial-memory.js";

/** A trial on one form of its kernel. */
export interface TrialCall {
  readonly trial: WideTrial;
  readonly call: KernelCall;
  readonly lanes: 2 | 4;
}

/** Calls of the same kernels in both forms. */
export interface BothForms {
  readonly onFour: KernelCall;
  readonly onTwo: KernelCall;
}

interface OptimiseOptions {
  /** Milliseconds, such as `performance.now`. */
  readonly now: () => number;
  /** Ends after so long without progress where a kernel that should show it is not fast. */
  readonly settledMs: number;
  /** Ends after so many rounds without progress where all such are fast. */
  readonly quietRounds: number;
}

/**
 * Code of the first tier takes 5 to 8 times as long as optimised code; other work of the machine may make a call seem
 * twice as long as it is.
 */
const OPTIMISED_RATIO = 2.5;
/** Calls that must have been so much faster: one alone may be luck. */
const FAST_CALLS = 3;
/** Progress is a call that takes so much less than any before. */
const PROGRESS_RATIO = 0.9;
/** Calls of each form that are timed, in turn; the fastest counts. */
const TIMED_CALLS = 30;

/**
 * Calls the kernels in turn, so that V8 compiles one while the others run, until each has become faster, or none has
 * for a while. Composed kernels (`WideTrial.isComposed`) stay until all have rested for some rounds: their functions
 * become fast one by one, and no ratio tells that the last one has. Rounds and not time: V8's own threads compile,
 * which wait as well on a busy machine.
 */
export function optimise(calls: readonly TrialCall[], { now, settledMs, quietRounds }: OptimiseOptions): void {
  let left = calls.map((each) => {
    each.trial.prepare();
    // The first call compiles for the first tier.
    runTrial(each);
    const slowMs = Math.min(timeOf(each, now), timeOf(each, now));
    return { ...each, isComposed: each.trial.isComposed === true, slowMs, bestMs: slowMs, fastCalls: 0 };
  });
  let [progressMs, rounds] = [now(), 0];
  const hasRested = (): boolean =>
    left.every(({ isComposed }) => isComposed) ? rounds >= quietRounds : now() - progressMs >= settledMs;
  for (; left.length > 0 && !hasRested(); rounds += 1) {
    for (const each of left) {
      const ms = timeOf(each, now);
      if (ms * OPTIMISED_RATIO < each.slowMs) each.fastCalls += 1;
      if (ms >= each.bestMs * PROGRESS_RATIO) continue;
      each.bestMs = ms;
      [progressMs, rounds] = [now(), 0];
    }
    left = left.filter(({ isComposed, fastCalls }) => isComposed || fastCalls < FAST_CALLS);
  }
}

/** Returns how many times as fast a kernel is on four lanes as on two; the fastest of some calls by turns counts. */
export function speedup(trial: WideTrial, { onFour, onTwo }: BothForms, now: () => number): number {
  trial.prepare();
  let [fourMs, twoMs] = [Infinity, Infinity];
  for (let i = 0; i < TIMED_CALLS; i += 1) {
    twoMs = Math.min(twoMs, timeOf({ trial, call: onTwo, lanes: 2 }, now));
    fourMs = Math.min(fourMs, timeOf({ trial, call: onFour, lanes: 4 }, now));
  }
  return twoMs / fourMs;
}

function timeOf(each: TrialCall, now: () => number): number {
  const startedMs = now();
  runTrial(each);
  return now() - startedMs;
}

function runTrial({ trial, call, lanes }: TrialCall): void {
  trial.run(call, lanes);
}
