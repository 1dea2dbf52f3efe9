import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bn254 } from "@noble/curves/bn254.js";
import { beforeAll, describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import type { CurveParameters } from "../../../../src/engine/curves/curve-parameters.js";
import type { CurveKernels } from "../../../../src/engine/curves/curve-kernels.js";
import { isOnTwist, negateG1 } from "../../../../src/engine/curves/points.js";
import type { G1Point, G2Point } from "../../../../src/engine/curves/points.js";
import { loadReferenceKernels } from "../../../../src/engine/reference/reference-kernels.js";
import {
  addFq2,
  inverse,
  multiplyFq2,
  negateFq2,
  normFq2,
  power,
  powerFq2,
  reduce,
  squareRoot,
  squareRootFq2,
} from "../../../../src/engine/field/prime-field.js";
import type { Fq2 } from "../../../../src/engine/field/prime-field.js";
import { nonAdjacentForm, pairingPlanOf } from "../../../../src/engine/kernels/pairing/pairing-plan.js";
import { loadKernelPairing } from "../../../../src/engine/kernels/pairing/pairing.js";
import type { KernelPairing } from "../../../../src/engine/kernels/pairing/pairing.js";
import { scalarHalves } from "../../../../src/engine/kernels/pairing/scalar-halves.js";
import type { KernelKind } from "../../../../src/engine/kernels/kernel-module.js";
import { useWideForms, whileChecked } from "../../../../src/engine/kernels/wide/wide-form.js";
import { KERNEL_KINDS, bigBelow, modulo } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";
import { soundForms } from "../../../support/wide.js";

const random = seededRandom();

/** Points of the twist for each point of G2, from the order of the twist as a polynomial of the seed. */
const BLS12_381_TWIST_COFACTOR = ((x: bigint) =>
  (x ** 8n - 4n * x ** 7n + 5n * x ** 6n - 4n * x ** 4n + 6n * x ** 3n - 4n * x ** 2n - 4n * x + 13n) / 9n)(
  BLS12_381.seed,
);

const CURVES = [
  { curve: BN254, noble: bn254, twistCofactor: 2n * BN254.q - BN254.r },
  { curve: BLS12_381, noble: bls12_381, twistCofactor: BLS12_381_TWIST_COFACTOR },
] as const;
/** Four lanes run on any engine; what pairing them adds is speed alone. */
const FORMS = KERNEL_KINDS.flatMap((kind) =>
  (kind === "fma" ? (["two", "four"] as const) : (["two"] as const)).map((lanes) => ({ kind, lanes })),
);
const CASES = CURVES.flatMap((each) => FORMS.map((form) => ({ ...each, ...form })));

type NobleG1 = InstanceType<typeof bn254.G1.Point>;
type NobleG2 = InstanceType<typeof bn254.G2.Point>;

describe.each(CASES)(
  "the pairing of $curve.name on $kind kernels, $lanes lanes, seed " + String(random.seed),
  (each) => {
    const { curve, noble, kind, lanes, twistCofactor } = each;
    const { q, r } = curve;
    const G1 = noble.G1.Point,
      G2 = noble.G2.Point;
    const scalar = (): bigint => 1n + bigBelow(random, r - 1n);
    const g1 = (log: bigint): G1Point => affineG1(G1.BASE.multiply(modulo(log, r)));
    const g2 = (log: bigint): G2Point => pointOf(G2.BASE.multiply(modulo(log, r)));
    const pointOnTwist = (): G2Point => randomOnTwist(curve);
    const timesAnything = (point: NobleG2, factor: bigint): NobleG2 => times(G2.ZERO, point, factor);
    const EDGES = edgesOf(curve);
    const pairing = lanes === "four" ? onFourLanes(kind, curve) : loadKernelPairing(kind, curve);
    /** A point of the twist of prime order, whatever the structure of the group. */
    const ofOrder = (prime: bigint): NobleG2 => {
      let rest = twistCofactor * r;
      while (rest % prime === 0n) rest /= prime;
      for (;;) {
        let point = timesAnything(G2.fromAffine(pointOnTwist()), rest);
        if (point.is0()) continue;
        for (let next = timesAnything(point, prime); !next.is0(); next = timesAnything(next, prime)) point = next;
        return point;
      }
    };
    const pair = (a: G1Point, b: G2Point): Uint8Array => pairing.pairingProduct([{ g1: a, g2: b }]).bytes;
    let reference: CurveKernels;
    beforeAll(async () => {
      reference = await loadReferenceKernels(curve);
    });

    it("runs on the kind that was asked for", () => {
      expect(pairing.kind).toBe(kind);
    });

    it("is noble's pairing", () => {
      for (const [a, b] of [
        [1n, 1n],
        [r - 1n, 1n],
        [2n, r - 1n],
        [scalar(), scalar()],
        [scalar(), scalar()],
      ] as const) {
        const theirs = noble.pairing(G1.BASE.multiply(a), G2.BASE.multiply(b));
        expect(inPowersOfW(curve, pair(g1(a), g2(b))), `${String(a)} ${String(b)}`).toEqual(flat(theirs));
      }
    });

    it("is ffjavascript's pairing", () => {
      const terms = [
        { g1: g1(scalar()), g2: g2(scalar()) },
        { g1: g1(scalar()), g2: g2(scalar()) },
      ];
      // Twelve coordinates in the order of the towers Fq6[w], Fq2[v].
      const [c00, c01, c02, c10, c11, c12] = pairsOf(reference.pairingCoordinates(reference.pairingProduct(terms)));
      expect(inPowersOfW(curve, pairing.pairingProduct(terms).bytes)).toEqual([c00, c10, c01, c11, c02, c12].flat());
    });

    it("is bilinear, with lines computed and prepared, and not degenerate", () => {
      for (let i = 0; i < 4; i += 1) {
        const [a, b] = [scalar(), scalar()];
        const product = pair(g1(a), g2(b));
        const values = [
          pair(g1(b), g2(a)),
          pair(g1(a * b), g2(1n)),
          pairing.pairingProduct([{ g1: g1(b), g2: pairing.prepareG2(g2(a)) }]).bytes,
          pairing.pairingProduct([
            { g1: g1(a * b - 1n), g2: g2(1n) },
            { g1: g1(1n), g2: pairing.prepareG2(g2(1n)) },
          ]).bytes,
          pair(negateG1(g1(a), curve), { ...g2(b), y: negateFq2(g2(b).y, q) }),
        ];
        for (const value of values) expect(value).toEqual(product);
        expect(pair(g1(a + 1n), g2(b))).not.toEqual(product);
        expect(pair(negateG1(g1(a), curve), g2(b))).not.toEqual(product);
      }
    });

    it("gives one for pairings that cancel, over more terms than fit in one loop", () => {
      const [a, b] = [g1(scalar()), g2(scalar())];
      const prepared = pairing.prepareG2(b);
      const terms = Array.from({ length: 51 }, (_, i) => [
        { g1: a, g2: i % 2 === 0 ? b : prepared },
        { g1: negateG1(a, curve), g2: i % 3 === 0 ? b : prepared },
      ]).flat();
      expect(inPowersOfW(curve, pairing.pairingProduct(terms).bytes)).toEqual([
        1n,
        ...Array.from({ length: 11 }, () => 0n),
      ]);
      expect(pairing.pairingProduct([...terms, { g1: a, g2: b }]).bytes).toEqual(pair(a, b));
    });

    it("sums multiples like noble, at the edges of the scalars and where points repeat, cancel or are missing", () => {
      for (const value of EDGES) {
        const log = scalar();
        expect(pairing.combineG1([{ point: g1(log), scalar: value }]), String(value)).toEqual(g1(log * value));
      }
      const logs = [1n, 1n, r - 1n, 5n, 5n, ...Array.from({ length: 20 }, scalar)];
      const terms = logs.map((log, i) => ({ log, scalar: i < EDGES.length ? EDGES[i]! : scalar() }));
      expect(
        pairing.combineG1([
          ...terms.map((term) => ({ point: g1(term.log), scalar: term.scalar })),
          { point: undefined, scalar: 3n },
        ]),
      ).toEqual(g1(terms.reduce((sum, term) => sum + term.log * term.scalar, 0n)));
      const point = g1(scalar()),
        times = scalar();
      expect(
        pairing.combineG1([
          { point, scalar: times },
          { point: negateG1(point, curve), scalar: times },
        ]),
      ).toBeUndefined();
      expect(pairing.combineG1([{ point, scalar: 0n }])).toBeUndefined();
      expect(pairing.combineG1([])).toBeUndefined();
    });

    it("sums more multiples than fit in one pass", () => {
      const some = Array.from({ length: 8 }, () => ({ log: scalar(), point: undefined as G1Point | undefined }));
      for (const each of some) each.point = g1(each.log);
      const terms = Array.from({ length: 300 }, (_, i) => ({ ...some[i % some.length]!, scalar: BigInt(i) }));
      expect(pairing.combineG1(terms)).toEqual(g1(terms.reduce((sum, term) => sum + term.log * term.scalar, 0n)));
    });

    it("multiplies each of many points like noble, also where they repeat, cancel or end at infinity", () => {
      const logs = [1n, 1n, r - 1n, 5n, 5n, ...Array.from({ length: 16 }, scalar)];
      for (const count of [0, 1, 2, 3, logs.length]) {
        const terms = logs.slice(0, count).map((log, i) => ({ log, scalar: i === 2 ? 0n : (EDGES[i] ?? scalar()) }));
        expect(
          pairing.multiplyG1(terms.map((term) => ({ point: g1(term.log), scalar: term.scalar }))),
          String(count),
        ).toEqual(terms.map((term) => (term.scalar === 0n ? undefined : g1(term.log * term.scalar))));
      }
      const point = g1(7n);
      const many = Array.from({ length: 259 }, (_, i) => ({ point, scalar: BigInt(i) }));
      expect(pairing.multiplyG1(many)).toEqual(
        many.map(({ scalar: times }) => pairing.combineG1([{ point, scalar: times }])),
      );
    });

    it("pairs many points at once as it pairs each, equal and opposite ones among them", () => {
      const base = scalar();
      const logs = [base, base, r - base, 1n, r - 1n, ...Array.from({ length: 3 }, scalar)];
      const same = g2(base);
      const terms = logs.map((log, i) => ({ log: BigInt(i + 1), g1: g1(BigInt(i + 1)), g2: i < 2 ? same : g2(log) }));
      const together = pairing.pairingProduct(terms).bytes;
      expect(together).toEqual(pair(g1(terms.reduce((sum, { log }, i) => sum + log * (logs[i] ?? 0n), 0n)), g2(1n)));
      // One by one, the lines come from the projective steps.
      expect(together).toEqual(
        pairing.pairingProduct(
          logs.map((log, i) => {
            const point = g2(log);
            expect(pairing.isInSubgroupG2(point)).toBe(true);
            return { g1: g1(BigInt(i + 1)), g2: point };
          }),
        ).bytes,
      );
      const prepared = g2(base);
      expect(pairing.areInSubgroupG2([prepared, g2(base), g2(r - base), g2(2n)])).toEqual([true, true, true, true]);
      expect(pair(g1(3n), g2(base))).toEqual(
        pairing.pairingProduct([{ g1: g1(3n), g2: pairing.prepareG2(prepared) }]).bytes,
      );
    });

    it("tells members from others among many points, whatever zeros the others meet", () => {
      const [small = 1n] = primeFactorsBelow(twistCofactor, 100_000n);
      const torsion = ofOrder(small);
      const member = g2(scalar()),
        outside = pointOnTwist();
      // y = 0 is no point of the twist, and its first doubling divides by zero.
      const flat: G2Point = { x: { c0: 5n, c1: 7n }, y: { c0: 0n, c1: 0n } };
      const points = [
        member,
        outside,
        pointOf(torsion),
        g2(1n),
        flat,
        { ...member },
        member,
        pointOf(torsion.add(G2.BASE)),
        g2(r - 1n),
        { ...outside },
      ];
      expect(pairing.areInSubgroupG2(points)).toEqual([
        true,
        false,
        false,
        true,
        false,
        true,
        true,
        false,
        true,
        false,
      ]);
      expect(pairing.areInSubgroupG2([])).toEqual([]);
      const many = Array.from({ length: 70 }, (_, i) => (i % 9 === 4 ? pointOnTwist() : g2(BigInt(i + 1))));
      expect(pairing.areInSubgroupG2(many)).toEqual(many.map((_, i) => i % 9 !== 4));
    });

    it("finds the same subgroup as noble and the reference backend", () => {
      for (const log of [1n, r - 1n, scalar(), scalar()]) expect(pairing.isInSubgroupG2(g2(log))).toBe(true);
      for (let i = 0; i < 12; i += 1) {
        const point = pointOnTwist();
        expect(G2.fromAffine(point).isTorsionFree()).toBe(false);
        expect(reference.isInSubgroupG2(point)).toBe(false);
        expect(pairing.isInSubgroupG2(point)).toBe(false);
      }
    });

    it("refuses points of every small order, alone and added to points of the subgroup", () => {
      for (const order of primeFactorsBelow(twistCofactor, 100_000n)) {
        for (let found = 0; found < 2; found += 1) {
          const small = ofOrder(order);
          expect(pairing.isInSubgroupG2(pointOf(small)), String(order)).toBe(false);
          expect(pairing.isInSubgroupG2(pointOf(small.add(G2.BASE.multiply(scalar())))), String(order)).toBe(false);
        }
      }
      // The whole cofactor's part, and what lies on the twist without a part of either.
      const large = timesAnything(G2.fromAffine(pointOnTwist()), r);
      expect(pairing.isInSubgroupG2(pointOf(large))).toBe(false);
    });

    it("tells the points of G1 from those of every small order, alone and added to points of G1", () => {
      const onCurve = Array.from({ length: 4 }, () => randomOnCurve(curve));
      const small = primeFactorsBelow(curve.cofactorG1, 100_000n).flatMap((prime) => {
        let rest = curve.cofactorG1 * r;
        while (rest % prime === 0n) rest /= prime;
        for (;;) {
          let point = times(G1.ZERO, G1.fromAffine(randomOnCurve(curve)), rest);
          if (point.is0()) continue;
          for (let next = times(G1.ZERO, point, prime); !next.is0(); next = times(G1.ZERO, next, prime)) point = next;
          return [affineG1(point), affineG1(point.add(G1.BASE.multiply(scalar())))];
        }
      });
      const isWhole = curve.cofactorG1 === 1n;
      expect(small.length).toBe(isWhole ? 0 : 6);
      const points = [g1(1n), ...onCurve, ...small, g1(r - 1n), g1(scalar())];
      const expected = points.map((_, i) => isWhole || i === 0 || i >= points.length - 2);
      expect(pairing.areInSubgroupG1(points)).toEqual(expected);
      expect(reference.areInSubgroupG1(points)).toEqual(expected);
      expect(points.map((point) => pairing.areInSubgroupG1([point])[0])).toEqual(expected);
      const many = Array.from({ length: 259 }, (_, i) => points[i % points.length]!);
      expect(pairing.areInSubgroupG1(many)).toEqual(many.map((_, i) => expected[i % points.length]));
      expect(pairing.areInSubgroupG1([])).toEqual([]);
    });

    it("pairs and prepares no point outside the subgroup", () => {
      const point = pointOnTwist();
      expect(() => pairing.prepareG2(point)).toThrow(RangeError);
      expect(() => pairing.pairingProduct([{ g1: curve.generatorG1, g2: point }])).toThrow(RangeError);
      expect(() => pairing.pairingProduct([])).toThrow(RangeError);
      // What was refused leaves the kernels usable.
      expect(pair(g1(3n), g2(5n))).toEqual(pair(g1(5n), g2(3n)));
    });

    it("computes the power of a square root like whole numbers", () => {
      for (const value of [
        0n,
        1n,
        2n,
        4n,
        q - 1n,
        q - 2n,
        q / 2n,
        ...Array.from({ length: 20 }, () => bigBelow(random, q)),
      ]) {
        expect(pairing.squareRootPower(value), String(value)).toBe(power(value, (q - 3n) / 4n, q));
      }
      for (const count of [0, 1, 2, 7, 1025]) {
        const values = Array.from({ length: count }, (_, i) => (i < 2 ? BigInt(i) : bigBelow(random, q)));
        const powers = pairing.squareRootPowers(values);
        expect(powers.length).toBe(count);
        for (const i of [0, 1, 2, 6, 1023, 1024].filter((index) => index < count))
          expect(powers[i], String(i)).toBe(power(values[i]!, (q - 3n) / 4n, q));
      }
    });
  },
);

describe.each(CURVES)("the parts of a scalar of $curve.name", ({ curve, noble }) => {
  const { r, seed } = curve;
  const scalar = (): bigint => 1n + bigBelow(random, r - 1n);
  const edges = edgesOf(curve);
  const halvesOf = scalarHalves(r, curve.endomorphismScalar);

  it("add up to it and are short", () => {
    for (const value of [0n, ...edges, ...Array.from({ length: 200 }, scalar)]) {
      const [first, second] = halvesOf(value);
      expect(modulo(first + second * curve.endomorphismScalar - value, r), String(value)).toBe(0n);
      for (const half of [first, second]) expect(half < 1n << 127n && half > -(1n << 127n)).toBe(true);
    }
  });

  it("are the two short numbers that a scalar was made of", () => {
    for (const first of [0n, 1n, (1n << 64n) - 1n, bigBelow(random, 1n << 64n)]) {
      for (const second of [0n, 1n, (1n << 64n) - 1n, bigBelow(random, 1n << 64n)]) {
        expect(halvesOf((first + second * curve.endomorphismScalar) % r)).toEqual([first, second]);
      }
    }
  });

  it("belong to the map of points that the constants name", () => {
    const { x, y } = curve.generatorG1;
    expect(affineG1(noble.G1.Point.BASE.multiply(curve.endomorphismScalar))).toEqual({
      x: (x * curve.endomorphismFactor) % curve.q,
      y,
    });
  });

  it("have digits that add up, and of a few neighbours only one counts", () => {
    for (const value of [
      1n,
      2n,
      3n,
      seed < 0n ? -seed : seed,
      6n * BN254.seed + 2n,
      bigBelow(random, 1n << 70n) + 1n,
    ]) {
      for (const width of [2, 3, 4]) {
        const digits = nonAdjacentForm(value, width);
        expect(digits.reduce((sum, digit) => 2n * sum + BigInt(digit), 0n)).toBe(value);
        for (const [i, digit] of digits.entries()) {
          if (digit === 0) continue;
          expect(digit % 2 !== 0 && Math.abs(digit) < 2 ** (width - 1)).toBe(true);
          expect(digits.slice(i + 1, i + width).every((other) => other === 0)).toBe(true);
        }
      }
    }
  });
});

/**
 * e(P, Q) of BLS12-381's generators: draft-irtf-cfrg-pairing-friendly-curves-11, appendix B, e_0 to e_11. The kernels'
 * final exponentiation gives its cube.
 */
const PUBLISHED_PAIRING = [
  0x11619b45f61edfe3b47a15fac19442526ff489dcda25e59121d9931438907dfd448299a87dde3a649bdba96e84d54558n,
  0x153ce14a76a53e205ba8f275ef1137c56a566f638b52d34ba3bf3bf22f277d70f76316218c0dfd583a394b8448d2be7fn,
  0x095668fb4a02fe930ed44767834c915b283b1c6ca98c047bd4c272e9ac3f3ba6ff0b05a93e59c71fba77bce995f04692n,
  0x16deedaa683124fe7260085184d88f7d036b86f53bb5b7f1fc5e248814782065413e7d958d17960109ea006b2afdeb5fn,
  0x09c92cf02f3cd3d2f9d34bc44eee0dd50314ed44ca5d30ce6a9ec0539be7a86b121edc61839ccc908c4bdde256cd6048n,
  0x111061f398efc2a97ff825b04d21089e24fd8b93a47e41e60eae7e9b2a38d54fa4dedced0811c34ce528781ab9e929c7n,
  0x01ecfcf31c86257ab00b4709c33f1c9c4e007659dd5ffc4a735192167ce197058cfb4c94225e7f1b6c26ad9ba68f63bcn,
  0x08890726743a1f94a8193a166800b7787744a8ad8e2f9365db76863e894b7a11d83f90d873567e9d645ccf725b32d26fn,
  0x0e61c752414ca5dfd258e9606bac08daec29b3e2c57062669556954fb227d3f1260eedf25446a086b0844bcd43646c10n,
  0x0fe63f185f56dd29150fc498bbeea78969e7e783043620db33f75a05a0a2ce5c442beaff9da195ff15164c00ab66bdden,
  0x10900338a92ed0b47af211636f7cfdec717b7ee43900eee9b5fc24f0000c5874d4801372db478987691c566a8c474978n,
  0x1454814f3085f0e6602247671bc408bbce2007201536818c901dbd4d2095dd86c1ec8b888e59611f60a301af7776be3dn,
] as const;

it.each(KERNEL_KINDS)("pairs the generators of BLS12-381 as published, on %s kernels", (kind) => {
  const { Fp12 } = bls12_381.fields;
  const [c00, c01, c02, c10, c11, c12] = pairsOf(PUBLISHED_PAIRING).map(([c0 = 0n, c1 = 0n]) => ({ c0, c1 })) as [
    ...[Fq2, Fq2, Fq2, Fq2, Fq2, Fq2],
  ];
  const published = { c0: { c0: c00, c1: c01, c2: c02 }, c1: { c0: c10, c1: c11, c2: c12 } };
  const ours = loadKernelPairing(kind, BLS12_381).pairingProduct([
    { g1: BLS12_381.generatorG1, g2: BLS12_381.generatorG2 },
  ]);
  expect(inPowersOfW(BLS12_381, ours.bytes)).toEqual(flat(Fp12.pow(published, 3n)));
});

describe.each(CURVES)("the plan of the pairing of $curve.name", ({ curve, twistCofactor }) => {
  const { q, r, nonResidue, twistB } = curve;
  const plan = pairingPlanOf(curve);

  it("tests for membership in groups whose cofactors have no divisor in common with what the end proves", () => {
    const greatestCommonDivisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : greatestCommonDivisor(b, a % b));
    if (curve.family === "BLS12") {
      expect(q - curve.seed).toBe(curve.cofactorG1 * r);
      expect(greatestCommonDivisor(curve.cofactorG1 * r, twistCofactor * r)).toBe(r);
      expect(curve.endomorphismScalar ** 2n + curve.endomorphismScalar + 1n).toBe(r);
    }
    expect(twistCofactor % r).not.toBe(0n);
  });

  it("runs on a D-type twist that is the curve's own, over a non-residue", () => {
    expect(multiplyFq2(plan.twistB, plan.nonResidue, q)).toEqual({ c0: curve.b, c1: 0n });
    for (const exponent of [2n, 3n])
      expect(powerFq2(plan.nonResidue, (q * q - 1n) / exponent, q)).not.toEqual({ c0: 1n, c1: 0n });
    const b = { c0: curve.b, c1: 0n };
    if (curve.twistType === "D") expect(multiplyFq2(twistB, nonResidue, q)).toEqual(b);
    else expect(twistB).toEqual(multiplyFq2(b, nonResidue, q));
    if (plan.move === undefined) return;
    const sixth = powerFq2(plan.move.x, 3n, q);
    expect(powerFq2(plan.move.y, 2n, q)).toEqual(sixth);
    expect(multiplyFq2(sixth, multiplyFq2(nonResidue, plan.nonResidue, q), q)).toEqual({ c0: 1n, c1: 0n });
  });
});

