// Aggregates of BLS signatures on one message, and proofs of possession.
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { describe, expect, it } from "vitest";
import {
  aggregateBls,
  blsPublicKey,
  fastVerifyAggregateBls,
  generateBls,
  proveBlsPossession,
  signBls,
  verifyBls,
  verifyBlsPossession,
} from "../../../src/crypto/signatures/bls.js";

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
const text = (value: Uint8Array): string => Buffer.from(value).toString("hex");

const [A, B, C] = [
  "a491d1b0ecd9bb917989f0e74f0dea0422eac4a873e5e2644f368dffb9a6e20fd6e10c1b77654d067c0618f6e5a7f79a",
  "b301803f8b5ac4a1133581fc676dfedc60d891dd5fa99028805e5ea5b08d3491af75d0707adab3b70c6a6a580217bf81",
  "b53d21a4cfd562c469cc81514d4ce5a6b577d8403d32a394dc265dd190b47fa9f829fdd7963afdf972e5e77854051f6f",
] as const;
const NEUTRAL_KEY = `c0${"00".repeat(47)}`;
const NEUTRAL = `c0${"00".repeat(95)}`;
/** On 32 bytes of 00, 56 and ab, by the first one, two and three keys; the last one of the key at infinity's case. */
const OF_A =
  "b6ed936746e01f8ecf281f020953fbf1f01debd5657c4a383940b020b26507f6076334f91e2366c96e9ab279fb5158090352ea1c5b0c9274504f4f0e7053af24802e51e4568d164fe986834f41e55c8e850ce1f98458c0cfc9ab380b55285a55";
const OF_AB =
  "912c3615f69575407db9392eb21fee18fff797eeb2fbe1816366ca2a08ae574d8824dbfafb4c9eaa1cf61b63c6f9b69911f269b664c42947dd1b53ef1081926c1e82bb2a465f927124b08391a5249036146d6f3f1e17ff5f162f779746d830d1";
const OF_ABC =
  "9712c3edd73a209c742b8250759db12549b3eaf43b5ca61376d9f30e2747dbcf842d8b2ac0901d2a093713e20284a7670fcf6954e9ab93de991bb9b313e664785a075fc285806fa5224c82bde146561b446ccfc706a64b8579513cfc4ff1d930";
const WITH_NEUTRAL =
  "afcb4d980f079265caa61aee3e26bf48bebc5dc3e7f2d7346834d76cbc812f636c937b6b44a9323d8bc4b1cdf71d6811035ddc2634017faab2845308f568f2b9a0356140727356eae9eded8b87fd8cb8024b440c57aee06076128bb32921f584";
const tampered = (signature: string): string => `${signature.slice(0, -8)}ffffffff`;

describe("fast aggregate verification", () => {
  // SOURCE: ethereum/bls12-381-tests v0.1.2, all cases of fast_aggregate_verify. The cases of eth_fast_aggregate_verify
  // are the same ones but for one: the consensus layer alone calls no keys with the signature at infinity valid.
  it.each<[string, readonly string[], string, string, boolean]>([
    ["extra_pubkey_4f079f946446fabf", [A, B, C], "56", OF_AB, false],
    ["extra_pubkey_5a38e6b4017fe4dd", [A, B, C, C], "ab", OF_ABC, false],
    ["extra_pubkey_a698ea45b109f303", [A, C], "00", OF_A, false],
    ["infinity_pubkey", [A, B, C, NEUTRAL_KEY], "12", WITH_NEUTRAL, false],
    ["na_pubkeys_and_infinity_signature", [], "ab", NEUTRAL, false],
    ["na_pubkeys_and_na_signature", [], "ab", "00".repeat(96), false],
    ["tampered_signature_3d7576f3c0e3570a", [A, B, C], "ab", tampered(OF_ABC), false],
    ["tampered_signature_5e745ad0c6199a6c", [A], "00", tampered(OF_A), false],
    ["tampered_signature_652ce62f09290811", [A, B], "56", tampered(OF_AB), false],
    ["valid_3d7576f3c0e3570a", [A, B, C], "ab", OF_ABC, true],
    ["valid_5e745ad0c6199a6c", [A], "00", OF_A, true],
    ["valid_652ce62f09290811", [A, B], "56", OF_AB, true],
  ])("answers as published: fast_aggregate_verify_%s", (_name, keys, byte, signature, expected) => {
    expect(fastVerifyAggregateBls(keys.map(bytes), bytes(byte.repeat(32)), bytes(signature))).toBe(expected);
  });

  it("takes a sum of keys that is zero for none, also with the neutral signature", () => {
    const key = blsPublicKey(generateBls());
    const opposite = bls12_381.G1.Point.fromBytes(key).negate().toBytes(true);
    for (const signature of [NEUTRAL, OF_A])
      expect(fastVerifyAggregateBls([key, opposite], new Uint8Array(32), bytes(signature))).toBe(false);
  });

  it("is fooled by a key that cancels another's, which no proof of possession can be made for", () => {
    const [victim, attacker] = [generateBls(), generateBls()];
    const [victimKey, message] = [blsPublicKey(victim), new Uint8Array(32).fill(7)];
    const rogue = bls12_381.G1.Point.fromBytes(blsPublicKey(attacker))
      .subtract(bls12_381.G1.Point.fromBytes(victimKey))
      .toBytes(true);
    const forged = signBls(attacker, message);
    expect(fastVerifyAggregateBls([victimKey, rogue], message, forged)).toBe(true);
    for (const proof of [
      proveBlsPossession(attacker),
      proveBlsPossession(victim),
      signBls(attacker, rogue),
      aggregateBls([proveBlsPossession(attacker), proveBlsPossession(victim)])!,
    ])
      expect(verifyBlsPossession(rogue, proof)).toBe(false);
  });
});

describe("proofs of possession", () => {
  // SOURCE: Chia-Network/bls-signatures, test vector 3 (PoP); its key is KeyGen of 32 bytes of 04.
  it("are the published one of the published key", () => {
    const privateKey = bytes("258787ef728c898e43bc76244d70f468c9c7e1338a107b18b42da0d86b663c26");
    const proof = proveBlsPossession(privateKey);
    expect(text(proof)).toBe(
      "84f709159435f0dc73b3e8bf6c78d85282d19231555a8ee3b6e2573aaf66872d9203fefa1ef700e34e7c3f3fb28210100558c6871c53f1ef6055b9f06b0d1abe22ad584ad3b957f3018a8f58227c6c716b1e15791459850f2289168fa0cf9115",
    );
    expect(verifyBlsPossession(blsPublicKey(privateKey), proof)).toBe(true);
  });

  it("hold for their key only, and are no signatures of it", () => {
    const privateKey = generateBls();
    const key = blsPublicKey(privateKey);
    const proof = proveBlsPossession(privateKey);
    expect(verifyBlsPossession(key, proof)).toBe(true);
    expect(verifyBlsPossession(blsPublicKey(generateBls()), proof)).toBe(false);
    expect(verifyBlsPossession(key, signBls(privateKey, key))).toBe(false);
    expect(verifyBls(key, key, proof)).toBe(false);
    expect(verifyBlsPossession(bytes(NEUTRAL_KEY), bytes(NEUTRAL))).toBe(false);
    expect(verifyBlsPossession(key, bytes(NEUTRAL))).toBe(false);
    expect(verifyBlsPossession(key.subarray(1), proof)).toBe(false);
    expect(verifyBlsPossession(key, proof.subarray(1))).toBe(false);
  });
});
