/** The way to a content key by published numbers: RFC 7518, RFC 3394, RFC 8037 (with the keys of RFC 7748). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { concatKdf, contentKeyOf, unwrapAes256 } from "../../../src/crypto/jwe/content-key.js";
import { privateKeyOfSeed } from "../../../src/crypto/signatures/der-keys.js";
import { x25519SharedSecret } from "../../../src/crypto/signatures/ed25519.js";

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));

it("derives the key of RFC 7518, appendix C", () => {
  const secret = Uint8Array.from([
    158, 86, 217, 29, 129, 113, 53, 211, 114, 131, 66, 131, 191, 132, 38, 156, 251, 49, 110, 163, 218, 128, 106, 72,
    246, 218, 167, 121, 140, 254, 144, 196,
  ]);
  const key = concatKdf(secret, {
    algorithmId: "A128GCM",
    partyU: Buffer.from("Alice"),
    partyV: Buffer.from("Bob"),
    keyBytes: 16,
  });
  expect(Buffer.from(key).toString("base64url")).toBe("VqqN6vgjbSBcIijNcacQGg");
});

it("unwraps the key of RFC 3394, section 4.6, and nothing like it", () => {
  const wrappingKey = hex("000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F");
  const wrapped = hex("28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21");
  const key = "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f";
  expect(Buffer.from(unwrapAes256(wrappingKey, wrapped) ?? []).toString("hex")).toBe(key);
  for (let at = 0; at < wrapped.length; at += 1) {
    const changed = Uint8Array.from(wrapped);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(unwrapAes256(wrappingKey, changed)).toBeUndefined();
  }
  expect(unwrapAes256(randomBytes(32), wrapped)).toBeUndefined();
  for (const length of [0, 16, 32, 39, 41, 48])
    expect(unwrapAes256(wrappingKey, new Uint8Array(length)), String(length)).toBeUndefined();
});

it("agrees on the secret of RFC 8037, appendix A.6", () => {
  const bob = privateKeyOfSeed("x25519", hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  const ephemeral = Buffer.from("hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo", "base64url");
  expect(Buffer.from(x25519SharedSecret(bob, ephemeral) ?? []).toString("hex")).toBe(
    "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
  );
});

it("takes an encrypted key with one algorithm and none with the other", () => {
  const secret = randomBytes(32);
  const header = { ephemeralKey: randomBytes(32), partyU: new Uint8Array(), partyV: new Uint8Array() };
  expect(contentKeyOf(secret, { ...header, algorithm: "ECDH-ES", encryptedKey: new Uint8Array() })).toHaveLength(32);
  expect(contentKeyOf(secret, { ...header, algorithm: "ECDH-ES", encryptedKey: randomBytes(40) })).toBeUndefined();
  expect(
    contentKeyOf(secret, { ...header, algorithm: "ECDH-ES+A256KW", encryptedKey: new Uint8Array() }),
  ).toBeUndefined();
  expect(
    contentKeyOf(secret, { ...header, algorithm: "ECDH-ES+A256KW", encryptedKey: randomBytes(40) }),
  ).toBeUndefined();
});
