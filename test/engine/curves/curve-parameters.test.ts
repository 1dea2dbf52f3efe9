import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bn254 } from "@noble/curves/bn254.js";
import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { generatorCoordinates, rootOfUnity } from "../../../src/engine/curves/curve-parameters.js";
import { addFq2, multiplyFq2, power, powerFq2 } from "../../../src/engine/field/prime-field.js";

/** Roots of unity of the highest order: Fr.w[Fr.s] of ffjavascript 0.3.1, which snarkjs computes with. */
const SNARKJS_ROOTS = {
  BN254: 19103219067921713944291392827692070036145651957329286315305642004821462161904n,
  BLS12_381: 937917089079007706106976984802249742464848817460758522850752807661925904159n,
} as const;

describe.each([
  {
    curve: BN254,
    noble: bn254,
    primes: (x: bigint) => ({
      q: 36n * x ** 4n + 36n * x ** 3n + 24n * x ** 2n + 6n * x + 1n,
      r: 36n * x ** 4n + 36n * x ** 3n + 18n * x ** 2n + 6n * x + 1n,
    }),
  },
  {
    curve: BLS12_381,
    noble: bls12_381,
    primes: (x: bigint) => {
      const r = x ** 4n - x ** 2n + 1n;
      return { q: ((x - 1n) ** 2n * r) / 3n + x, r };
    },
  },
])("the numbers of $curve.name", ({ curve, noble, primes }) => {
  const { q, r } = curve;

  it("have the primes that follow from the seed", () => {
    expect(primes(curve.seed)).toEqual({ q, r });
  });

  it("have generators on the curve and on its twist, as noble has them", () => {
    const { x, y } = curve.generatorG1;
    expect((y * y - x ** 3n - curve.b) % q).toBe(0n);
    const g2 = curve.generatorG2;
    const cube = multiplyFq2(multiplyFq2(g2.x, g2.x, q), g2.x, q);
    expect(multiplyFq2(g2.y, g2.y, q)).toEqual(addFq2(cube, curve.twistB, q));
    const nobleG1 = noble.G1.Point.BASE.toAffine(),
      nobleG2 = noble.G2.Point.BASE.toAffine();
    expect(generatorCoordinates(curve, "g1")).toEqual([nobleG1.x, nobleG1.y]);
    expect(generatorCoordinates(curve, "g2")).toEqual([nobleG2.x.c0, nobleG2.x.c1, nobleG2.y.c0, nobleG2.y.c1]);
  });

  it("have an endomorphism of G1 that multiplies by its scalar", () => {
    const { x, y } = curve.generatorG1;
    const { x: imageX, y: imageY } = noble.G1.Point.BASE.multiply(curve.endomorphismScalar).toAffine();
    expect([imageX, imageY]).toEqual([(curve.endomorphismFactor * x) % q, y]);
  });

  it("have a non-residue that is neither a square nor a cube", () => {
    for (const exponent of [2n, 3n])
      expect(powerFq2(curve.nonResidue, (q * q - 1n) / exponent, q)).not.toEqual({ c0: 1n, c1: 0n });
  });

  it("have the least non-residue of the scalar field", () => {
    for (let value = 2n; value < curve.leastNonResidue; value += 1n) expect(power(value, (r - 1n) / 2n, r)).toBe(1n);
    expect(power(curve.leastNonResidue, (r - 1n) / 2n, r)).toBe(r - 1n);
  });

  it("have the roots of unity that snarkjs uses", () => {
    expect(rootOfUnity(curve, curve.twoAdicity)).toBe(SNARKJS_ROOTS[curve.name]);
    expect(rootOfUnity(curve, 0)).toBe(1n);
    expect(rootOfUnity(curve, 1)).toBe(r - 1n);
    expect(() => rootOfUnity(curve, curve.twoAdicity + 1)).toThrow(RangeError);
  });
});
