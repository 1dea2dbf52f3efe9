import { beforeAll, describe, expect, it } from "vitest";
import { primeCurve } from "../../../src/engine/backends/snarkjs.js";
import type { CurveProgram } from "../../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { CurveKernels } from "../../../src/engine/curves/curve-kernels.js";
import { encodeG1, encodeG2 } from "../../../src/engine/curves/points.js";
import type { G2Point } from "../../../src/engine/curves/points.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { addFq2, multiplyFq2, squareRootFq2 } from "../../../src/engine/field/prime-field.js";
import { runInline } from "../../../src/engine/groth16/fixed-base-work.js";
import { forgeCanary } from "../../../src/engine/groth16/canary.js";
import { checkHonestProof, checkKey } from "../../../src/engine/groth16/gates.js";
import type { GateResult, GateSubject } from "../../../src/engine/groth16/gates.js";
import { proveGroth16 } from "../../../src/engine/groth16/prove.js";
import { ProvingKeyFormatError, readProvingKey, verifyingKeyOf } from "../../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../../src/engine/groth16/setup.js";
import type { SetupResult } from "../../../src/engine/groth16/setup.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../../src/engine/groth16/verify.js";
import { chainFixture, cubicFixture, seededRandom } from "../../support/groth16-fixtures.js";

const fixture = chainFixture(40);

