/**
 * Finds out whether the four-lane forms of curves' kernels are right and faster here. V8 pairs 128-bit instructions
 * while its flag is on, in whatever it optimises then: so the flag is on only while the wide modules are called until
 * they are optimised, once for all curves, and nothing else of WebAssembly may run in the process meanwhile. Code that
 * was optimised stays as it is, and threads that are given the modules have it at once.
 */
import { setFlagsFromString } from "node:v8";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { loadKernels, openKernels } from "../kernels.js";
import { preparedProgram } from "../../prepared/prepared-programs.js";
import { hasFusedMultiplyAdd } from "../wasm/features.js";
import { optimise, speedup } from "./optimise-trials.js";
import { TrialMemory } from "./trial-memory.js";
import type { KernelCall, RandomBelow, WideTrial } from "./trial-memory.js";
import type { WideForm } from "./wide-form.js";
import { buildWideModule, wideModuleName } from "./wide-module.js";
import type { WideModule } from "./wide-module.js";
import { wideTrials } from "./wide-trials.js";

interface FormOptions {
  readonly random: RandomBelow;
  /** Milliseconds, such as `performance.now`. */
  readonly now: () => number;
  /** Sets a flag of V8, given as on the command line; for the process, unless given. */
  readonly setFlag?: (flag: string) => void;
  /** The module to try in place of a curve's: for tests, which spoil a kernel. */
  readonly wideModuleOf?: (curve: CurveParameters) => WideModule;
}

interface TryOptions extends FormOptions {
  readonly curves: readonly CurveParameters[];
}

/** Kernels of a curve by name. */
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

/** What was found of a curve's kernels. */
export interface FormFinding {
  readonly form: WideForm;
  readonly findings: readonly KernelFinding[];
}

/** The trials of a curve, on a memory of their own. */
interface CurveTrials {
  readonly curve: CurveParameters;
  readonly built: WideModule;
  readonly memory: WebAssembly.Memory;
  readonly trials: readonly WideTrial[];
}

/** The same with the kernels to try. */
interface WideTrials extends CurveTrials {
  readonly module: WebAssembly.Module;
  readonly onFour: KernelCall;
}

/** The flag of V8. */
export const WIDE_FLAG = "experimental-wasm-revectorize";
/** Wide kernels that V8 has not optimised after so long without progress, as under load, show themselves slow. */
const WIDE_SETTLED_MS = 1000;
/** Kernels of two lanes call their products, which become fast one by one: no ratio tells that the last one has. */
const NARROW_SETTLED_MS = 100;
/** Less is not worth leaving the code that has been there for years. */
const SPEEDUP_MIN = 1.1;

/**
 * Compiles, optimises, checks and times the four-lane kernels of curves; each curve's take some 0.3 s, on the calling
 * thread.
 */
export function tryWideForms(options: TryOptions): FormFinding[] {
  const { now } = options;
  const wide = openOptimised(
    options.curves.map((curve) => prepareTrials(curve, options)),
    options,
  );
  const right = new Set(wide.flatMap(({ trials, onFour }) => trials.filter((trial) => isRight(trial, onFour))));
  // Loaded only now: kernels of two lanes must not be optimised while the flag is on.
  const both = wide.map((each) => ({ ...each, onTwo: openNarrow(each) }));
  const calls = both.flatMap(({ trials, onTwo }) => trials.map((trial) => ({ trial, call: onTwo })));
  optimise(calls, { now, settledMs: NARROW_SETTLED_MS });
  return both.map(({ curve, module, trials, onFour, onTwo }) => {
    const findings = trials.map((trial) => ({
      curve: curve.name,
      kernel: trial.kernel,
      isRight: right.has(trial),
      speedup: right.has(trial) ? speedup(trial, { fast: onFour, slow: onTwo }, now) : undefined,
    }));
    const kernels = findings.filter((finding) => (finding.speedup ?? 0) >= SPEEDUP_MIN).map(({ kernel }) => kernel);
    return { form: { curve: curve.name, module, kernels }, findings };
  });
}

/**
 * Makes in this process what another process of the same machine and Node has found right and faster: compiles,
 * optimises and checks the kernels, and times nothing. Undefined when one of them is wrong here.
 */
export function makeWideForm({ curve, kernels }: CurveKernelNames, options: FormOptions): WideForm | undefined {
  // Asked first, for it lets older versions of Node compile the modules.
  if (!hasFusedMultiplyAdd()) return undefined;
  const prepared = prepareTrials(curve, options);
  const trials = prepared.trials.filter(({ kernel }) => kernels.includes(kernel));
  const [wide] = openOptimised([{ ...prepared, trials }], options);
  if (wide?.trials.every((trial) => isRight(trial, wide.onFour)) !== true) return undefined;
  return { curve: curve.name, module: wide.module, kernels };
}

/** Compiles the modules and has V8 pair their kernels' instructions. */
function openOptimised(
  prepared: readonly CurveTrials[],
  { setFlag = setFlagsFromString, now }: FormOptions,
): WideTrials[] {
  return pairing(setFlag, () => {
    const opened = prepared.map(openWide);
    const calls = opened.flatMap(({ trials, onFour }) => trials.map((trial) => ({ trial, call: onFour })));
    optimise(calls, { now, settledMs: WIDE_SETTLED_MS });
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

function prepareTrials(
  curve: CurveParameters,
  { wideModuleOf = preparedWideModule, random }: FormOptions,
): CurveTrials {
  const built = wideModuleOf(curve);
  const trialMemory = new TrialMemory();
  const trials = wideTrials(trialMemory, { curve, module: built }, random);
  return { curve, built, memory: trialMemory.memory, trials };
}

function preparedWideModule(curve: CurveParameters): WideModule {
  return (preparedProgram(wideModuleName(curve)) as WideModule | undefined) ?? buildWideModule(curve);
}

function openWide(trials: CurveTrials): WideTrials {
  const module = new WebAssembly.Module(trials.built.bytes);
  const { exports } = new WebAssembly.Instance(module, { env: { memory: trials.memory } });
  const kernels = exports as Record<string, KernelCall | undefined>;
  const onFour: KernelCall = (kernel, ...args) => {
    const found = kernels[kernel] as ((...args: readonly number[]) => void) | undefined;
    if (found === undefined) throw new TypeError(`there is no kernel ${kernel}`);
    found(...args);
  };
  return { ...trials, module, onFour };
}

function openNarrow({ curve, memory }: CurveTrials): KernelCall {
  loadKernels({ memory, curve });
  const narrow = openKernels(memory, { curve });
  return (kernel, ...args) => {
    narrow.call(kernel, ...args);
  };
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
