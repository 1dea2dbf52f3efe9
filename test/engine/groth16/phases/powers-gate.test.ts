/** The gate of keys from powers of tau: it passes sound ones, ours and snarkjs', and finds one wrong point of any. */
import { beforeAll, describe, expect, it } from "vitest";
import { makePowersOfTau } from "../../../../bench/full-powers-of-tau.js";
import { primeCurve } from "../../../../src/engine/backends/snarkjs.js";
import type { CurveProgram } from "../../../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import type { CurveKernels } from "../../../../src/engine/curves/curve-kernels.js";
import { encodeG1, encodeG2 } from "../../../../src/engine/curves/points.js";
import { findFaultAgainstPowers, findTranscriptFault } from "../../../../src/engine/groth16/phases/powers-gate.js";
import { setupFromPowers } from "../../../../src/engine/groth16/phases/setup-from-powers.js";
import { readProvingKey } from "../../../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../../../src/engine/groth16/setup.js";
import { openPowersOfTau } from "../../../../src/engine/powers-of-tau/lagrange-points.js";
import type { PowersOfTau } from "../../../../src/engine/powers-of-tau/lagrange-points.js";
import { rangeOfBytes } from "../../../../src/engine/powers-of-tau/range-file.js";
import { loadReferenceKernels } from "../../../../src/engine/reference/reference-kernels.js";
import { chainFixture, mixedFixture } from "../../../support/groth16-fixtures.js";
import { seededRandom } from "../../../support/seeded.js";

const POWER = 5;

describe("a key against powers of tau", () => {
  const random = seededRandom();
  const { r1cs } = mixedFixture(20, random);
  let kernels: CurveKernels;
  let program: CurveProgram;
  let powers: PowersOfTau;
  let zkey: Uint8Array;

  beforeAll(async () => {
    kernels = await loadReferenceKernels(BN254);
    program = await primeCurve();
    powers = openPowersOfTau(rangeOfBytes(await makePowersOfTau(POWER, { isPrepared: true })));
    zkey = Uint8Array.from(await setupFromPowers(r1cs, powers));
  });

  const faultOf = (bytes: Uint8Array, of = powers, circuit = r1cs): string | undefined =>
    findFaultAgainstPowers(kernels, program, { key: readProvingKey(bytes), r1cs: circuit, powers: of });

  it("passes", () => {
    expect(faultOf(zkey), `seed ${random.seed}`).toBeUndefined();
    expect(findTranscriptFault(kernels, readProvingKey(zkey))).toBeUndefined();
  });

  it("finds one other point in every section", () => {
    const g1 = encodeG1(kernels.combineG1([{ point: BN254.generatorG1, scalar: 12345n }])!, BN254);
    const g2 = encodeG2(kernels.combineG2([{ point: BN254.generatorG2, scalar: 12345n }])!, BN254);
    const key = readProvingKey(zkey);
    for (const [name, section, point] of [
      ["A", key.aPoints, g1],
      ["B1", key.b1Points, g1],
      ["B2", key.b2Points, g2],
      ["IC", key.icPoints, g1],
      ["C", key.cPoints, g1],
      ["H", key.hPoints, g1],
    ] as const) {
      const index = random.below(section.length / point.length);
      const changed = Uint8Array.from(zkey);
      changed.set(point, section.byteOffset - zkey.byteOffset + index * point.length);
      expect(faultOf(changed), `${name} ${index}, seed ${random.seed}`).toContain(`a point of ${name} does not follow`);
    }
  });

  it("finds a key of another ceremony, of another circuit, of a secret tau, and without a contribution", async () => {
    const other = openPowersOfTau(rangeOfBytes(await makePowersOfTau(POWER, { isPrepared: false })));
    expect(faultOf(zkey, other)).toContain("alpha is not that");
    const circuit = { ...r1cs, constraints: { ...r1cs.constraints, a: r1cs.constraints.b } };
    expect(faultOf(zkey, powers, circuit)).toContain("does not follow from the circuit");
    const chain = chainFixture(6).r1cs;
    const secret = Uint8Array.from((await setupGroth16(chain)).zkey);
    expect(faultOf(secret, powers, chain)).toContain("alpha is not that");
    expect(findTranscriptFault(kernels, readProvingKey(secret))).toBe("phase 2 has no contribution");
    const small = openPowersOfTau(rangeOfBytes(await makePowersOfTau(2, { isPrepared: true })));
    expect(faultOf(zkey, small)).toContain("fewer");
  });

  it("finds a transcript that does not lead to the key", () => {
    const key = readProvingKey(zkey);
    const changed = Uint8Array.from(zkey);
    const at = key.contributions.byteOffset - zkey.byteOffset;
    changed[at] = changed[at]! ^ 1;
    expect(findTranscriptFault(kernels, readProvingKey(changed))).toContain("contribution 1 does not answer");
  });
});
