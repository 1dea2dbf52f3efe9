/** What is tried on four lanes (try-form.ts): kernels of a curve's sums and transforms, and those of its pairing. */
import { BN254 } from "../../curves/bn254.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { preparedProgram } from "../../prepared/prepared-programs.js";
import { loadKernels, openKernels } from "../kernels.js";
import { compiledPairing } from "../pairing/pairing.js";
import { PAIRING_PAGES } from "../pairing/pairing-memory.js";
import { pairingPlanOf } from "../pairing/pairing-plan.js";
import { pairingTrials } from "./pairing-trials.js";
import { TrialMemory } from "./trial-memory.js";
import type { KernelCall, RandomBelow, WideTrial } from "./trial-memory.js";
import type { WideKind } from "./wide-form.js";
import { buildWideModule, wideModuleName } from "./wide-module.js";
import type { WideModule } from "./wide-module.js";
import { buildWidePairingModule, widePairingModuleName } from "./wide-pairing-module.js";
import type { WidePairingModule } from "./wide-pairing-module.js";
import { wideTrials } from "./wide-trials.js";

/** A module on four lanes, with what tells whether it is right. */
export interface FormCandidate {
  readonly curve: string;
  readonly kind: WideKind;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly memory: WebAssembly.Memory;
  readonly trials: readonly WideTrial[];
  /** Loads the same kernels on two lanes, which must not be called while V8 pairs instructions. */
  readonly openNarrow: () => KernelCall;
}

/** Modules in place of a curve's: for tests, which spoil a kernel. */
export interface CandidateModules {
  readonly kernels?: WideModule;
  readonly pairing?: WidePairingModule;
}

/** The curve of most provers, whose pairing is tried at every start; another one takes 0.6 to 0.9 s more. */
export const USUAL_PAIRINGS: readonly CurveParameters[] = [BN254];

/** Returns what is tried of a curve, with its pairing or without. */
export function formCandidates(
  curve: CurveParameters,
  random: RandomBelow,
  { modules = {}, hasPairing }: { readonly modules?: CandidateModules | undefined; readonly hasPairing: boolean },
): FormCandidate[] {
  const kernels = kernelCandidate(curve, random, modules.kernels);
  return hasPairing ? [kernels, pairingCandidate(curve, random, modules.pairing)] : [kernels];
}

/** Returns what a curve has for its sums and transforms. */
export function kernelCandidate(curve: CurveParameters, random: RandomBelow, given?: WideModule): FormCandidate {
  const module = given ?? (preparedProgram(wideModuleName(curve)) as WideModule | undefined) ?? buildWideModule(curve);
  const trialMemory = new TrialMemory();
  const { memory } = trialMemory;
  return {
    curve: curve.name,
    kind: "kernels",
    bytes: module.bytes,
    memory,
    trials: wideTrials(trialMemory, { curve, module }, random),
    openNarrow: () => {
      loadKernels({ memory, curve });
      const narrow = openKernels(memory, { curve });
      return (kernel, ...args) => {
        narrow.call(kernel, ...args);
      };
    },
  };
}

/** Returns what a curve has for its pairing, tried or not. */
export function pairingCandidate(
  curve: CurveParameters,
  random: RandomBelow,
  given?: WidePairingModule,
): FormCandidate {
  const plan = pairingPlanOf(curve);
  const { bytes } =
    given ??
    (preparedProgram(widePairingModuleName(curve)) as WidePairingModule | undefined) ??
    buildWidePairingModule(plan, { pagesMax: PAIRING_PAGES });
  const { layout, module } = compiledPairing(plan, "fma");
  const trialMemory = new TrialMemory({ pages: PAIRING_PAGES, reservedBytes: layout.reservedBytes });
  const { memory } = trialMemory;
  return {
    curve: curve.name,
    kind: "pairing",
    bytes,
    memory,
    trials: pairingTrials(trialMemory, { curve, layout }, random),
    openNarrow: () => callOf(module, memory),
  };
}

/** Returns a call of a module's kernels on a memory. */
export function callOf(module: WebAssembly.Module, memory: WebAssembly.Memory): KernelCall {
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
