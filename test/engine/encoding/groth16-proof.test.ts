import { bn254 } from "@noble/curves/bn254.js";
import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { CurveKernels } from "../../../src/engine/curves/curve-kernels.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { compressG1, compressG2, decompressG1, decompressG2 } from "../../../src/engine/encoding/compressed-points.js";
import { Malformed } from "../../../src/engine/encoding/decoded.js";
import {
  decodeProof,
  decodeProofHex,
  decodeProofs,
  encodeProofHex,
  proofFromJson,
  proofToJson,
} from "../../../src/engine/encoding/groth16-proof.js";
import type { Groth16Proof } from "../../../src/engine/groth16/proof.js";
import { proveGroth16 } from "../../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../../src/engine/groth16/setup.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../../src/engine/groth16/verify.js";
import type { PreparedVerifyingKey } from "../../../src/engine/groth16/verify.js";
import { addFq2, multiplyFq2, squareRootFq2 } from "../../../src/engine/field/prime-field.js";
import { loadKernelPairing } from "../../../src/engine/kernels/pairing/pairing.js";
import { chainFixture, gnarkVectors, seededRandom } from "../../support/groth16-fixtures.js";

const fixture = chainFixture(20);
const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));

describe("Groth16 proof encodings on BN254", () => {
  let kernels: CurveKernels, prepared: PreparedVerifyingKey, proof: Groth16Proof, hex: string;
  beforeAll(async () => {
    kernels = await loadReferenceKernels();
    const setup = await setupGroth16(fixture.r1cs);
    prepared = prepareWith(await loadPairing("wasm"), setup.verifyingKey);
    proof = await proveGroth16(readProvingKey(setup.zkey), fixture.witness);
    hex = encodeProofHex(proof, BN254);
  });

  it("round-trips through hex, through 0x-prefixed hex and through snarkjs JSON", () => {
    expect(hex).toMatch(/^[0-9a-f]{256}$/);
    expect(decodeProofHex(hex, kernels)).toEqual({ ok: true, value: proof });
    expect(decodeProof(`0x${hex}`, kernels)).toEqual({ ok: true, value: proof });
    expect(decodeProof(JSON.parse(JSON.stringify(proofToJson(proof, BN254))), kernels)).toEqual({
      ok: true,
      value: proof,
    });
  });

  it("decodes many at once as it decodes each, malformed ones among them", () => {
    const json = proofToJson(proof, BN254);
    const outside = { ...json, pi_b: [["1", "1"], json.pi_b[1], ["1", "0"]] };
    const flipped = (at: number): string => hex.slice(0, at) + (hex[at] === "1" ? "2" : "1") + hex.slice(at + 1);
    const values = [
      hex,
      flipped(40),
      flipped(70),
      flipped(100),
      flipped(230),
      `0x${hex}`,
      proofToJson(proof, BN254),
      outside,
      "",
      "00",
      `0x${hex}00`,
      7,
      null,
      hex.toUpperCase(),
      "f".repeat(256),
      hex,
      hex,
    ];
    for (const checks of [kernels, loadKernelPairing()]) {
      expect(decodeProofs(values, checks)).toEqual(values.map((value) => decodeProof(value, kernels)));
      expect(decodeProofs([hex], checks)).toEqual([{ ok: true, value: proof }]);
      expect(decodeProofs([], checks)).toEqual([]);
    }
  });

  it("names points outside the subgroup when it decodes many at once", () => {
    // The point of the twist with the least x: as good as never in the subgroup.
    let b: Groth16Proof["b"] | undefined;
    for (let c0 = 1n; b === undefined; c0 += 1n) {
      const x = { c0, c1: 1n };
      const y = squareRootFq2(
        addFq2(multiplyFq2(multiplyFq2(x, x, BN254.q), x, BN254.q), BN254.twistB, BN254.q),
        BN254.q,
      );
      if (y !== undefined) b = { x, y };
    }
    const text = encodeProofHex({ ...proof, b }, BN254);
    const pairing = loadKernelPairing();
    const decoded = decodeProofs([hex, text, hex, text, hex, hex], pairing);
    expect(decoded.map(({ ok }) => ok)).toEqual([true, false, true, false, true, true]);
    expect(decoded[1]).toEqual({ ok: false, message: "Bs is not in the subgroup G2" });
  });

  it("writes points that an independent decoder reads as the same points", () => {
    // Same x, flags translated: noble's BN254 has no gnark form, so its curve equation and its y are compared.
    const p = bn254.G1.Point.fromAffine(proof.a),
      q = bn254.G2.Point.fromAffine(proof.b);
    p.assertValidity();
    q.assertValidity();
    const first = bytesOf(hex.slice(0, 64)),
      isLargest = (first[0]! & 0x40) !== 0;
    expect(isLargest).toBe(p.toAffine().y > p.negate().toAffine().y);
    first[0]! &= 0x3f;
    expect(BigInt(`0x${Buffer.from(first).toString("hex")}`)).toBe(p.toAffine().x);
    const g2 = bytesOf(hex.slice(64, 192)),
      isLargestG2 = (g2[0]! & 0x40) !== 0;
    expect(isLargestG2).toBe(q.toAffine().y.c1 > q.negate().toAffine().y.c1);
    g2[0]! &= 0x3f;
    expect(BigInt(`0x${Buffer.from(g2.subarray(0, 32)).toString("hex")}`)).toBe(q.toAffine().x.c1);
    expect(BigInt(`0x${Buffer.from(g2.subarray(32)).toString("hex")}`)).toBe(q.toAffine().x.c0);
  });

  it("reads gnark's points: generators, both signs, and refusals", () => {
    const vectors = gnarkVectors();
    const generator = decompressG2(bytesOf(vectors.g2Generator), kernels, "point");
    expect(generator).toEqual(BN254.generatorG2);
    expect(Buffer.from(compressG2(BN254.generatorG2, BN254)).toString("hex")).toBe(vectors.g2Generator);
    expect(Buffer.from(compressG1(BN254.generatorG1, BN254)).toString("hex")).toBe(`80${"00".repeat(30)}01`);
    expect(decompressG1(bytesOf(`c0${"00".repeat(30)}01`), kernels, "point")).toEqual({ x: 1n, y: BN254.q - 2n });
    expect(() => decompressG2(bytesOf(vectors.g2OutsideSubgroup), kernels, "point")).toThrow(
      new Malformed("point is not in the subgroup G2"),
    );
    expect(() => decompressG2(bytesOf(vectors.g2NoRoot), kernels, "point")).toThrow(Malformed);
    expect(() => decompressG1(bytesOf(vectors.g1NoRoot), kernels, "point")).toThrow(Malformed);
  });

  it("verifies a proof that gnark made, under the verifying key that gnark wrote", async () => {
    const { proof: proofHex, verifyingKey: keyHex, publicSignals } = gnarkVectors();
    const word = (i: number): bigint => BigInt(`0x${proofHex.slice(64 * i, 64 * (i + 1))}`);
    const gnarkProof: Groth16Proof = {
      curve: "BN254",
      a: { x: word(0), y: word(1) },
      b: { x: { c1: word(2), c0: word(3) }, y: { c1: word(4), c0: word(5) } },
      c: { x: word(6), y: word(7) },
    };
    const key = bytesOf(keyHex);
    // alpha G1, beta G1, beta G2, gamma G2, delta G1, delta G2, count, IC
    const g1 = (at: number): ReturnType<typeof decompressG1> =>
      decompressG1(key.subarray(at, at + 32), kernels, "point");
    const g2 = (at: number): ReturnType<typeof decompressG2> =>
      decompressG2(key.subarray(at, at + 64), kernels, "point");
    const gnarkKey = prepareWith(await loadPairing("wasm"), {
      curve: "BN254",
      publicCount: 2,
      alphaG1: g1(0),
      betaG2: g2(64),
      gammaG2: g2(128),
      deltaG2: g2(224),
      ic: [g1(292), g1(324), g1(356)],
    });
    const decoded = decodeProofHex(encodeProofHex(gnarkProof, BN254), kernels);
    expect(decoded).toEqual({ ok: true, value: gnarkProof });
    expect(verifyGroth16(gnarkKey, gnarkProof, publicSignals.map(BigInt))).toBe(true);
    expect(verifyGroth16(gnarkKey, gnarkProof, publicSignals.map(BigInt).toReversed())).toBe(false);
  });

  it("chooses the sign of y in G2 by its first coefficient when the second is zero", () => {
    const random = seededRandom("g2 sign");
    for (let i = 0; i < 20; i += 1) {
      const point = bn254.G2.Point.BASE.multiply(1n + random.below(BN254.r - 1n)).toAffine();
      for (const candidate of [point, bn254.G2.Point.fromAffine(point).negate().toAffine()]) {
        expect(decompressG2(compressG2(candidate, BN254), kernels, "point")).toEqual({
          x: { c0: candidate.x.c0, c1: candidate.x.c1 },
          y: { c0: candidate.y.c0, c1: candidate.y.c1 },
        });
      }
    }
  });

  it("refuses hex of another length, case or alphabet", () => {
    const bad = [
      "",
      "0x",
      hex.slice(2),
      `${hex}00`,
      hex.toUpperCase(),
      `${hex.slice(0, -1)}g`,
      ` ${hex.slice(1)}`,
      `0x0x${hex}`,
      `0X${hex}`,
      hex.repeat(2),
      "\u0660".repeat(256),
    ];
    for (const text of bad) expect(decodeProof(text, kernels)).toMatchObject({ ok: false });
  });

  it("refuses infinity, uncompressed flags and coordinates at or above the modulus in every point", () => {
    const replace = (at: number, bytes: Uint8Array): string => {
      const copy = bytesOf(hex);
      copy.set(bytes, at);
      return Buffer.from(copy).toString("hex");
    };
    const q = bytesOf(BN254.q.toString(16).padStart(64, "0"));
    for (const [at, length] of [
      [0, 32],
      [32, 64],
      [96, 32],
    ] as const) {
      expect(decodeProofHex(replace(at, Uint8Array.of(0x40, ...new Uint8Array(length - 1))), kernels)).toMatchObject({
        ok: false,
      });
      const first = bytesOf(hex)[at]!;
      for (const flag of [0x00, 0x40])
        expect(decodeProofHex(replace(at, Uint8Array.of((first & 0x3f) | flag)), kernels)).toMatchObject({ ok: false });
      const alias = Uint8Array.from(q);
      alias[0]! |= 0x80;
      expect(decodeProofHex(replace(at, alias), kernels)).toMatchObject({ ok: false });
    }
    expect(decodeProofHex(replace(64, q), kernels)).toMatchObject({ ok: false });
  });

  it("refuses every alias of the JSON form", () => {
    const good = proofToJson(proof, BN254);
    const alias = (value: string): string[] => [
      String(BigInt(value) + BN254.q),
      `0${value}`,
      `+${value}`,
      `-${value}`,
      `${value} `,
      `${value}.0`,
      `0x${BigInt(value).toString(16)}`,
      `${value}n`,
      "1e3",
      "",
      "\u0661",
    ];
    const bad: unknown[] = [
      null,
      [],
      "proof",
      7,
      {},
      { ...good, extra: 1 },
      { ...good, protocol: "plonk" },
      { ...good, curve: "bls12381" },
      { ...good, curve: undefined },
      { ...good, pi_c: undefined },
      { ...good, pi_a: good.pi_a.slice(0, 2) },
      { ...good, pi_a: [...good.pi_a, "1"] },
      { ...good, pi_a: [...good.pi_a.slice(0, 2), "0"] },
      { ...good, pi_a: ["0", "1", "0"] },
      { ...good, pi_a: ["0", "0", "1"] },
      { ...good, pi_a: [2n * BN254.generatorG1.x, 1n, 1n].map(String) },
      { ...good, pi_a: good.pi_a.map(Number) },
      { ...good, pi_a: good.pi_a.map((value) => [value]) },
      { ...good, pi_b: [good.pi_b[0], good.pi_b[1], ["1", "1"]] },
      { ...good, pi_b: [good.pi_b[0], good.pi_b[1]] },
      { ...good, pi_b: [good.pi_b[0]!.toReversed(), good.pi_b[1]!.toReversed(), ["1", "0"]] },
      ...alias(good.pi_a[0]!).map((value) => ({ ...good, pi_a: good.pi_a.with(0, value) })),
      ...alias(good.pi_a[1]!).map((value) => ({ ...good, pi_a: good.pi_a.with(1, value) })),
      ...alias(good.pi_b[0]![1]!).map((value) => ({ ...good, pi_b: good.pi_b.with(0, good.pi_b[0]!.with(1, value)) })),
      ...alias(good.pi_c[1]!).map((value) => ({ ...good, pi_c: good.pi_c.with(1, value) })),
      {
        ...good,
        pi_b: [
          ["1", "0"],
          ["1", "0"],
          ["1", "0"],
        ],
      },
    ];
    for (const value of bad) expect(proofFromJson(value, kernels), JSON.stringify(value)).toMatchObject({ ok: false });
    expect(proofFromJson(JSON.parse('{"__proto__": {"pi_a": []}}'), kernels)).toMatchObject({ ok: false });
  });

  it("refuses a G2 point outside the subgroup in JSON too", () => {
    const outside = gnarkVectors().g2OutsideSubgroup;
    const accepting = {
      curve: BN254,
      areInSubgroupG1: (points: readonly unknown[]): boolean[] => points.map(() => true),
      isInSubgroupG2: (): boolean => true,
      squareRootPower: (value: bigint): bigint => kernels.squareRootPower(value),
    };
    const point = decompressG2(bytesOf(outside), accepting, "point");
    const json = { ...proofToJson({ ...proof, b: point }, BN254) };
    expect(proofFromJson(json, kernels)).toEqual({ ok: false, message: "pi_b is not in the subgroup G2" });
    expect(verifyGroth16(prepared, { ...proof, b: point }, fixture.publicSignals)).toBe(false);
  });

  it("accepts no proof with one to three flipped bits, but for the one with A and B negated", () => {
    const random = seededRandom("bit flips");
    // The flags of the signs of A and B: e(-A, -B) = e(A, B).
    const signs = [6, 32 * 8 + 6];
    let decodable = 0;
    for (let i = 0; i < 1500; i += 1) {
      const bytes = bytesOf(hex);
      const bits =
        i === 0 ? new Set(signs) : new Set(Array.from({ length: 1 + random.integer(3) }, () => random.integer(1024)));
      for (const bit of bits) bytes[bit >> 3]! ^= 1 << (bit & 7);
      const decoded = decodeProofHex(Buffer.from(bytes).toString("hex"), kernels);
      if (!decoded.ok) continue;
      decodable += 1;
      const isNegated = bits.size === 2 && signs.every((bit) => bits.has(bit));
      expect(verifyGroth16(prepared, decoded.value, fixture.publicSignals), [...bits].join()).toBe(isNegated);
    }
    expect(decodable).toBeGreaterThan(1);
  });
});
