// EdDSA with Poseidon against circomlibjs, which wrote the scheme, and what must not verify.
import { randomBytes } from "node:crypto";
import { buildEddsa } from "circomlibjs";
import { describe, expect, it } from "vitest";
import {
  babyJubJubPublicKey,
  generateBabyJubJub,
  packPoint,
  packSignature,
  signPoseidon,
  unpackPoint,
  unpackSignature,
  verifyPoseidon,
} from "../../../src/crypto/signatures/baby-jubjub.js";
import { FIELD_ORDER } from "../../../src/crypto/hashes/poseidon.js";

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const SUBGROUP_ORDER = 2736030358979909402780800718157159386076813972158567259200215660948447373041n;

describe("EdDSA-Poseidon", () => {
  // SOURCE: circomlibjs test/eddsa.js, "Sign (using Poseidon) a single 10 bytes from 0 to 9".
  it("gives the published signature", () => {
    const key = Uint8Array.from(Buffer.from("0001020304050607080900010203040506070809000102030405060708090001", "hex"));
    const publicKey = babyJubJubPublicKey(key);
    expect(publicKey.toAffine()).toEqual({
      x: 13277427435165878497778222415993513565335242147425444199013288855685581939618n,
      y: 13622229784656158136036771217484571176836296686641868549125388198837476602820n,
    });
    const signature = signPoseidon(
      key,
      BigInt(`0x${Buffer.from("00010203040506070809", "hex").reverse().toString("hex")}`),
    );
    expect(signature.r8.toAffine()).toEqual({
      x: 11384336176656855268977457483345535180380036354188103142384839473266348197733n,
      y: 15383486972088797283337779941324724402501462225528836549661220478783371668959n,
    });
    expect(signature.s).toBe(1672775540645840396591609181675628451599263765380031905495115170613215233181n);
    expect(text(packSignature(signature))).toMatch(/^dfedb431.*c1b203$/);
  });

  it("gives the same keys, signatures and packed forms as circomlibjs", async () => {
    const oracle = await buildEddsa();
    for (let i = 0; i < 8; i += 1) {
      const key = generateBabyJubJub();
      const message = i === 0 ? 0n : i === 1 ? FIELD_ORDER - 1n : BigInt(`0x${randomBytes(31).toString("hex")}`);
      const expected = oracle.signPoseidon(key, oracle.F.e(message));
      const mine = signPoseidon(key, message);
      const where = `key ${text(key)}, message ${message}`;
      expect(text(packPoint(babyJubJubPublicKey(key))), where).toBe(
        text(oracle.babyJub.packPoint(oracle.prv2pub(key))),
      );
      expect(mine.s, where).toBe(expected.S);
      expect(text(packSignature(mine)), where).toBe(text(oracle.packSignature(expected)));
      expect(verifyPoseidon(babyJubJubPublicKey(key), message, mine), where).toBe(true);
      expect(unpackSignature(packSignature(mine))!.r8.equals(mine.r8), where).toBe(true);
      expect(unpackPoint(packPoint(babyJubJubPublicKey(key)))!.equals(babyJubJubPublicKey(key)), where).toBe(true);
    }
  });

  it("refuses messages outside of the field instead of reducing them", () => {
    for (const message of [-1n, FIELD_ORDER, FIELD_ORDER + 1n, 2n ** 256n])
      expect(() => signPoseidon(generateBabyJubJub(), message)).toThrow(RangeError);
  });

  it("refuses another message, key, S and point", () => {
    const key = generateBabyJubJub();
    const publicKey = babyJubJubPublicKey(key);
    const signature = signPoseidon(key, 5n);
    expect(verifyPoseidon(publicKey, 6n, signature)).toBe(false);
    expect(verifyPoseidon(babyJubJubPublicKey(generateBabyJubJub()), 5n, signature)).toBe(false);
    expect(verifyPoseidon(publicKey, 5n, { ...signature, s: signature.s + SUBGROUP_ORDER }), "S above the order").toBe(
      false,
    );
    expect(verifyPoseidon(publicKey, 5n, { ...signature, s: (signature.s + 1n) % SUBGROUP_ORDER })).toBe(false);
    expect(verifyPoseidon(publicKey, 5n, { ...signature, r8: signature.r8.double() })).toBe(false);
    const packed = packSignature(signature);
    for (let bit = 0; bit < 512; bit += 23) {
      const bad = Uint8Array.from(packed);
      bad[bit >> 3]! ^= 1 << (bit & 7);
      const read = unpackSignature(bad);
      expect(read !== undefined && verifyPoseidon(publicKey, 5n, read), `bit ${bit}`).toBe(false);
    }
  });

  it("reads no neutral, low-order, non-canonical or off-curve point", () => {
    const packed = (y: bigint, sign = 0): Uint8Array => {
      const bytes = Uint8Array.from(Buffer.from(y.toString(16).padStart(64, "0"), "hex")).reverse();
      bytes[31]! |= sign << 7;
      return bytes;
    };
    expect(unpackPoint(packed(FIELD_ORDER - 1n)), "(0, -1) has order 2").toBeUndefined();
    expect(unpackPoint(packed(0n)), "y = 0 has order 4").toBeUndefined();
    expect(unpackPoint(packed(1n, 1)), "x = 0 with a sign").toBeUndefined();
    expect(unpackPoint(packed(FIELD_ORDER + 1n)), "y above the field").toBeUndefined();
    for (const length of [0, 31, 33]) expect(unpackPoint(new Uint8Array(length))).toBeUndefined();
    expect(unpackSignature(packed(1n))).toBeUndefined();
    // The neutral element packs, but is no public key.
    expect(verifyPoseidon(unpackPoint(packed(1n))!, 5n, { r8: unpackPoint(packed(1n))!, s: 0n })).toBe(false);
  });
});
