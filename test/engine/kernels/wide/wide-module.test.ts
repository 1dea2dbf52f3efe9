/** The four-lane kernels as any V8 runs them: what pairing adds is speed alone. */
import { describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { loadKernels } from "../../../../src/engine/kernels/kernels.js";
import { hasFusedMultiplyAdd } from "../../../../src/engine/kernels/wasm/features.js";
import { scratchBytesFor } from "../../../../src/engine/kernels/wasm/scratch-bytes.js";
import { TrialMemory } from "../../../../src/engine/kernels/wide/trial-memory.js";
import type { KernelCall } from "../../../../src/engine/kernels/wide/trial-memory.js";
import { buildWideModule } from "../../../../src/engine/kernels/wide/wide-module.js";
import type { WideModule } from "../../../../src/engine/kernels/wide/wide-module.js";
import { wideTrials } from "../../../../src/engine/kernels/wide/wide-trials.js";
import { bigBelow } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";
import { WIDE_KERNELS, spoiledModule } from "../../../support/wide.js";

const random = seededRandom();

/** The kernels that answer as the integers do. */
function rightKernels(module: WideModule): string[] {
  const memory = new TrialMemory();
  const trials = wideTrials(memory, { curve: BN254, module }, (limit) => bigBelow(random, limit));
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

describe("the wide module, seed " + String(random.seed), () => {
  it("answers as the integers do for random and extreme inputs, or is refused without fused multiply-add", () => {
    if (!hasFusedMultiplyAdd()) {
      expect(() => new WebAssembly.Module(buildWideModule(BN254).bytes)).toThrow(WebAssembly.CompileError);
      return;
    }
    expect(rightKernels(buildWideModule(BN254))).toEqual([...WIDE_KERNELS]);
  });

  it("is caught when one lane of a kernel is wrong", () => {
    if (!hasFusedMultiplyAdd()) {
      expect(loadKernels().kind).toBe("integer");
      return;
    }
    expect(rightKernels(spoiledModule())).toEqual(["g1_add_batch", "g2_add_batch"]);
  });

  it.each(["g1", "g2"] as const)("adds in the scratch that the kernels on two lanes give, in %s", (group) => {
    const kernels = loadKernels({ pages: 1 });
    const { batchScratch } = buildWideModule(BN254);
    const given = hasFusedMultiplyAdd() ? [4, 5, 8, 36, 1000, 4096] : [];
    for (const entries of given)
      expect(scratchBytesFor(kernels[group].batchScratch, entries)).toBeGreaterThanOrEqual(
        scratchBytesFor(batchScratch[group], entries),
      );
  });
});
