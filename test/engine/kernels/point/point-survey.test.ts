import { describe, expect, it } from "vitest";
import { KERNEL_KINDS } from "../../../support/kernels.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { generatorCoordinates } from "../../../../src/engine/curves/curve-parameters.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../../../src/engine/kernels/kernels.js";

const COUNT = 7;

describe.each(KERNEL_KINDS)("the test of points on %s kernels", (preferred) => {
  const kernels = loadKernels({ pages: 4, preferred });

  it.each(["g1", "g2"] as const)("finds a point of %s that is not on its curve, wherever it stands", (group) => {
    const { pointBytes } = kernels[group];
    const coordinates = generatorCoordinates(BN254, group);
    const points = KERNEL_RESERVED_BYTES;
    const scratch = points + COUNT * pointBytes;
    const fill = (): void => {
      for (let i = 0; i < COUNT; i += 1) kernels.writePoint(points + i * pointBytes, coordinates, scratch);
    };
    fill();
    for (let count = 1; count <= COUNT; count += 1)
      expect(kernels.callOne(`${group}_survey`, points, count)).toBe(count);
    for (let bad = 0; bad < COUNT; bad += 1) {
      for (let changed = 0; changed < coordinates.length; changed += 1) {
        fill();
        const wrong = coordinates.map((value, i) => (i === changed ? value + 1n : value));
        kernels.writePoint(points + bad * pointBytes, wrong, scratch);
        const found = kernels.callOne(`${group}_survey`, points, COUNT);
        expect(found, `point ${bad}`).toBe(bad - (bad % kernels.fq.lanes));
      }
    }
  });
});