/** A pairing on four lanes, all of whose methods run as where results are checked. */
function onFourLanes(kind: KernelKind, curve: CurveParameters): KernelPairing {
  useWideForms(soundForms(curve));
  return new Proxy(loadKernelPairing(kind, curve), {
    get: (target, key): unknown => {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]): unknown =>
        whileChecked((): unknown => member.apply(target, args) as unknown);
    },
  });
}

/** Scalars at which windows, halves and the order end. */
function edgesOf(curve: CurveParameters): bigint[] {
  const { r } = curve;
  return [
    1n,
    2n,
    7n,
    8n,
    9n,
    15n,
    16n,
    r - 1n,
    r - 2n,
    r / 2n,
    (1n << 127n) - 1n,
    1n << 128n,
    curve.endomorphismScalar,
    r - curve.endomorphismScalar,
    curve.endomorphismScalar + 1n,
  ];
}

function pointOf(point: NobleG2): G2Point {
  const { x, y } = point.toAffine();
  return { x: { c0: x.c0, c1: x.c1 }, y: { c0: y.c0, c1: y.c1 } };
}

function affineG1(point: NobleG1): G1Point {
  const { x, y } = point.toAffine();
  return { x, y };
}

/** A random point of the twist; one of 2^254 of them would be in the subgroup. */
function randomOnTwist(curve: CurveParameters): G2Point {
  const { q, twistB } = curve;
  for (;;) {
    const x = { c0: bigBelow(random, q), c1: bigBelow(random, q) };
    const y = squareRootFq2(addFq2(multiplyFq2(multiplyFq2(x, x, q), x, q), twistB, q), q);
    if (y !== undefined && isOnTwist({ x, y }, curve)) return { x, y };
  }
}

