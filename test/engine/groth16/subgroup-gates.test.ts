import { bls12_381 } from "@noble/curves/bls12-381.js";
import { beforeAll, describe, expect, it } from "vitest";
import { primeCurve } from "../../../src/engine/backends/snarkjs.js";
import type { CurveProgram } from "../../../src/engine/backends/snarkjs.js";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { CurveKernels, PairingKernels } from "../../../src/engine/curves/curve-kernels.js";
import { encodeG1, encodeG2 } from "../../../src/engine/curves/points.js";
import { solidityVerifier, verifyingKeyToJson } from "../../../src/engine/encoding/groth16-verifying-key.js";
import { checkKey } from "../../../src/engine/groth16/gates.js";
import type { GateResult } from "../../../src/engine/groth16/gates.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { ProvingKeyFormatError, readProvingKey, verifyingKeyOf } from "../../../src/engine/groth16/proving-key.js";
import type { Groth16ProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { areAllInSubgroup } from "../../../src/engine/groth16/section-membership.js";
import { setupGroth16 } from "../../../src/engine/groth16/setup.js";
import type { SetupResult } from "../../../src/engine/groth16/setup.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { chainFixture, seededRandom } from "../../support/groth16-fixtures.js";
import { pointOfOrder3, pointOfOrder13 } from "../../support/small-order-points.js";

const curve = BLS12_381;
const fixture = chainFixture(40, 7n, curve);
const G1 = bls12_381.G1.Point,
  G2 = bls12_381.G2.Point;

/** The point of a section plus one of small order, in the section's form. */
function moved(section: Uint8Array, index: number, group: "G1" | "G2"): Uint8Array {
  const bytes = 2 * (group === "G1" ? 48 : 96);
  const montgomery = (at: number): bigint =>
    BigInt(`0x${Buffer.from(section.slice(index * bytes + at, index * bytes + at + 48).reverse()).toString("hex")}`);
  const radixInverse = bls12_381.fields.Fp.inv(2n ** 384n);
  const coordinates = Array.from({ length: bytes / 48 }, (_, i) => (montgomery(48 * i) * radixInverse) % curve.q);
  const [x0 = 0n, x1 = 0n, y0 = 0n, y1 = 0n] = coordinates;
  if (group === "G1") {
    const { x, y } = G1.fromAffine({ x: x0, y: x1 }).add(pointOfOrder3()).toAffine();
    return encodeG1({ x, y }, curve);
  }
  const { x, y } = G2.fromAffine({ x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } })
    .add(pointOfOrder13())
    .toAffine();
  return encodeG2({ x, y }, curve);
}

