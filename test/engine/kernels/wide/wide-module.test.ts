/** The four-lane kernels as any V8 runs them: what pairing adds is speed alone. */
import { describe, expect, it } from "vitest";
import { loadKernels } from "../../../../src/engine/kernels/kernels.js";
import { hasFusedMultiplyAdd } from "../../../../src/engine/kernels/wasm/features.js";
import { scratchBytesFor } from "../../../../src/engine/kernels/wasm/scratch-bytes.js";
import { WIDE_CURVES } from "../../../../src/engine/kernels/wide/choose-form.js";
import { callOf, kernelCandidate, pairingCandidate } from "../../../../src/engine/kernels/wide/form-candidates.js";
import type { FormCandidate } from "../../../../src/engine/kernels/wide/form-candidates.js";
import type { RandomBelow } from "../../../../src/engine/kernels/wide/trial-memory.js";
import { buildWideModule } from "../../../../src/engine/kernels/wide/wide-module.js";
import { bigBelow } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";
import { WIDE_KERNELS, WIDE_PAIRING_KERNELS, spoiledModule, spoiledPairing } from "../../../support/wide.js";

const random = seededRandom();

const below: RandomBelow = (limit) => bigBelow(random, limit);

/** The kernels that answer as the integers do, or as those on two lanes. */
function rightKernels({ bytes, memory, trials, openNarrow }: FormCandidate): string[] {
  const [onFour, onTwo] = [callOf(new WebAssembly.Module(bytes), memory), openNarrow()];
  return trials
    .filter((trial) => {
      trial.prepare();
      trial.run(onFour, 4);
      return trial.isRight(onTwo);
    })
    .map(({ kernel }) => kernel);
}

describe.each(WIDE_CURVES)("the wide module of $name, seed " + String(random.seed), (curve) => {
  it("answers as the integers do for random and extreme inputs, or is refused without fused multiply-add", () => {
    if (!hasFusedMultiplyAdd()) {
      expect(() => new WebAssembly.Module(buildWideModule(curve).bytes)).toThrow(WebAssembly.CompileError);
      return;
    }
    expect(rightKernels(kernelCandidate(curve, below))).toEqual([...WIDE_KERNELS]);
    expect(rightKernels(pairingCandidate(curve, below))).toEqual([...WIDE_PAIRING_KERNELS]);
  });

  it("is caught when one lane of a kernel is wrong", () => {
    if (!hasFusedMultiplyAdd()) {
      expect(loadKernels({ curve }).kind).toBe("integer");
      return;
    }
    expect(rightKernels(kernelCandidate(curve, below, spoiledModule(curve)))).toEqual(["g1_add_batch", "g2_add_batch"]);
    expect(rightKernels(pairingCandidate(curve, below, spoiledPairing(curve)))).toEqual([
      "g1_lane_accumulate",
      "fq_root_powers",
    ]);
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