/** A random point of the curve. */
function randomOnCurve({ q, b }: CurveParameters): G1Point {
  for (;;) {
    const x = bigBelow(random, q);
    const y = squareRoot((x ** 3n + b) % q, q);
    if (y !== undefined) return { x, y };
  }
}

interface NobleGroup<Point> {
  double(): Point;
  add(other: Point): Point;
}

/** noble multiplies by scalars below the group order only; these points are outside the group. */
function times<Point extends NobleGroup<Point>>(zero: Point, point: Point, factor: bigint): Point {
  let result = zero;
  for (const bit of factor.toString(2)) {
    result = result.double();
    if (bit === "1") result = result.add(point);
  }
  return result;
}

function primeFactorsBelow(value: bigint, limit: bigint): bigint[] {
  const factors: bigint[] = [];
  let rest = value;
  for (let divisor = 2n; divisor < limit; divisor += 1n) {
    if (rest % divisor !== 0n) continue;
    factors.push(divisor);
    while (rest % divisor === 0n) rest /= divisor;
  }
  return factors;
}

/**
 * The coefficients of a value, c0 and c1 of each, for the w of noble's and ffjavascript's tower. The kernels' own W is w
 * where the twist is of type D; where it was moved by k, W = k / w with w^6 the curve's non-residue.
 */
