/**
 * Finds out whether the four-lane forms of curves' kernels are right and faster here. V8 pairs 128-bit instructions
 * while its flag is on, in whatever it optimises then: so the flag is on only while the wide modules are called until
 * they are optimised, once for all curves, and nothing else of WebAssembly may run in the process meanwhile. Code that
 * was optimised stays as it is, and threads that are given the modules have it at once.
 */
import { setFlagsFromString } from "node:v8";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { hasFusedMultiplyAdd } from "../wasm/features.js";
import { callOf, formCandidates, kernelCandidate, USUAL_PAIRINGS } from "./form-candidates.js";
import type { CandidateModules, FormCandidate } from "./form-candidates.js";
import { optimise, speedup } from "./optimise-trials.js";
import type { BothForms } from "./optimise-trials.js";
import type { KernelCall, RandomBelow, WideTrial } from "./trial-memory.js";
import type { WideForm } from "./wide-form.js";

interface FormOptions {
  readonly random: RandomBelow;
  /** Milliseconds, such as `performance.now`. */
  readonly now: () => number;
  /** Sets a flag of V8, given as on the command line; for the process, unless given. */
  readonly setFlag?: (flag: string) => void;
  /** The modules to try in place of a curve's: for tests, which spoil a kernel. */
  readonly modulesOf?: (curve: CurveParameters) => CandidateModules;
}

interface TryOptions extends FormOptions {
  readonly curves: readonly CurveParameters[];
  /** Those of them whose pairing is tried as well; the usual ones unless given. */
  readonly pairings?: readonly CurveParameters[] | undefined;
}

/** Kernels of a curve's sums and transforms by name. */
interface CurveKernelNames {
  readonly curve: CurveParameters;
  readonly kernels: readonly string[];
}

/** What was found of one kernel. */
export interface KernelFinding {
  readonly curve: string;
  readonly kernel: string;
  readonly isRight: boolean;
  /** How many times as fast four lanes are as two; undefined where they are not right. */
  readonly speedup: number | undefined;
}

/** What was found of a module's kernels. */
export interface FormFinding {
  readonly form: WideForm;
  readonly findings: readonly KernelFinding[];
}

/** A candidate whose kernels V8 has optimised on four lanes. */
interface Optimised {
  readonly candidate: FormCandidate;
  readonly module: WebAssembly.Module;
  readonly onFour: KernelCall;
}

/** The flag of V8. */
export const WIDE_FLAG = "experimental-wasm-revectorize";
/** Wide kernels that V8 has not optimised after so long without progress, as under load, show themselves slow. */
const WIDE_LIMITS = { settledMs: 1000, quietRounds: 100 } as const;
/** As V8 optimises them at its leisure, kernels on two lanes need not show that they are fast. */
const NARROW_LIMITS = { settledMs: 100, quietRounds: 30 } as const;
/** Less is not worth leaving the code that has been there for years. */
const SPEEDUP_MIN = 1.1;

/**
 * Compiles, optimises, checks and times what curves have on four lanes, on the calling thread. Sums and transforms of a
 * curve take some 0.4 s, a pairing as long.
 */
export function tryWideForms(options: TryOptions): FormFinding[] {
  const { curves, pairings = USUAL_PAIRINGS, random, now, modulesOf } = options;
  const wide = openOptimised(
    curves.flatMap((curve) =>
      formCandidates(curve, random, { modules: modulesOf?.(curve), hasPairing: pairings.includes(curve) }),
    ),
    options,
  );
  // Loaded only now: kernels of two lanes must not be optimised while the flag is on.
  const both = wide.map((each) => ({ ...each, onTwo: each.candidate.openNarrow() }));
  const right = new Set(
    both.flatMap(({ candidate, ...calls }) => candidate.trials.filter((trial) => isRight(trial, calls))),
  );
  optimise(
    both.flatMap(({ candidate, onTwo }) =>
      candidate.trials.map((trial) => ({ trial, call: onTwo, lanes: 2 }) as const),
    ),
    { now, ...NARROW_LIMITS },
  );
  return both.map(({ candidate: { curve, kind, trials }, module, ...calls }) => {
    const findings = trials.map((trial) => ({
      curve,
      kernel: trial.kernel,
      isRight: right.has(trial),
      speedup: right.has(trial) ? speedup(trial, calls, now) : undefined,
    }));
    const kernels = findings.filter((finding) => (finding.speedup ?? 0) >= SPEEDUP_MIN).map(({ kernel }) => kernel);
    return { form: { curve, kind, module, kernels }, findings };
  });
}

/**
 * Makes in this process what another process of the same machine and Node has found right and faster of a curve's sums
 * and transforms: compiles, optimises and checks the kernels, and times nothing. Undefined when one of them is wrong
 * here.
 */
export function makeWideForm({ curve, kernels }: CurveKernelNames, options: FormOptions): WideForm | undefined {
  // Asked first, for it lets older versions of Node compile the modules.
  if (!hasFusedMultiplyAdd()) return undefined;
  const all = kernelCandidate(curve, options.random, options.modulesOf?.(curve).kernels);
  const trials = all.trials.filter(({ kernel }) => kernels.includes(kernel));
  const [wide] = openOptimised([{ ...all, trials }], options);
  if (wide === undefined) return undefined;
  const calls = { onFour: wide.onFour, onTwo: all.openNarrow() };
  if (!trials.every((trial) => isRight(trial, calls))) return undefined;
  return { curve: all.curve, kind: all.kind, module: wide.module, kernels };
}

/** Compiles the modules and has V8 pair their kernels' instructions. */
function openOptimised(
  candidates: readonly FormCandidate[],
  { setFlag = setFlagsFromString, now }: FormOptions,
): Optimised[] {
  return pairing(setFlag, () => {
    const opened = candidates.map((candidate) => {
      const module = new WebAssembly.Module(candidate.bytes);
      return { candidate, module, onFour: callOf(module, candidate.memory) };
    });
    optimise(
      opened.flatMap(({ candidate, onFour }) =>
        candidate.trials.map((trial) => ({ trial, call: onFour, lanes: 4 }) as const),
      ),
      { now, ...WIDE_LIMITS },
    );
    return opened;
  });
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

function isRight(trial: WideTrial, { onFour, onTwo }: BothForms): boolean {
  trial.prepare();
  try {
    trial.run(onFour, 4);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return false;
    throw error;
  }
  return trial.isRight(onTwo);
}