describe("setup gates", () => {
  let kernels: CurveKernels, program: CurveProgram, setup: SetupResult;
  beforeAll(async () => {
    kernels = await loadReferenceKernels();
    program = await primeCurve();
    setup = await setupGroth16(fixture.r1cs);
  });

  const run = (change: Partial<GateSubject> & { zkey?: Uint8Array }): GateResult => {
    const key = readProvingKey(change.zkey ?? setup.zkey);
    return checkKey(kernels, program, {
      key,
      verifyingKey: change.verifyingKey ?? verifyingKeyOf(key),
      r1cs: change.r1cs ?? fixture.r1cs,
    });
  };
  /** A copy of the key with bytes replaced inside one view of it. */
  const patch = (
    view: (key: ReturnType<typeof readProvingKey>) => Uint8Array,
    at: number,
    bytes: Uint8Array,
  ): Uint8Array => {
    const copy = Uint8Array.from(setup.zkey);
    view(readProvingKey(copy)).set(bytes, at);
    return copy;
  };
  const header = (offset: number, bytes: Uint8Array): Uint8Array => {
    // protocol section 12 + 12 + 4, then the head of the header section
    const copy = Uint8Array.from(setup.zkey);
    copy.set(bytes, 12 + 12 + 4 + 12 + offset);
    return copy;
  };
  const at = { alpha1: 84, beta1: 148, beta2: 212, gamma2: 340, delta1: 468, delta2: 532 } as const;

  it("pass a fresh key", () => {
    expect(run({})).toEqual({ ok: true, passed: ["header", "phase2", "verifying_key", "circuit", "points", "canary"] });
  });

  it("stop a key whose gamma equals its delta, and the forgery that it allows is real", async () => {
    const key = readProvingKey(setup.zkey);
    const zkey = header(at.gamma2, encodeG2(key.deltaG2, BN254));
    expect(run({ zkey })).toMatchObject({ ok: false, gate: "phase2" });
    const weak = verifyingKeyOf(readProvingKey(zkey));
    const signals = [123n, 456n];
    const forged = forgeCanary(kernels, weak, signals);
    expect(forged !== undefined && verifyGroth16(prepareWith(await loadPairing("wasm"), weak), forged, signals)).toBe(
      true,
    );
  });

  it("stop a key without a phase 2 contribution", () => {
    const copy = header(at.delta1, encodeG1(BN254.generatorG1, BN254));
    copy.set(encodeG2(BN254.generatorG2, BN254), 40 + at.delta2);
    expect(run({ zkey: copy })).toMatchObject({ ok: false, gate: "phase2" });
  });

  it("stop beta and delta that differ between the groups", () => {
    expect(run({ zkey: header(at.beta1, encodeG1(BN254.generatorG1, BN254)) })).toMatchObject({
      ok: false,
      gate: "header",
    });
    expect(run({ zkey: header(at.delta1, encodeG1(BN254.generatorG1, BN254)) })).toMatchObject({
      ok: false,
      gate: "header",
    });
  });

  it("stop header points outside the subgroup", () => {
    expect(run({ zkey: header(at.gamma2, encodeG2(pointOutsideSubgroup(kernels), BN254)) })).toMatchObject({
      ok: false,
      gate: "header",
    });
  });

  it("do not even read a key with infinite or off-curve header points", () => {
    for (const offset of [at.alpha1, at.beta1, at.delta1])
      expect(() => run({ zkey: header(offset, new Uint8Array(64)) })).toThrow(ProvingKeyFormatError);
    for (const offset of [at.beta2, at.gamma2, at.delta2])
      expect(() => run({ zkey: header(offset, new Uint8Array(128)) })).toThrow(ProvingKeyFormatError);
    const flipped = header(at.alpha1, new Uint8Array(0));
    flipped[40 + at.alpha1]! ^= 1;
    expect(() => run({ zkey: flipped })).toThrow(ProvingKeyFormatError);
  });

  it("stop a swapped or changed verifying key", async () => {
    const other = await setupGroth16(fixture.r1cs);
    expect(run({ verifyingKey: other.verifyingKey })).toMatchObject({ ok: false, gate: "verifying_key" });
    const { verifyingKey } = setup;
    expect(run({ verifyingKey: { ...verifyingKey, ic: verifyingKey.ic.slice(0, -1) } })).toMatchObject({
      ok: false,
      gate: "verifying_key",
    });
    expect(run({ verifyingKey: { ...verifyingKey, ic: verifyingKey.ic.toReversed() } })).toMatchObject({
      ok: false,
      gate: "verifying_key",
    });
    expect(run({ verifyingKey: { ...verifyingKey, gammaG2: verifyingKey.deltaG2 } })).toMatchObject({
      ok: false,
      gate: "verifying_key",
    });
  });

  it("stop a key that leaves a public signal unbound", () => {
    expect(run({ zkey: patch((key) => key.icPoints, 64, new Uint8Array(64)) })).toMatchObject({
      ok: false,
      gate: "verifying_key",
    });
  });

  it("stop a key of another circuit", () => {
    expect(run({ r1cs: chainFixture(41).r1cs })).toMatchObject({ ok: false, gate: "circuit" });
    expect(run({ r1cs: cubicFixture(3n).r1cs })).toMatchObject({ ok: false, gate: "circuit" });
    const { r1cs } = fixture;
    const coefficients = Uint8Array.from(r1cs.constraints.a.coefficients);
    coefficients[0] = 2;
    expect(
      run({ r1cs: { ...r1cs, constraints: { ...r1cs.constraints, a: { ...r1cs.constraints.a, coefficients } } } }),
    ).toMatchObject({ ok: false, gate: "circuit" });
  });

  it("stop points off the curve, outside the subgroup, or different between B1 and B2", () => {
    const key = readProvingKey(setup.zkey);
    const wire = key.wireCount - 1;
    expect(run({ zkey: patch((k) => k.aPoints, 64 * wire, Uint8Array.of(1, 2, 3)) })).toMatchObject({
      ok: false,
      gate: "points",
    });
    expect(run({ zkey: patch((k) => k.hPoints, 64 * 5, new Uint8Array(64)) })).toMatchObject({
      ok: false,
      gate: "points",
    });
    expect(
      run({ zkey: patch((k) => k.b2Points, 128 * wire, encodeG2(pointOutsideSubgroup(kernels), BN254)) }),
    ).toMatchObject({ ok: false, gate: "points" });
    expect(run({ zkey: patch((k) => k.b1Points, 64 * wire, encodeG1(BN254.generatorG1, BN254)) })).toMatchObject({
      ok: false,
      gate: "points",
    });
  });

  it.each([
    ["B2", 0],
    ["A", 1],
    ["B1", 2],
    ["IC", 3],
    ["C", 4],
    ["H", 5],
  ] as const)("the setup's self-test finds a wrong point in %s, which no public check could", async (_name, run) => {
    const result = await setupGroth16(fixture.r1cs, {
      execute: async (work, onJob) => {
        await runInline(work, onJob);
        const job = work.jobs[run]!;
        const [bytes, points] = job.group === "G2" ? [128, job.count] : [64, job.count];
        // The generator is a good curve point, and the wrong one.
        const wrong = job.group === "G2" ? encodeG2(BN254.generatorG2, BN254) : encodeG1(BN254.generatorG1, BN254);
        new Uint8Array(work.output).set(wrong, job.outputAt + (points - 1) * bytes);
      },
    });
    expect(result.selfTest).toMatchObject({ ok: false });
  });

  it("pass an honest proof and stop a verifier that takes anything else", async () => {
    const proof = await proveGroth16(readProvingKey(setup.zkey), fixture.witness);
    const prepared = prepareWith(await loadPairing("wasm"), setup.verifyingKey);
    expect(checkHonestProof(prepared, proof, fixture.publicSignals)).toEqual({ ok: true, passed: ["honest_proof"] });
    expect(checkHonestProof(prepared, { ...proof, c: proof.a }, fixture.publicSignals)).toMatchObject({
      ok: false,
      gate: "honest_proof",
    });
    expect(checkHonestProof(prepared, proof, fixture.publicSignals.with(0, 1n))).toMatchObject({
      ok: false,
      gate: "honest_proof",
    });
  });

  it("refuse truncated and lengthened key files at every length tried", () => {
    const { zkey } = setup;
    const random = seededRandom("gates");
    for (const length of [
      0,
      3,
      11,
      12,
      100,
      zkey.length - 1,
      ...Array.from({ length: 50 }, () => random.integer(zkey.length)),
    ]) {
      expect(() => readProvingKey(zkey.slice(0, length))).toThrow(ProvingKeyFormatError);
    }
    expect(() => readProvingKey(Buffer.concat([zkey, Uint8Array.of(0)]))).toThrow(ProvingKeyFormatError);
  });
});

function pointOutsideSubgroup(kernels: CurveKernels): G2Point {
  for (let c0 = 1n; ; c0 += 1n) {
    const x = { c0, c1: 1n };
    const y = squareRootFq2(
      addFq2(multiplyFq2(multiplyFq2(x, x, BN254.q), x, BN254.q), BN254.twistB, BN254.q),
      BN254.q,
    );
    if (y !== undefined && !kernels.isInSubgroupG2({ x, y })) return { x, y };
  }
}