describe("setup gates on BLS12-381", () => {
  let kernels: CurveKernels, program: CurveProgram, setup: SetupResult;
  beforeAll(async () => {
    kernels = await loadReferenceKernels(curve);
    program = await primeCurve(curve.name);
    setup = await setupGroth16(fixture.r1cs);
  });

  const run = (zkey: Uint8Array): GateResult => {
    const key = readProvingKey(zkey);
    return checkKey(kernels, program, { key, verifyingKey: verifyingKeyOf(key), r1cs: fixture.r1cs });
  };

  it("pass a fresh key", () => {
    expect(run(setup.zkey)).toMatchObject({ ok: true });
  });

  it.each([
    ["A", "G1", (key: Groth16ProvingKey) => key.aPoints],
    ["B1", "G1", (key: Groth16ProvingKey) => key.b1Points],
    ["B2", "G2", (key: Groth16ProvingKey) => key.b2Points],
    ["C", "G1", (key: Groth16ProvingKey) => key.cPoints],
    ["H", "G1", (key: Groth16ProvingKey) => key.hPoints],
  ] as const)("stop a key with one point of %s outside %s, which no pairing notices", (name, group, sectionOf) => {
    const copy = Uint8Array.from(setup.zkey);
    const section = sectionOf(readProvingKey(copy));
    const pointBytes = group === "G1" ? 96 : 192;
    const index = [...Array(section.length / pointBytes).keys()].findLast((i) =>
      section.subarray(i * pointBytes, (i + 1) * pointBytes).some((byte) => byte !== 0),
    )!;
    section.set(moved(section, index, group), index * pointBytes);
    expect(run(copy)).toEqual({
      ok: false,
      gate: "points",
      message: `a point of ${name} is not in the subgroup ${group}`,
    });
  });

  it("stop a key whose alpha, beta, gamma or delta is outside the subgroups", () => {
    // Magic, version, count; head and content of the protocol section; head of the header section; q, r, counts.
    const start = 12 + 12 + 4 + 12 + 4 + 48 + 4 + 32 + 12;
    const places = [
      [0, "G1"],
      [96, "G1"],
      [192, "G2"],
      [384, "G2"],
      [576, "G1"],
      [672, "G2"],
    ] as const;
    for (const [offset, group] of places) {
      const copy = Uint8Array.from(setup.zkey);
      copy.set(moved(copy.subarray(start + offset), 0, group), start + offset);
      expect(run(copy), String(offset)).toMatchObject({ ok: false, gate: "header" });
    }
  });

  it("refuse a key that names another field than its curve's", () => {
    for (const [at, value] of [
      [40, 32],
      [44, 0xff],
      [44 + 48, 48],
      [44 + 48 + 4, 0xff],
    ] as const) {
      const copy = Uint8Array.from(setup.zkey);
      copy[at] = value;
      expect(() => readProvingKey(copy), String(at)).toThrow(ProvingKeyFormatError);
    }
  });

  it("have no Solidity verifier, which is for BN254 alone", async () => {
    await expect(solidityVerifier(setup.verifyingKey)).rejects.toThrow("no Solidity verifier");
    expect(verifyingKeyToJson(setup.verifyingKey, kernels).curve).toBe("bls12381");
  });
});

describe("the test of many points for their subgroup", () => {
  const random = seededRandom("sections");
  let pairing: PairingKernels;

  beforeAll(async () => {
    pairing = await loadPairing("wasm", curve);
  });

  const section = (group: "G1" | "G2", count: number): Uint8Array => {
    const bytes = group === "G1" ? 96 : 192;
    const points = Array.from({ length: 12 }, () => {
      const scalar = 1n + random.below(curve.r - 1n);
      if (group === "G1") {
        const { x, y } = G1.BASE.multiply(scalar).toAffine();
        return encodeG1({ x, y }, curve);
      }
      const { x, y } = G2.BASE.multiply(scalar).toAffine();
      return encodeG2({ x, y }, curve);
    });
    const all = new Uint8Array(count * bytes);
    for (let i = 0; i < count; i += 1) if (i % 7 !== 3) all.set(points[i % points.length]!, i * bytes);
    return all;
  };

  it.each(["G1", "G2"] as const)(
    "finds one wrong point of some thousand in %s, and none where all are right",
    (group) => {
      const points = section(group, 4000);
      const bytes = group === "G1" ? 96 : 192;
      expect(areAllInSubgroup(pairing, group, points)).toBe(true);
      expect(areAllInSubgroup(pairing, group, points.subarray(0, 20 * bytes))).toBe(true);
      for (const index of [0, 1999, 3999]) {
        const wrong = Uint8Array.from(points);
        wrong.set(moved(points, index % 7 === 3 ? index + 1 : index, group), index * bytes);
        expect(areAllInSubgroup(pairing, group, wrong), String(index)).toBe(false);
      }
      const few = points.slice(0, 20 * bytes);
      few.set(moved(points, 4, group), 5 * bytes);
      expect(areAllInSubgroup(pairing, group, few)).toBe(false);
      expect(areAllInSubgroup(pairing, group, new Uint8Array(0))).toBe(true);
    },
  );

  it("has nothing to test in G1 of BN254, which is the whole curve", async () => {
    expect(areAllInSubgroup(await loadPairing("wasm", BN254), "G1", new Uint8Array(64).fill(1))).toBe(true);
  });
});
