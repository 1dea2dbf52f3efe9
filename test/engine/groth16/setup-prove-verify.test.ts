import { beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import type { Snarkjs } from "../../../src/engine/backends/snarkjs.js";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { CurveParameters } from "../../../src/engine/curves/curve-parameters.js";
import { negateG1 } from "../../../src/engine/curves/points.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { proofFromJson, proofToJson } from "../../../src/engine/encoding/groth16-proof.js";
import { verifyingKeyFromJson, verifyingKeyToJson } from "../../../src/engine/encoding/groth16-verifying-key.js";
import { WitnessFormatError, proveGroth16, publicSignalsOf } from "../../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import type { Groth16ProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { SetupInputError, setupGroth16 } from "../../../src/engine/groth16/setup.js";
import type { SetupResult } from "../../../src/engine/groth16/setup.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../../src/engine/groth16/verify.js";
import type { PreparedVerifyingKey } from "../../../src/engine/groth16/verify.js";
import { wtnsFile } from "../../../bench/circuits.js";
import { chainFixture, cubicFixture, spoilWitness } from "../../support/groth16-fixtures.js";
import type { Fixture } from "../../support/groth16-fixtures.js";

const CASES = [BN254, BLS12_381].flatMap((curve) =>
  [
    { name: "cubic", fixture: cubicFixture(3n, curve) },
    { name: "one constraint", fixture: chainFixture(1, 7n, curve) },
    { name: "a full domain", fixture: chainFixture(29, 7n, curve) },
    // The second curve differs in its numbers only: one large circuit is enough.
    ...(curve === BN254 ? [{ name: "1,000 constraints", fixture: chainFixture(1000) }] : []),
  ].map((each): { name: string; fixture: Fixture; curve: CurveParameters } => ({ ...each, curve })),
);

describe.each(CASES)("Groth16 on $curve.name over $name", ({ fixture, curve }) => {
  let setup: SetupResult, key: Groth16ProvingKey, prepared: PreparedVerifyingKey, snarkjs: Snarkjs;
  const progress: number[] = [];
  beforeAll(async () => {
    snarkjs = await primeSnarkjs(curve.name);
    setup = await setupGroth16(fixture.r1cs, { onProgress: (share) => progress.push(share) });
    key = readProvingKey(setup.zkey);
    prepared = prepareWith(await loadPairing("wasm", curve), setup.verifyingKey);
  });

  it("makes a key that passes its own test and reports rising progress to the end", () => {
    expect(setup.selfTest).toEqual({ ok: true });
    expect(progress.at(-1)).toBe(1);
    expect(progress.every((share, i) => i === 0 || share >= progress[i - 1]!)).toBe(true);
  });

  it("proves and verifies, with fresh blinding each time", async () => {
    const [first, second] = [await proveGroth16(key, fixture.witness), await proveGroth16(key, fixture.witness)];
    expect(publicSignalsOf(key, fixture.witness)).toEqual(fixture.publicSignals);
    expect(verifyGroth16(prepared, first, fixture.publicSignals)).toBe(true);
    expect(verifyGroth16(prepared, second, fixture.publicSignals)).toBe(true);
    expect(first.a.x).not.toBe(second.a.x);
    expect(first.b.x.c0).not.toBe(second.b.x.c0);
    expect(first.c.x).not.toBe(second.c.x);
  });

  it("makes proofs that snarkjs accepts, with the verification key that snarkjs itself exports", async () => {
    const exported = await snarkjs.zKey.exportVerificationKey(Uint8Array.from(setup.zkey));
    expect(verifyingKeyToJson(setup.verifyingKey, await loadReferenceKernels(curve))).toEqual(exported);
    const proof = proofToJson(await proveGroth16(key, fixture.witness), curve);
    expect(await snarkjs.groth16.verify(exported, fixture.publicSignals.map(String), proof)).toBe(true);
    const changed = fixture.publicSignals.map((signal, i) => String(i === 0 ? signal ^ 1n : signal));
    expect(await snarkjs.groth16.verify(exported, changed, proof)).toBe(false);
  });

  it("accepts proofs that snarkjs makes from its keys", async () => {
    const { proof, publicSignals } = await snarkjs.groth16.prove(
      Uint8Array.from(setup.zkey),
      wtnsFile(fixture.witness, curve),
    );
    expect(publicSignals).toEqual(fixture.publicSignals.map(String));
    const decoded = proofFromJson(proof, await loadReferenceKernels(curve));
    expect(decoded.ok && verifyGroth16(prepared, decoded.value, fixture.publicSignals)).toBe(true);
  });

  it("has a verifying key that reads back as it was", async () => {
    const kernels = await loadPairing("wasm", curve);
    const json = verifyingKeyToJson(setup.verifyingKey, await loadReferenceKernels(curve));
    expect(json.curve).toBe(curve.snarkjsName);
    expect(verifyingKeyFromJson(json, kernels)).toEqual({ ok: true, value: setup.verifyingKey });
  });

  it("works on a key in shared memory", async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(setup.zkey.length));
    shared.set(setup.zkey);
    expect(
      verifyGroth16(prepared, await proveGroth16(readProvingKey(shared), fixture.witness), fixture.publicSignals),
    ).toBe(true);
  });

  it("makes no valid proof from a witness that breaks a constraint", async () => {
    const last = fixture.r1cs.wireCount - 1;
    const proof = await proveGroth16(key, spoilWitness(fixture.witness, last));
    expect(verifyGroth16(prepared, proof, fixture.publicSignals)).toBe(false);
  });

  it("rejects changed, missing, extra, negative and unreduced public signals", async () => {
    const proof = await proveGroth16(key, fixture.witness);
    const { publicSignals } = fixture;
    const variants = publicSignals.flatMap((signal, i) =>
      [signal ^ 1n, signal + curve.r, signal - curve.r, -1n, curve.r].map((value) => publicSignals.with(i, value)),
    );
    for (const signals of [...variants, publicSignals.slice(1), [...publicSignals, 0n], []])
      expect(verifyGroth16(prepared, proof, signals)).toBe(false);
    if (publicSignals.length > 1) expect(verifyGroth16(prepared, proof, publicSignals.toReversed())).toBe(false);
  });

  it("rejects proofs with exchanged, negated or foreign points, and takes re-randomised ones", async () => {
    const [proof, other] = [await proveGroth16(key, fixture.witness), await proveGroth16(key, fixture.witness)];
    const wrong = [
      { ...proof, a: proof.c },
      { ...proof, c: proof.a },
      { ...proof, a: proof.c, c: proof.a },
      { ...proof, a: other.a },
      { ...proof, b: other.b },
      { ...proof, c: other.c },
      { ...proof, a: negateG1(proof.a, curve) },
      { ...proof, c: negateG1(proof.c, curve) },
      { ...proof, b: setup.verifyingKey.betaG2 },
      { ...proof, a: curve.generatorG1 },
    ];
    for (const candidate of wrong) expect(verifyGroth16(prepared, candidate, fixture.publicSignals)).toBe(false);
    // Anyone can do this to a valid Groth16 proof (Baghery, Kohlweiss, Siim, Volkhov, eprint 2020/811): it stays valid.
    const { b } = proof;
    const negated = {
      ...proof,
      a: negateG1(proof.a, curve),
      b: { x: b.x, y: { c0: (curve.q - b.y.c0) % curve.q, c1: (curve.q - b.y.c1) % curve.q } },
    };
    expect(verifyGroth16(prepared, negated, fixture.publicSignals)).toBe(true);
  });

  it("rejects a proof under another key of the same circuit", async () => {
    const again = await setupGroth16(fixture.r1cs);
    const proof = await proveGroth16(key, fixture.witness);
    expect(
      verifyGroth16(prepareWith(await loadPairing("wasm", curve), again.verifyingKey), proof, fixture.publicSignals),
    ).toBe(false);
  });

  it("refuses witnesses of the wrong length, out of the field, or not beginning with one", async () => {
    const { witness } = fixture;
    const unreduced = Uint8Array.from(witness).fill(0xff, 64, 96);
    const modulus = Uint8Array.from(witness);
    modulus.set(Buffer.from(curve.r.toString(16).padStart(64, "0"), "hex").reverse(), 64);
    for (const bad of [witness.subarray(32), new Uint8Array(0), unreduced, modulus, spoilWitness(witness, 0)])
      await expect(proveGroth16(key, bad)).rejects.toThrow(WitnessFormatError);
  });
});

