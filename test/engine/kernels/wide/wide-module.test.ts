/** The four-lane kernels as any V8 runs them: what pairing adds is speed alone. */
import { describe, expect, it } from "vitest";
import type { CurveParameters } from "../../../../src/engine/curves/curve-parameters.js";
import { loadKernels } from "../../../../src/engine/kernels/kernels.js";
import { hasFusedMultiplyAdd } from "../../../../src/engine/kernels/wasm/features.js";
import { scratchBytesFor } from "../../../../src/engine/kernels/wasm/scratch-bytes.js";
import { TrialMemory } from "../../../../src/engine/kernels/wide/trial-memory.js";
import { WIDE_CURVES } from "../../../../src/engine/kernels/wide/choose-form.js";
import type { KernelCall } from "../../../../src/engine/kernels/wide/trial-memory.js";
import { buildWideModule } from "../../../../src/engine/kernels/wide/wide-module.js";
import type { WideModule } from "../../../../src/engine/kernels/wide/wide-module.js";
import { wideTrials } from "../../../../src/engine/kernels/wide/wide-trials.js";
import { bigBelow } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";
import { WIDE_KERNELS, spoiledModule } from "../../../support/wide.js";

const random = seededRandom();

/** The kernels that answer as the integers do. */
function rightKernels(curve: CurveParameters, module: WideModule): string[] {
  const memory = new TrialMemory();
  const trials = wideTrials(memory, { curve, module }, (limit) => bigBelow(random, limit));
  const env = { memory: memory.memory };
  const exports = new WebAssembly.Instance(new WebAssembly.Module(module.bytes), { env }).exports as Record<
    string,
    (...args: readonly number[]) => void
  >;
  const call: KernelCall = (kernel, ...args) => {
    exports[kernel]!(...args);
  };
  return trials
    .filter((trial) => {
      trial.prepare();
      trial.run(call);
      return trial.isRight();
    })
    .map(({ kernel }) => kernel);
}

describe.each(WIDE_CURVES)("the wide module of $name, seed " + String(random.seed), (curve) => {
  it("answers as the integers do for random and extreme inputs, or is refused without fused multiply-add", () => {
    if (!hasFusedMultiplyAdd()) {
      expect(() => new WebAssembly.Module(buildWideModule(curve).bytes)).toThrow(WebAssembly.CompileError);
      return;
    }
    expect(rightKernels(curve, buildWideModule(curve))).toEqual([...WIDE_KERNELS]);
  });

  it("is caught when one lane of a kernel is wrong", () => {
    if (!hasFusedMultiplyAdd()) {
      expect(loadKernels({ curve }).kind).toBe("integer");
      return;
    }
    expect(rightKernels(curve, spoiledModule(curve))).toEqual(["g1_add_batch", "g2_add_batch"]);
  });

  it.each(["g1", "g2"] as const)("adds in the scratch that the kernels on two lanes give, in %s", (group) => {
    const kernels = loadKernels({ curve, pages: 1 });
    const { batchScratch } = buildWideModule(curve);
    const given = hasFusedMultiplyAdd() ? [4, 5, 8, 36, 1000, 4096] : [];
    for (const entries of given)
      expect(scratchBytesFor(kernels[group].batchScratch, entries)).toBeGreaterThanOrEqual(
        scratchBytesFor(batchScratch[group], entries),
      );
  });
});
