// PLONK on the kernels against snarkjs in both directions, and forged proofs.
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import {
  decodePlonkProof,
  decodePlonkProofs,
  encodePlonkProofHex,
  plonkProofFromJson,
  plonkProofToJson,
} from "../../../src/engine/encoding/plonk-proof.js";
import {
  plonkVerifyingKeyFromJson,
  plonkVerifyingKeyToJson,
} from "../../../src/engine/encoding/plonk-verifying-key.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { openKernels } from "../../../src/engine/kernels/kernels.js";
import { buildPlonkKey } from "../../../src/engine/kernels/plonk/build-plonk-key.js";
import { PlonkProver } from "../../../src/engine/kernels/plonk/plonk-prover.js";
import { makeDevelopmentSetup } from "../../../src/engine/plonk/development-setup.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { domainPowerOf } from "../../../src/engine/plonk/key.js";
import type { PlonkProof } from "../../../src/engine/plonk/key.js";
import { verifyPlonkBatch } from "../../../src/engine/plonk/verify-plonk-batch.js";
import { preparePlonkKey, verifyPlonk } from "../../../src/engine/plonk/verify-plonk.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { curveOfScalarField } from "../../../src/engine/curves/curves.js";
import type { PairingKernels } from "../../../src/engine/curves/curve-kernels.js";
import type { JointProofChecks } from "../../../src/engine/encoding/joint-g1-points.js";
import type { G1Point } from "../../../src/engine/curves/points.js";
import { pointOfOrder3 } from "../../support/small-order-points.js";
import { chainFixture, cubicFixture, mixedFixture, spoilWitness } from "../../support/groth16-fixtures.js";
import type { Fixture } from "../../support/groth16-fixtures.js";
import { KERNEL_KINDS } from "../../support/kernels.js";
import { plonkBlinding, snarkjsKey, snarkjsPlonk, witnessFile } from "../../support/plonk-fixtures.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();

/** One set-up for each curve and domain of the file: it takes longer than the rest of a test. */
const setups = new Map<string, ReturnType<typeof makeDevelopmentSetup>>();

async function setUp(
  fixture: Fixture,
  { kind, isAnother = false }: { readonly kind?: (typeof KERNEL_KINDS)[number]; readonly isAnother?: boolean } = {},
) {
  const curve = curveOfScalarField(fixture.r1cs.prime)!;
  const gates = gatesOf(fixture.r1cs);
  const domainPower = domainPowerOf(gates.gateCount);
  const name = `${curve.name} ${String(domainPower)}`;
  const made = isAnother ? undefined : setups.get(name);
  const making = made ?? makeDevelopmentSetup(await loadReferenceKernels(curve), domainPower);
  setups.set(name, making);
  const points = await making;
  const preferred = kind === undefined ? {} : { preferred: kind };
  const key = buildPlonkKey(gates, points, { curve, workspaces: 1, ...preferred });
  const prepared = preparePlonkKey(await loadPairing("wasm", curve), key.verifyingKey);
  const prover = new PlonkProver(key, curve);
  const prove = (witness = fixture.witness): PlonkProof => prover.prove(witness, plonkBlinding(curve)).proof;
  return { setup: { curve, points, domainPower }, key, prepared, prove };
}

function checksOf(kernels: PairingKernels): JointProofChecks {
  return {
    curve: kernels.curve,
    areInSubgroupG1: (points) => kernels.areInSubgroupG1(points),
    isInSubgroupG2: (point) => kernels.isInSubgroupG2(point),
    squareRootPower: (value) => kernels.squareRootPower(value),
    squareRootPowers: (values) => kernels.squareRootPowers(values),
  };
}

const CASES = [BN254, BLS12_381].flatMap((curve) => KERNEL_KINDS.map((kind) => ({ curve, kind })));