function inPowersOfW(curve: CurveParameters, bytes: Uint8Array): bigint[] {
  const { q, fqBytes, nonResidue } = curve;
  const numbers = Array.from({ length: 12 }, (_, i) =>
    BigInt(`0x${Buffer.from(bytes.slice(fqBytes * i, fqBytes * (i + 1)).reverse()).toString("hex")}`),
  );
  const { move } = pairingPlanOf(curve);
  if (move === undefined) return numbers;
  const k = multiplyFq2(move.x, inverseFq2(move.y, q), q);
  const powers = pairsOf(numbers).map(([c0 = 0n, c1 = 0n], i) => {
    const scaled = multiplyFq2({ c0, c1 }, powerFq2(k, BigInt(i), q), q);
    return i === 0 ? scaled : multiplyFq2(scaled, inverseFq2(nonResidue, q), q);
  });
  return [0, 5, 4, 3, 2, 1].flatMap((i) => [powers[i]!.c0, powers[i]!.c1]);
}

function inverseFq2(a: Fq2, q: bigint): Fq2 {
  const norm = inverse(normFq2(a, q), q);
  return { c0: (a.c0 * norm) % q, c1: reduce(-a.c1 * norm, q) };
}

function pairsOf(values: readonly bigint[]): bigint[][] {
  return Array.from({ length: values.length / 2 }, (_, i) => values.slice(2 * i, 2 * i + 2));
}

function flat({ c0, c1 }: ReturnType<typeof bn254.pairing>): bigint[] {
  return [c0.c0, c1.c0, c0.c1, c1.c1, c0.c2, c1.c2].flatMap((pairOf) => [pairOf.c0, pairOf.c1]);
}