describe("Groth16 setup", () => {
  it("refuses a circuit over another field", async () => {
    await expect(setupGroth16({ ...cubicFixture(3n).r1cs, prime: 7n })).rejects.toThrow(SetupInputError);
  });

  it("keeps keys and circuits of different curves apart", async () => {
    const ours = await setupGroth16(cubicFixture(3n, BLS12_381).r1cs);
    expect(readProvingKey(ours.zkey).curve).toBe(BLS12_381);
    const bn254 = await loadPairing("wasm");
    expect(() => prepareWith(bn254, ours.verifyingKey)).toThrow("the verifying key is for another curve");
    const json = verifyingKeyToJson(ours.verifyingKey, await loadReferenceKernels(BLS12_381));
    expect(verifyingKeyFromJson(json, bn254)).toEqual({ ok: false, message: "curve must be bn128" });
  });

  it("draws a new trapdoor each time", async () => {
    const [first, second] = [await setupGroth16(cubicFixture(3n).r1cs), await setupGroth16(cubicFixture(3n).r1cs)];
    const keys = [first.verifyingKey, second.verifyingKey];
    expect(
      new Set(keys.flatMap((key) => [key.alphaG1.x, key.betaG2.x.c0, key.gammaG2.x.c0, key.deltaG2.x.c0])).size,
    ).toBe(8);
  });

  it("makes a key that snarkjs can contribute to", async () => {
    const fixture = cubicFixture(5n);
    const snarkjs = await primeSnarkjs();
    const setup = await setupGroth16(fixture.r1cs);
    const contributed: { type: "mem"; data?: Uint8Array } = { type: "mem" };
    await snarkjs.zKey.contribute(Uint8Array.from(setup.zkey), contributed, "second", "entropy for a test");
    const key = readProvingKey(contributed.data!);
    const { verifyingKeyOf } = await import("../../../src/engine/groth16/proving-key.js");
    expect(verifyingKeyOf(key).deltaG2).not.toEqual(setup.verifyingKey.deltaG2);
    expect(
      verifyGroth16(
        prepareWith(await loadPairing("wasm"), verifyingKeyOf(key)),
        await proveGroth16(key, fixture.witness),
        fixture.publicSignals,
      ),
    ).toBe(true);
  });
});