describe.each(CASES)(`PLONK on $curve.name, $kind kernels, seed ${String(random.seed)}`, ({ curve, kind }) => {
  // The second curve differs in its numbers only: one circuit is enough.
  it.each([
    ["every kind of row", mixedFixture(30, random, curve)] as const,
    ...(curve === BN254
      ? ([
          ["two rows", cubicFixture(3n)],
          ["a larger domain", mixedFixture(90, random)],
        ] as const)
      : []),
  ])("makes snarkjs' key, verifies its proof and makes one that it verifies, for %s", async (_name, fixture) => {
    const snarkjs = await snarkjsPlonk(curve);
    const { setup, key, prepared, prove } = await setUp(fixture, { kind });
    const theirs = await snarkjsKey(snarkjs, fixture, setup);
    expect(plonkVerifyingKeyToJson(key.verifyingKey, curve)).toEqual(theirs.verifyingKey);
    const made = await snarkjs.plonk.prove(theirs.zkey, witnessFile(fixture));
    expect(made.publicSignals).toEqual(fixture.publicSignals.map(String));
    const decoded = plonkProofFromJson(made.proof, prepared.kernels);
    expect(decoded.ok && verifyPlonk(prepared, decoded.value, fixture.publicSignals)).toBe(true);
    const proof = plonkProofToJson(prove(), curve);
    expect(await snarkjs.plonk.verify(theirs.verifyingKey, made.publicSignals, proof)).toBe(true);
  });

  it("has a compressed form and a snarkjs object that read back", async () => {
    const { prepared, prove, key } = await setUp(cubicFixture(3n, curve), { kind });
    const proof = prove();
    const hex = encodePlonkProofHex(proof, curve);
    expect(hex.length).toBe(curve === BN254 ? 960 : 1248);
    for (const form of [hex, plonkProofToJson(proof, curve)])
      expect(decodePlonkProof(form, prepared.kernels)).toEqual({ ok: true, value: proof });
    expect(plonkVerifyingKeyFromJson(plonkVerifyingKeyToJson(key.verifyingKey, curve), prepared.kernels)).toEqual({
      ok: true,
      value: key.verifyingKey,
    });
  });

  it("proves systems whose rows name a wire twice, and no false statement", async () => {
    const fixture = chainFixture(29, 7n, curve);
    const { prepared, prove, key } = await setUp(fixture, { kind });
    expect(verifyPlonk(prepared, prove(), fixture.publicSignals)).toBe(true);
    for (const wire of [1, 3, key.systemWireCount - 1])
      expect(verifyPlonk(prepared, prove(spoilWitness(fixture.witness, wire)), fixture.publicSignals)).toBe(false);
  });
});

