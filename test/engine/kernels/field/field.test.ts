import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { inverse } from "../../../../src/engine/field/prime-field.js";
import { KERNEL_KINDS, bareField, bigBelow, modulo, sumTimes } from "../../../support/kernels.js";
import type { BareField } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";

const FIELDS = [
  { name: "BN254 Fq", prime: BN254.q, bytes: 32 },
  { name: "BN254 Fr", prime: BN254.r, bytes: 32 },
  { name: "BLS12-381 Fq", prime: BLS12_381.q, bytes: 48 },
  { name: "BLS12-381 Fr", prime: BLS12_381.r, bytes: 32 },
] as const;

const random = seededRandom();

describe.each(KERNEL_KINDS.flatMap((kind) => FIELDS.map((field) => ({ ...field, kind }))))(
  "$kind arithmetic over $name, seed " + String(random.seed),
  ({ kind, prime, bytes }) => {
    const field = bareField(kind, prime, bytes);
    const radixInverse = inverse(field.radix, prime);
    const edges = edgeLimbs(field);
    const values = Array.from({ length: 200 }, () =>
      field.limbs(bigBelow(random, 2n * field.productMax) - field.productMax),
    );
    const pairs = [
      ...edges.flatMap((a) => edges.map((b) => [a, b] as const)),
      ...values.map((a, i) => [a, values[(i * 7 + 1) % values.length]!] as const),
    ];
    const [left, right] = [pairs.map(([a]) => a), pairs.map(([, b]) => b)];
    const expected = (compute: (a: bigint, b: bigint) => bigint): bigint[] =>
      pairs.map(([a, b]) => modulo(compute(field.valueOf(a), field.valueOf(b)), prime));

    it.each([
      ["mul", (a: bigint, b: bigint) => a * b * radixInverse],
      ["sum", (a: bigint, b: bigint) => BigInt(sumTimes(kind)) * a * (a + b) * radixInverse],
      ["square", (a: bigint) => a * a * radixInverse],
      ["add", (a: bigint, b: bigint) => a + b],
      ["sub", (a: bigint, b: bigint) => a - b],
      ["reduce", (a: bigint, b: bigint) => a + b],
    ] as const)("computes %s like whole numbers, at the ends of the limbs too", (operation, compute) => {
      const results = field.run(operation, left, right);
      expect(results.map((value) => modulo(value, prime))).toEqual(expected(compute));
    });

    it("keeps the bounds that it promises", () => {
      for (const value of field.run("mul", left, right)) expect(magnitude(value) <= field.productMax).toBe(true);
      for (const value of field.run("reduce", left, right)) expect(magnitude(value) <= field.reducedMax).toBe(true);
    });

    it("packs every representation of a value to the one canonical integer", () => {
      expect(field.run("pack", left, right)).toEqual(expected((a) => a));
      const multiples = [0n, prime, -prime].map((value) => field.limbs(value));
      expect(field.run("pack", multiples, multiples)).toEqual([0n, 0n, 0n]);
    });

    it("inverts both lanes with one inversion, unless one alone is 0", () => {
      const others = [...edges, ...values].filter((limbs) => modulo(field.valueOf(limbs), prime) !== 0n);
      const zero = field.limbs(0n);
      const some = [zero, zero, ...others];
      const results = field.run("invertJointly", some, some);
      for (const [i, limbs] of some.entries()) {
        const value = modulo(field.valueOf(limbs), prime);
        expect(modulo(results[i]! * value, prime)).toBe(value === 0n ? 0n : modulo(field.radix * field.radix, prime));
        if (value === 0n) expect(modulo(results[i]!, prime)).toBe(0n);
      }
    });

    it("inverts, and gives 0 for 0", () => {
      const some = [...edges, ...values];
      const results = field.run("invert", some, some);
      for (const [i, limbs] of some.entries()) {
        const value = modulo(field.valueOf(limbs), prime);
        // a R -> a^-1 R
        expect(modulo(results[i]! * value, prime)).toBe(value === 0n ? 0n : modulo(field.radix * field.radix, prime));
      }
    });
  },
);

function edgeLimbs(field: BareField): bigint[][] {
  const { prime, productMax } = field;
  const values = [
    0n,
    1n,
    -1n,
    2n,
    prime - 1n,
    prime,
    1n - prime,
    -prime,
    prime / 2n,
    -(prime / 2n),
    prime / 2n + 1n,
    field.radix % prime,
  ];
  const within = (limbs: readonly bigint[]): boolean => magnitude(field.valueOf(limbs)) <= productMax;
  return [...values.map((value) => field.limbs(value)), ...field.extremes(productMax)].filter(within);
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}
