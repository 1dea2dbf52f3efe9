/** Lagrange points that are made of the powers of an unprepared file are those of snarkjs' prepared one. */
import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { CurveKernels } from "../../../src/engine/curves/curve-kernels.js";
import {
  lagrangePoints,
  oddLagrangePoints,
  openPowersOfTau,
} from "../../../src/engine/powers-of-tau/lagrange-points.js";
import { rangeOfBytes } from "../../../src/engine/powers-of-tau/range-file.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { snarkjsPowersOfTau } from "../../support/powers-of-tau.js";
import type { SnarkjsCeremony } from "../../support/powers-of-tau.js";

const POWER = 4;

describe("Lagrange points", () => {
  let kernels: CurveKernels;
  let ceremony: SnarkjsCeremony;

  beforeAll(async () => {
    kernels = await loadReferenceKernels(BN254);
    ceremony = await snarkjsPowersOfTau(POWER);
  });

  it.each(["tauG1", "alphaTauG1", "betaTauG1", "tauG2"] as const)(
    "of %s are snarkjs' for every domain",
    async (name) => {
      const [plain, prepared] = [ceremony.contributed, ceremony.prepared].map((file) =>
        openPowersOfTau(rangeOfBytes(file)),
      );
      for (let domainPower = 0; domainPower <= POWER; domainPower += 1)
        expect(Buffer.from(await lagrangePoints(kernels, plain!, { name, domainPower }))).toEqual(
          Buffer.from(await lagrangePoints(kernels, prepared!, { name, domainPower })),
        );
    },
  );

  it("of the odd places are snarkjs' for every domain, the one above the file's own too", async () => {
    const [plain, prepared] = [ceremony.contributed, ceremony.prepared].map((file) =>
      openPowersOfTau(rangeOfBytes(file)),
    );
    for (let domainPower = 1; domainPower <= POWER; domainPower += 1)
      expect(Buffer.from(await oddLagrangePoints(kernels, plain!, domainPower))).toEqual(
        Buffer.from(await oddLagrangePoints(kernels, prepared!, domainPower)),
      );
  });
});