describe("a PLONK proof", () => {
  it("is another one each time, and wipes the witness", async () => {
    const fixture = cubicFixture(5n);
    const { prove, key } = await setUp(fixture);
    const [first, second] = [prove(), prove()];
    expect(first.a).not.toEqual(second.a);
    expect(first.evaluations.a).not.toEqual(second.evaluations.a);
    const kernels = openKernels(key.memory, { preferred: key.kind });
    const { start, end } = key.workspaces[0] ?? { start: 0, end: 0 };
    expect(end - start).toBeGreaterThan(fixture.witness.length);
    expect(kernels.bytes(start, end - start).every((byte) => byte === 0)).toBe(true);
    expect(() => prove(fixture.witness.subarray(32))).toThrow(RangeError);
  });

  it("is refused with any member or public signal changed", async () => {
    const fixture = mixedFixture(12, random);
    const { prepared, prove } = await setUp(fixture);
    const proof = prove();
    const [first = 0n, ...others] = fixture.publicSignals;
    const other = { x: BN254.generatorG1.x, y: BN254.generatorG1.y };
    const points = ["a", "b", "c", "z", "t1", "t2", "t3", "wXi", "wXiOmega"] as const;
    const values = ["a", "b", "c", "s1", "s2", "zOmega"] as const;
    const forged: PlonkProof[] = [
      ...points.map((name) => ({ ...proof, [name]: other })),
      ...points.map((name) => ({ ...proof, [name]: { x: proof[name].x, y: (proof[name].y + 1n) % BN254.q } })),
      ...points.map((name) => ({ ...proof, [name]: { x: proof[name].x + BN254.q, y: proof[name].y } })),
      { ...proof, a: proof.b, b: proof.a },
      { ...proof, wXi: proof.wXiOmega, wXiOmega: proof.wXi },
      ...[1n, -1n, BN254.r].flatMap((change) =>
        values.map((name) => ({
          ...proof,
          evaluations: { ...proof.evaluations, [name]: proof.evaluations[name] + change },
        })),
      ),
    ];
    expect(verifyPlonk(prepared, proof, fixture.publicSignals)).toBe(true);
    for (const each of forged) expect(verifyPlonk(prepared, each, fixture.publicSignals)).toBe(false);
    for (const signals of [
      [first + 1n, ...others],
      [first + BN254.r, ...others],
      [first - BN254.r, ...others],
      others,
      [first, ...others, 0n],
    ])
      expect(verifyPlonk(prepared, proof, signals)).toBe(false);
  });

  it("is refused under another circuit's key and under another setup", async () => {
    const fixture = cubicFixture(3n);
    const [own, other] = [await setUp(fixture), await setUp(fixture, { isAnother: true })];
    expect(verifyPlonk(other.prepared, own.prove(), fixture.publicSignals)).toBe(false);
    expect(verifyPlonk((await setUp(chainFixture(3))).prepared, own.prove(), fixture.publicSignals)).toBe(false);
  });

  it("is told from the wrong ones in a batch", async () => {
    const fixture = cubicFixture(3n);
    const { prepared, prove } = await setUp(fixture);
    const good = { proof: prove(), publicSignals: fixture.publicSignals };
    const wrong = { proof: { ...good.proof, z: good.proof.a }, publicSignals: fixture.publicSignals };
    const malformed = { proof: good.proof, publicSignals: [] };
    expect(verifyPlonkBatch(prepared, [])).toEqual([]);
    expect(verifyPlonkBatch(prepared, [good, good, good])).toEqual([true, true, true]);
    const claims = Array.from({ length: 7 }, () => [good, wrong, malformed][random.below(3)] ?? good);
    expect(verifyPlonkBatch(prepared, claims)).toEqual(claims.map((claim) => claim === good));
    expect(verifyPlonkBatch(prepared, [good, wrong, good, good])).toEqual([true, false, true, true]);
  });
});

it("takes no verifying key whose columns could overlap, or whose domain is too small", async () => {
  const { prepared, key } = await setUp(cubicFixture(3n));
  for (const change of [
    { k1: 1n },
    { k2: 2n },
    { k2: 1n },
    { domainPower: 2 },
    { domainPower: 29 },
    { publicCount: 9 },
  ])
    expect(() => preparePlonkKey(prepared.kernels, { ...key.verifyingKey, ...change })).toThrow(RangeError);
});

it("takes no point outside G1, in a proof or in a key", async () => {
  const fixture = cubicFixture(3n, BLS12_381);
  const { prepared, prove, key } = await setUp(fixture);
  const proof = prove();
  expect(verifyPlonk(prepared, proof, fixture.publicSignals)).toBe(true);
  const moved = ({ x, y }: G1Point): G1Point => {
    const { x: movedX, y: movedY } = bls12_381.G1.Point.fromAffine({ x, y }).add(pointOfOrder3()).toAffine();
    return { x: movedX, y: movedY };
  };
  for (const name of ["a", "z", "t3", "wXi", "wXiOmega"] as const) {
    const wrong = { ...proof, [name]: moved(proof[name]) };
    expect(verifyPlonk(prepared, wrong, fixture.publicSignals), name).toBe(false);
    expect(verifyPlonkBatch(prepared, [{ proof: wrong, publicSignals: fixture.publicSignals }])).toEqual([false]);
    for (const form of [encodePlonkProofHex(wrong, BLS12_381), plonkProofToJson(wrong, BLS12_381)])
      expect(decodePlonkProofs([form, encodePlonkProofHex(proof, BLS12_381)], prepared.kernels), name).toEqual([
        decodePlonkProof(form, prepared.kernels),
        { ok: true, value: proof },
      ]);
    expect(decodePlonkProof(encodePlonkProofHex(wrong, BLS12_381), prepared.kernels), name).toMatchObject({
      ok: false,
    });
    expect(decodePlonkProof(plonkProofToJson(wrong, BLS12_381), prepared.kernels), name).toMatchObject({ ok: false });
  }
  const wrongKey = { ...key.verifyingKey, s1: moved(key.verifyingKey.s1) };
  expect(() => preparePlonkKey(prepared.kernels, wrongKey)).toThrow("not in the subgroup G1");
  expect(plonkVerifyingKeyFromJson(plonkVerifyingKeyToJson(wrongKey, BLS12_381), prepared.kernels)).toEqual({
    ok: false,
    message: "S1 is not in the subgroup G1",
  });
});

