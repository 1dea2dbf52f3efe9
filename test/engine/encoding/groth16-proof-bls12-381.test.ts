import { bls12_381 } from "@noble/curves/bls12-381.js";
import { beforeAll, describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import type { CurveKernels } from "../../../src/engine/curves/curve-kernels.js";
import type { G1Point, G2Point } from "../../../src/engine/curves/points.js";
import { compressG1, compressG2, decompressG1, decompressG2 } from "../../../src/engine/encoding/compressed-points.js";
import {
  decodeProof,
  decodeProofHex,
  decodeProofs,
  encodeProofHex,
  proofFromJson,
  proofToJson,
} from "../../../src/engine/encoding/groth16-proof.js";
import { verifyingKeyFromJson, verifyingKeyToJson } from "../../../src/engine/encoding/groth16-verifying-key.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import type { Groth16Proof, Groth16VerifyingKey } from "../../../src/engine/groth16/proof.js";
import { proveGroth16 } from "../../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../../src/engine/groth16/setup.js";
import { verifyGroth16Batch } from "../../../src/engine/groth16/verify-batch.js";
import { prepareWith, verifyGroth16 } from "../../../src/engine/groth16/verify.js";
import type { PreparedVerifyingKey } from "../../../src/engine/groth16/verify.js";
import { loadKernelPairing } from "../../../src/engine/kernels/pairing/pairing.js";
import type { KernelPairing } from "../../../src/engine/kernels/pairing/pairing.js";
import { chainFixture, seededRandom } from "../../support/groth16-fixtures.js";
import { pointOfOrder3, pointOfOrder13 } from "../../support/small-order-points.js";

const curve = BLS12_381;
const fixture = chainFixture(20, 7n, curve);
const G1 = bls12_381.G1.Point,
  G2 = bls12_381.G2.Point;
const containing = (text: string): unknown => expect.stringContaining(text);
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** The generators of zkcrypto's and the IETF's draft (draft-irtf-cfrg-pairing-friendly-curves-11, appendix C). */
const GENERATORS = {
  g1: "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb",
  g2:
    "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e" +
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8",
};

describe("Groth16 proof encodings on BLS12-381", () => {
  let kernels: CurveKernels, pairing: KernelPairing, prepared: PreparedVerifyingKey;
  let key: Groth16VerifyingKey, proof: Groth16Proof, hex: string;
  beforeAll(async () => {
    const { loadReferenceKernels } = await import("../../../src/engine/reference/reference-kernels.js");
    kernels = await loadReferenceKernels(curve);
    pairing = loadKernelPairing(undefined, curve);
    const setup = await setupGroth16(fixture.r1cs);
    key = setup.verifyingKey;
    prepared = prepareWith(await loadPairing("wasm", curve), key);
    proof = await proveGroth16(readProvingKey(setup.zkey), fixture.witness);
    hex = encodeProofHex(proof, curve);
  });

  it("take 192 bytes and read back, from hex, 0x-prefixed hex and snarkjs JSON, one by one and together", () => {
    expect(hex).toMatch(/^[0-9a-f]{384}$/);
    const json: unknown = JSON.parse(JSON.stringify(proofToJson(proof, curve)));
    expect(json).toMatchObject({ protocol: "groth16", curve: "bls12381" });
    const decoded = { ok: true, value: proof };
    for (const checks of [kernels, pairing]) {
      expect(decodeProofHex(hex, checks)).toEqual(decoded);
      expect(decodeProof(`0x${hex}`, checks)).toEqual(decoded);
      expect(decodeProof(json, checks)).toEqual(decoded);
      expect(decodeProofs([hex, json, `0x${hex}`], checks)).toEqual([decoded, decoded, decoded]);
    }
    for (const name of ["BLS12_381", "bls12-381"])
      expect(proofFromJson({ ...(json as object), curve: name }, pairing)).toEqual(decoded);
    for (const name of ["bn128", "bls12377", "", 7])
      expect(proofFromJson({ ...(json as object), curve: name }, pairing)).toMatchObject({ ok: false });
  });

  it("are those that noble writes and reads, of published generators too", () => {
    expect(hexOf(compressG1(curve.generatorG1, curve))).toBe(GENERATORS.g1);
    expect(hexOf(compressG2(curve.generatorG2, curve))).toBe(GENERATORS.g2);
    const theirs = [G1.fromAffine(proof.a), G2.fromAffine(proof.b), G1.fromAffine(proof.c)];
    expect(theirs.map((point) => point.toHex(true)).join("")).toBe(hex);
    const random = seededRandom("bls points");
    for (let i = 0; i < 8; i += 1) {
      const scalar = 1n + random.below(curve.r - 1n);
      const [p, q] = [G1.BASE.multiply(scalar), G2.BASE.multiply(scalar)];
      for (const point of [p, p.negate()])
        expect(hexOf(compressG1(decompressG1(point.toBytes(true), pairing, "point"), curve))).toBe(point.toHex(true));
      for (const point of [q, q.negate()])
        expect(hexOf(compressG2(decompressG2(point.toBytes(true), pairing, "point"), curve))).toBe(point.toHex(true));
    }
  });

  it("have one spelling: other flags, coordinates beyond the modulus, other lengths and cases are refused", () => {
    const withFlags = (flags: number, at: number): string => {
      const bytes = Buffer.from(hex, "hex");
      bytes[at] = (bytes[at]! & 0x1f) | (flags << 5);
      return bytes.toString("hex");
    };
    for (const at of [0, 48, 144]) {
      for (const flags of [0b000, 0b001, 0b010, 0b011, 0b111])
        expect(decodeProofHex(withFlags(flags, at), pairing)).toMatchObject({ ok: false });
      expect(decodeProofHex(withFlags(0b110, at), pairing)).toMatchObject({
        ok: false,
        message: containing("infinity"),
      });
    }
    // x = 0 of the curve's points, and the same x plus the modulus, which fits the 381 bits.
    const beyond = Buffer.from(curve.q.toString(16).padStart(96, "0"), "hex");
    beyond[0]! |= 0x80;
    expect(() => decompressG1(beyond, pairing, "point")).toThrow("not below the field's modulus");
    for (const text of ["", hex.slice(2), `${hex}00`, hex.toUpperCase(), hex.slice(0, 256)])
      expect(decodeProofHex(text, pairing)).toMatchObject({ ok: false });
    const json = proofToJson(proof, curve);
    const aliased = { ...json, pi_a: [String(proof.a.x + curve.q), json.pi_a[1], "1"] };
    expect(proofFromJson(aliased, pairing)).toMatchObject({ ok: false });
  });

  it("accepts no proof with one to three flipped bits, but for the one with A and B negated", () => {
    const random = seededRandom("bls bit flips");
    const signs = [5, 48 * 8 + 5];
    for (let i = 0; i < 300; i += 1) {
      const bytes = Buffer.from(hex, "hex");
      const bits =
        i === 0 ? new Set(signs) : new Set(Array.from({ length: 1 + random.integer(3) }, () => random.integer(1536)));
      for (const bit of bits) bytes[bit >> 3]! ^= 1 << (bit & 7);
      const decoded = decodeProofHex(bytes.toString("hex"), pairing);
      if (!decoded.ok) continue;
      const isNegated = bits.size === 2 && signs.every((bit) => bits.has(bit));
      expect(verifyGroth16(prepared, decoded.value, fixture.publicSignals), [...bits].join()).toBe(isNegated);
    }
  });

  /** Proofs that every pairing takes for the valid one: points of small order pair to one. */
  const malleated = (): { readonly name: string; readonly proof: Groth16Proof; readonly message: string }[] => {
    const moved = ({ x, y }: G1Point): G1Point => pointOf(G1.fromAffine({ x, y }).add(pointOfOrder3()));
    const b: G2Point = pointOf(G2.fromAffine(proof.b).add(pointOfOrder13()));
    return [
      { name: "a", proof: { ...proof, a: moved(proof.a) }, message: "G1" },
      { name: "b", proof: { ...proof, b }, message: "G2" },
      { name: "c", proof: { ...proof, c: moved(proof.c) }, message: "G1" },
    ];
  };

  it("refuse points outside the subgroups, which every pairing takes for the points that they were added to", () => {
    for (const { name, proof: wrong, message } of malleated()) {
      const refused = { ok: false, message: containing(`is not in the subgroup ${message}`) };
      for (const checks of [kernels, pairing]) {
        expect(decodeProofHex(encodeProofHex(wrong, curve), checks), name).toEqual(refused);
        expect(proofFromJson(proofToJson(wrong, curve), checks), name).toEqual(refused);
        const texts = [hex, encodeProofHex(wrong, curve), hex, hex, hex, hex];
        expect(decodeProofs(texts, checks).map(({ ok }) => ok)).toEqual([true, false, true, true, true, true]);
      }
      expect(verifyGroth16(prepared, wrong, fixture.publicSignals), name).toBe(false);
    }
    const claims = [proof, ...malleated().map(({ proof: wrong }) => wrong), proof, proof];
    expect(
      verifyGroth16Batch(
        prepared,
        claims.map((each) => ({ proof: each, publicSignals: fixture.publicSignals })),
      ),
    ).toEqual([true, false, false, false, true, true]);
  });

  it("refuse verifying keys with points outside the subgroups", () => {
    const json = verifyingKeyToJson(key, kernels);
    const torsion = pointOfOrder3();
    const moved = ({ x, y }: G1Point): G1Point => pointOf(G1.fromAffine({ x, y }).add(torsion));
    const triple = ({ x, y }: G1Point): string[] => [String(x), String(y), "1"];
    const wrongKeys: [string, Groth16VerifyingKey][] = [
      ["vk_alpha_1", { ...key, alphaG1: moved(key.alphaG1) }],
      ["IC[1]", { ...key, ic: key.ic.with(1, moved(key.ic[1]!)) }],
    ];
    for (const [name, wrong] of wrongKeys) {
      const text = { ...json, vk_alpha_1: triple(wrong.alphaG1), IC: wrong.ic.map((point) => triple(point!)) };
      expect(verifyingKeyFromJson(text, pairing)).toEqual({
        ok: false,
        message: `${name} is not in the subgroup G1`,
      });
      expect(() => prepareWith(pairing, wrong)).toThrow("not in the subgroup G1");
    }
  });
});

function pointOf<Coordinate>(point: { toAffine(): { x: Coordinate; y: Coordinate } }): {
  x: Coordinate;
  y: Coordinate;
} {
  const { x, y } = point.toAffine();
  return { x, y };
}
