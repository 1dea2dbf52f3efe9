/** Calls kernels until V8 has optimised them, as far as that shows from outside: in the time that they take. */
import type { KernelCall, WideTrial } from "./trial-memory.js";

/** A trial on one form of its kernel. */
interface TrialCall {
  readonly trial: WideTrial;
  readonly call: KernelCall;
}

interface OptimiseOptions {
  /** Milliseconds, such as `performance.now`. */
  readonly now: () => number;
  /** Ends after so long without progress. */
  readonly settledMs: number;
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
 * for a while.
 */
export function optimise(calls: readonly TrialCall[], { now, settledMs }: OptimiseOptions): void {
  let left = calls.map((each) => {
    each.trial.prepare();
    // The first call compiles for the first tier.
    each.trial.run(each.call);
    const slowMs = Math.min(timeOf(each, now), timeOf(each, now));
    return { ...each, slowMs, bestMs: slowMs, fastCalls: 0 };
  });
  let progressMs = now();
  while (left.length > 0 && now() - progressMs < settledMs) {
    for (const each of left) {
      const ms = timeOf(each, now);
      if (ms * OPTIMISED_RATIO < each.slowMs) each.fastCalls += 1;
      if (ms >= each.bestMs * PROGRESS_RATIO) continue;
      each.bestMs = ms;
      progressMs = now();
    }
    left = left.filter(({ fastCalls }) => fastCalls < FAST_CALLS);
  }
}

/** Returns how many times as fast a kernel is on one form as on another; the fastest of some calls by turns counts. */
export function speedup(
  trial: WideTrial,
  { fast, slow }: { readonly fast: KernelCall; readonly slow: KernelCall },
  now: () => number,
): number {
  trial.prepare();
  let [fastMs, slowMs] = [Infinity, Infinity];
  for (let i = 0; i < TIMED_CALLS; i += 1) {
    slowMs = Math.min(slowMs, timeOf({ trial, call: slow }, now));
    fastMs = Math.min(fastMs, timeOf({ trial, call: fast }, now));
  }
  return slowMs / fastMs;
}

function timeOf({ trial, call }: TrialCall, now: () => number): number {
  const startedMs = now();
  trial.run(call);
  return now() - startedMs;
}