describe("PLONK's encodings", () => {
  it("read what they write, in hex and as snarkjs' object, and nothing else", async () => {
    const fixture = cubicFixture(3n);
    const { prepared, prove } = await setUp(fixture);
    const { kernels } = prepared;
    const proof = prove();
    const hex = encodePlonkProofHex(proof, BN254);
    expect(hex).toMatch(/^[0-9a-f]{960}$/);
    for (const form of [hex, `0x${hex}`, plonkProofToJson(proof, BN254)])
      expect(decodePlonkProof(form, kernels)).toEqual({ ok: true, value: proof });
    const json = plonkProofToJson(proof, BN254);
    const refused = [
      hex.slice(2),
      `${hex}00`,
      hex.toUpperCase(),
      `00${hex.slice(2)}`,
      `40${"0".repeat(62)}${hex.slice(64)}`,
      `${hex.slice(0, -64)}${(proof.evaluations.zOmega + BN254.r).toString(16).padStart(64, "0")}`,
      { ...json, A: ["0", "1", "0"] },
      { ...json, eval_a: String(proof.evaluations.a + BN254.r) },
      { ...json, eval_a: `0${json.eval_a}` },
      { ...json, protocol: "groth16" },
      { ...json, curve: "bls12381" },
      { ...json, extra: "1" },
      { ...json, Z: undefined },
      null,
      [],
      7,
    ];
    for (const form of refused) expect(decodePlonkProof(form, kernels)).toMatchObject({ ok: false });
    const forms = [hex, ...refused, json, `0x${hex}`];
    expect(decodePlonkProofs(forms, kernels)).toEqual(forms.map((form) => decodePlonkProof(form, kernels)));
    // The roots of all points come from one call.
    const single = (): never => expect.unreachable("a root by itself");
    const joint = { ...checksOf(kernels), squareRootPower: single };
    expect(decodePlonkProofs([hex, `0x${hex}`], joint).map(({ ok }) => ok)).toEqual([true, true]);
  });

  it("read a verifying key, and refuse one whose numbers do not belong together", async () => {
    const { prepared, key } = await setUp(cubicFixture(3n));
    const json = plonkVerifyingKeyToJson(key.verifyingKey, BN254);
    expect(plonkVerifyingKeyFromJson(json, prepared.kernels)).toEqual({ ok: true, value: key.verifyingKey });
    const wrong = [
      { ...json, k1: "1" },
      { ...json, k2: "2" },
      { ...json, w: "1" },
      { ...json, power: 2 },
      { ...json, power: 29 },
      { ...json, nPublic: 9 },
      { ...json, nPublic: -1 },
      { ...json, S1: ["0", "1", "0"] },
      { ...json, Qm: ["1", "1", "1"] },
      {
        ...json,
        X_2: [
          ["1", "0"],
          ["1", "0"],
          ["1", "0"],
        ],
      },
      { ...json, protocol: "fflonk" },
    ];
    for (const each of wrong) expect(plonkVerifyingKeyFromJson(each, prepared.kernels)).toMatchObject({ ok: false });
  });
});
