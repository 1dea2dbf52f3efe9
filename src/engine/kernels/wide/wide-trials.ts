/** Calls of the four-lane kernels on known inputs: to have V8 optimise them, to check them, to time them. */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { additionTrial } from "./addition-trial.js";
import { transformTrials } from "./transform-trials.js";
import type { RandomBelow, TrialMemory, WideTrial } from "./trial-memory.js";
import type { WideModule } from "./wide-module.js";

/** Returns the trials of all kernels of a curve's wide module. */
export function wideTrials(
  memory: TrialMemory,
  { curve, module }: { readonly curve: CurveParameters; readonly module: WideModule },
  random: RandomBelow,
): WideTrial[] {
  const groups = ["g1", "g2"] as const;
  return [
    ...groups.map((group) => additionTrial(memory, { group, curve, scratch: module.batchScratch[group] }, random)),
    ...transformTrials(memory, curve, random),
  ];
}
