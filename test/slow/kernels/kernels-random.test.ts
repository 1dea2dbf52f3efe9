import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { rootOfUnity } from "../../../src/engine/curves/curve-parameters.js";
import { Domain, vectorBytes, writeDomainTables } from "../../../src/engine/kernels/ntt/domain.js";
import { inverse } from "../../../src/engine/field/prime-field.js";
import { Msm } from "../../../src/engine/kernels/msm/msm.js";
import {
  KERNEL_KINDS,
  bareField,
  bigBelow,
  kernelSetup,
  modulo,
  nobleMultiple,
  readPoint,
  writeMultiples,
  writeScalars,
} from "../../support/kernels.js";
import type { BareOperation, Group } from "../../support/kernels.js";
import { evaluateAll, reversedBits } from "../../support/ntt.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();
const r = BN254.r;
const FIELDS = [
  { name: "BN254 Fq", prime: BN254.q, bytes: 32 },
  { name: "BN254 Fr", prime: BN254.r, bytes: 32 },
  { name: "BLS12-381 Fq", prime: BLS12_381.q, bytes: 48 },
  { name: "BLS12-381 Fr", prime: BLS12_381.r, bytes: 32 },
] as const;
/** For each field, kind and operation below; together more than a million for either kind. */
const OPERATIONS = 65_536;
const SUMS_PER_GROUP = 500;
const POOL_SIZE = 64;

describe.each(KERNEL_KINDS)("kernels at length, %s, seed " + String(random.seed), (kind) => {
  it.each(FIELDS)("agrees with whole numbers over $name", ({ prime, bytes }) => {
    const field = bareField(kind, prime, bytes);
    const radixInverse = inverse(field.radix, prime);
    const computes: Readonly<Partial<Record<BareOperation, (a: bigint, b: bigint) => bigint>>> = {
      mul: (a, b) => a * b * radixInverse,
      square: (a) => a * a * radixInverse,
      add: (a, b) => a + b,
      sub: (a, b) => a - b,
    };
    const edges = field.extremes(field.productMax).filter((limbs) => {
      const value = field.valueOf(limbs);
      return (value < 0n ? -value : value) <= field.productMax;
    });
    // Whole limbs at random, limbs near their ends, and the ends themselves.
    const element = (): bigint[] =>
      random.chance(0.2)
        ? random.pick(edges)
        : field.limbs(bigBelow(random, 2n * field.productMax + 1n) - field.productMax);
    for (const [operation, compute] of Object.entries(computes) as [
      BareOperation,
      (a: bigint, b: bigint) => bigint,
    ][]) {
      for (let done = 0; done < OPERATIONS; done += 1024) {
        const left = Array.from({ length: 1024 }, element),
          right = Array.from({ length: 1024 }, element);
        const results = field.run(operation, left, right);
        const bad = results.findIndex(
          (result, i) => modulo(result - compute(field.valueOf(left[i]!), field.valueOf(right[i]!)), prime) !== 0n,
        );
        if (bad >= 0)
          throw new Error(`${operation}(${left[bad]!.join(" ")}; ${right[bad]!.join(" ")}) = ${String(results[bad])}`);
      }
    }
  });

  it.each(["g1", "g2"] as const)(`sums ${String(SUMS_PER_GROUP)} random lists of points in %s`, (group: Group) => {
    const setup = kernelSetup(kind, 1024);
    const { kernels, arena } = setup;
    const logs = [0n, 1n, r - 1n, ...Array.from({ length: POOL_SIZE - 3 }, () => bigBelow(random, r))];
    const pool = writeMultiples(setup, group, logs);
    const { pointBytes } = kernels[group];
    const target = arena.take(pointBytes);
    const scalarOf = [
      () => bigBelow(random, r),
      () => BigInt(random.below(3)),
      () => BigInt(random.below(65_536)),
      () => r - BigInt(random.below(9)) - 1n,
      () => r / 2n + BigInt(random.below(3)),
    ];
    for (let i = 0; i < SUMS_PER_GROUP; i += 1) {
      arena.scoped(() => {
        const count = random.below(2 ** random.below(group === "g1" ? 12 : 10));
        const some = Array.from({ length: count }, () => random.below(random.chance(0.1) ? 3 : POOL_SIZE));
        const own = random.pick(scalarOf);
        const scalars = some.map(() => (random.chance(0.1) ? random.pick(scalarOf) : own)());
        const points = arena.take(Math.max(1, count) * pointBytes);
        some.forEach((which, at) => {
          kernels.bytes(points + at * pointBytes, pointBytes).set(kernels.bytes(pool + which * pointBytes, pointBytes));
        });
        new Msm(kernels, group, arena).run(
          { points, scalars: writeScalars(setup, scalars), indices: 0, count },
          target,
        );
        const sum = scalars.reduce((total, scalar, at) => total + scalar * logs[some[at]!]!, 0n);
        expect(readPoint(setup, group, target), `list ${String(i)} of ${String(count)}`).toEqual(
          nobleMultiple(group, sum),
        );
      });
    }
  });

  it("sums 2^18 points", () => {
    const setup = kernelSetup(kind, 4096);
    const { kernels, arena } = setup;
    const count = 2 ** 18;
    const logs = Array.from({ length: 512 }, () => bigBelow(random, r));
    const pool = writeMultiples(setup, "g1", logs);
    const { pointBytes } = kernels.g1;
    const points = arena.take(count * pointBytes),
      target = arena.take(pointBytes);
    for (let i = 0; i < count; i += logs.length)
      kernels
        .bytes(points + i * pointBytes, logs.length * pointBytes)
        .set(kernels.bytes(pool, logs.length * pointBytes));
    const scalars = Array.from({ length: count }, () => bigBelow(random, r));
    new Msm(kernels, "g1", arena).run({ points, scalars: writeScalars(setup, scalars), indices: 0, count }, target);
    expect(readPoint(setup, "g1", target)).toEqual(
      nobleMultiple(
        "g1",
        scalars.reduce((sum, scalar, i) => (sum + scalar * logs[i % logs.length]!) % r, 0n),
      ),
    );
  });

  it.each([15, 16, 17, 18])("transforms 2^%i elements", (log) => {
    const setup = kernelSetup(kind, 1024);
    const { kernels, arena } = setup;
    const size = 2 ** log;
    const input = Array.from({ length: size }, () => bigBelow(random, r));
    const [tables, data, elements, out] = [
      vectorBytes(kernels, log),
      vectorBytes(kernels, log),
      size * kernels.fr.elementBytes,
      32 * size,
    ].map((bytes) => arena.take(bytes)) as [number, number, number, number];
    writeDomainTables(kernels, log, { target: tables, scratch: arena.take(512) });
    kernels.call("fr_import_raw", elements, writeScalars(setup, input), size);
    kernels.call("fr_scatter_blocks", data, elements, 0, size);
    const domain = new Domain(kernels, log, tables);
    const read = (): bigint[] => {
      kernels.call("fr_gather_blocks", elements, data, 0, size);
      kernels.call("fr_export_raw", out, elements, size);
      return Array.from({ length: size }, (_, i) => kernels.readInteger(out + 32 * i, 32));
    };
    domain.forward(data);
    const values = evaluateAll(input, rootOfUnity(kernels.curve, log), r);
    expect(read().every((value, place) => value === values[reversedBits(place, log)]!)).toBe(true);
    domain.backward(data);
    expect(read().every((value, i) => value === (input[(size - i) % size]! * BigInt(size)) % r)).toBe(true);
  });
});
