/**
 * Finds out whether the four-lane form of a curve's kernels is right and faster here. V8 pairs 128-bit instructions
 * while its flag is on, in whatever it optimises then: so the flag is on only while the wide module is called until it
 * is optimised, and nothing else of WebAssembly may run in the process meanwhile. Code that was optimised stays as it
 * is, and threads that are given the module have it at once.
 */
import { setFlagsFromString } from "node:v8";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { loadKernels, openKernels } from "../kernels.js";
import { preparedProgram } from "../../prepared/prepared-programs.js";
import { TrialMemory } from "./trial-memory.js";
import type { KernelCall, RandomBelow, WideTrial } from "./trial-memory.js";
import type { WideForm } from "./wide-form.js";
import { buildWideModule, wideModuleName } from "./wide-module.js";
import type { WideModule } from "./wide-module.js";
import { wideTrials } from "./wide-trials.js";

interface TryOptions {
  readonly curve: CurveParameters;
  readonly random: RandomBelow;
  /** Milliseconds, such as `performance.now`. */
  readonly now: () => number;
  /** Sets a flag of V8, given as on the command line; for the process, unless given. */
  readonly setFlag?: (flag: string) => void;
  /** The module to try in place of the curve's: for tests, which spoil a kernel. */
  readonly wideModule?: WideModule;
}

/** What was found of one kernel. */
export interface KernelFinding {
  readonly kernel: string;
  readonly isRight: boolean;
  /** How many times as fast four lanes are as two; undefined where they are not right. */
  readonly speedup: number | undefined;
}

export interface FormFinding {
  readonly form: WideForm;
  readonly findings: readonly KernelFinding[];
}

/** The flag of V8. */
export const WIDE_FLAG = "experimental-wasm-revectorize";
/**
 * Code of the first tier takes 5 to 8 times as long as optimised code; other work of the machine may make a call seem
 * twice as long as it is.
 */
const OPTIMISED_RATIO = 2.5;
/** Calls that must have been so much faster: one alone may be luck. */
const FAST_CALLS = 3;
/** Wide kernels that V8 has not optimised after so long without progress, as under load, show themselves slow. */
const WIDE_SETTLED_MS = 1000;
/** Kernels of two lanes call their products, which become fast one by one: no ratio tells that the last one has. */
const NARROW_SETTLED_MS = 100;
/** Progress is a call that takes so much less than any before. */
const PROGRESS_RATIO = 0.9;
/** Calls of each form that are timed, in turn; the fastest counts. */
const TIMED_CALLS = 30;
/** Less is not worth leaving the code that has been there for years. */
const SPEEDUP_MIN = 1.1;

/** Compiles, optimises, checks and times the four-lane kernels of a curve. Takes a second, on the calling thread. */
export function tryWideForm(options: TryOptions): FormFinding {
  const { curve, setFlag = setFlagsFromString } = options;
  const built = options.wideModule ?? preparedWideModule(curve);
  const trialMemory = new TrialMemory();
  const { memory } = trialMemory;
  const trials = wideTrials(trialMemory, { curve, module: built }, options.random);
  const { module, call } = pairing(setFlag, () => {
    const compiled = new WebAssembly.Module(built.bytes);
    const calling = callOf(compiled, memory);
    optimise(trials, calling, { now: options.now, settledMs: WIDE_SETTLED_MS });
    return { module: compiled, call: calling };
  });
  const right = new Set(trials.filter((trial) => isRight(trial, call)).map(({ kernel }) => kernel));
  // Loaded only now: kernels of two lanes must not be optimised while the flag is on.
  loadKernels({ memory, curve });
  const narrow = openKernels(memory, { curve });
  const onTwo: KernelCall = (kernel, ...args) => {
    narrow.call(kernel, ...args);
  };
  optimise(trials, onTwo, { now: options.now, settledMs: NARROW_SETTLED_MS });
  const findings = trials.map((trial) => ({
    kernel: trial.kernel,
    isRight: right.has(trial.kernel),
    speedup: right.has(trial.kernel) ? speedup(trial, { call, onTwo }, options.now) : undefined,
  }));
  const kernels = findings.filter((finding) => (finding.speedup ?? 0) >= SPEEDUP_MIN).map(({ kernel }) => kernel);
  return { form: { curve: curve.name, module, kernels }, findings };
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

function preparedWideModule(curve: CurveParameters): WideModule {
  return (preparedProgram(wideModuleName(curve)) as WideModule | undefined) ?? buildWideModule(curve);
}

function callOf(module: WebAssembly.Module, memory: WebAssembly.Memory): KernelCall {
  const exports = new WebAssembly.Instance(module, { env: { memory } }).exports as Record<
    string,
    KernelCall | undefined
  >;
  return (kernel, ...args) => {
    const found = exports[kernel] as ((...args: readonly number[]) => void) | undefined;
    if (found === undefined) throw new TypeError(`there is no kernel ${kernel}`);
    found(...args);
  };
}

/**
 * Calls the kernels in turn, so that V8 compiles one while the others run, until each has become faster, or none has
 * for a while.
 */
function optimise(trials: readonly WideTrial[], call: KernelCall, { now, settledMs }: OptimiseOptions): void {
  let left = trials.map((trial) => {
    trial.prepare();
    // The first call compiles for the first tier.
    trial.run(call);
    const slowMs = Math.min(timeOf(trial, call, now), timeOf(trial, call, now));
    return { trial, slowMs, bestMs: slowMs, fastCalls: 0 };
  });
  let progressMs = now();
  while (left.length > 0 && now() - progressMs < settledMs) {
    for (const each of left) {
      const ms = timeOf(each.trial, call, now);
      if (ms * OPTIMISED_RATIO < each.slowMs) each.fastCalls += 1;
      if (ms >= each.bestMs * PROGRESS_RATIO) continue;
      each.bestMs = ms;
      progressMs = now();
    }
    left = left.filter(({ fastCalls }) => fastCalls < FAST_CALLS);
  }
}

interface OptimiseOptions {
  readonly now: () => number;
  readonly settledMs: number;
}

function isRight(trial: WideTrial, call: KernelCall): boolean {
  trial.prepare();
  try {
    trial.run(call);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return false;
    throw error;
  }
  return trial.isRight();
}

function speedup(
  trial: WideTrial,
  { call, onTwo }: { readonly call: KernelCall; readonly onTwo: KernelCall },
  now: () => number,
): number {
  trial.prepare();
  let [four, two] = [Infinity, Infinity];
  for (let i = 0; i < TIMED_CALLS; i += 1) {
    two = Math.min(two, timeOf(trial, onTwo, now));
    four = Math.min(four, timeOf(trial, call, now));
  }
  return two / four;
}

function timeOf(trial: WideTrial, call: KernelCall, now: () => number): number {
  const startedMs = now();
  trial.run(call);
  return now() - startedMs;
}
