/** The way to a content key by published numbers: RFC 7518, RFC 3394, RFC 8037 (with the keys of RFC 7748). */
import { createPrivateKey, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { concatKdf, contentKeyOf, unwrapAes256 } from "../../../src/crypto/jwe/content-key.js";
import { privateKeyOfSeed, rawPublicKey } from "../../../src/crypto/signatures/der-keys.js";
import { x25519SharedSecret } from "../../../src/crypto/signatures/ed25519.js";
import { generateP256KeyPair, p256SharedSecret } from "../../../src/crypto/signatures/p256.js";

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));

/** RFC 7518, appendix C. */
const ALICE = {
  ...{ kty: "EC", crv: "P-256" },
  x: "gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0",
  y: "SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps",
  d: "0_NxaRPUMQoAJt50Gz8YiTr8gRTwyEaCumd-MToTmIo",
};
const BOB = {
  ...{ kty: "EC", crv: "P-256" },
  x: "weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ",
  y: "e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck",
  d: "VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw",
};
const point = ({ x, y }: { readonly x: string; readonly y: string }): Uint8Array =>
  new Uint8Array(Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]));

it("agrees on the secret of RFC 7518, appendix C, and derives its key", () => {
  const secret = p256SharedSecret(createPrivateKey({ format: "jwk", key: ALICE }), point(BOB)) ?? new Uint8Array();
  expect([...secret]).toEqual([
    158, 86, 217, 29, 129, 113, 53, 211, 114, 131, 66, 131, 191, 132, 38, 156, 251, 49, 110, 163, 218, 128, 106, 72,
    246, 218, 167, 121, 140, 254, 144, 196,
  ]);
  expect(p256SharedSecret(createPrivateKey({ format: "jwk", key: BOB }), point(ALICE))).toEqual(Buffer.from(secret));
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

it("agrees on the secret of RFC 5903, section 8.1", () => {
  const d = Buffer.from(hex("C88F01F510D9AC3F70A292DAA2316DE544E9AAB8AFE84049C62A9C57862D1433")).toString("base64url");
  const own = hex(
    "04DAD0B65394221CF9B051E1FECA5787D098DFE637FC90B9EF945D0C37725811805271A0461CDB8252D61F1C456FA3E59AB1F45B33ACCF5F58389E0577B8990BB3",
  );
  const [x, y] = [own.subarray(1, 33), own.subarray(33)].map((part) => Buffer.from(part).toString("base64url"));
  const privateKey = createPrivateKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x: x!, y: y!, d } });
  const peer = hex(
    "04D12DFB5289C8D4F81208B70270398C342296970A0BCCB74C736FC7554494BF6356FBF3CA366CC23E8157854C13C58D6AAC23F046ADA30F8353E74F33039872AB",
  );
  expect(Buffer.from(p256SharedSecret(privateKey, peer) ?? []).toString("hex")).toBe(
    "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de",
  );
});

it("agrees on nothing with a key that is no point of P-256", () => {
  const privateKey = createPrivateKey({ format: "jwk", key: BOB });
  const prime = (1n << 256n) - (1n << 224n) + (1n << 192n) + (1n << 96n) - 1n;
  const coordinate = (value: bigint): string => value.toString(16).padStart(64, "0");
  const fits = point(ALICE);
  const flipped = Uint8Array.from(fits, (byte, i) => (i === 64 ? byte ^ 1 : byte));
  // The base point of secp256k1, which has the same length.
  const other =
    "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8";
  // y^2 = x^3 - 3x: a point of a curve with another b, whose order is small.
  const invalid = coordinate(0n) + coordinate(0n);
  const hybrid = Uint8Array.from(fits, (byte, i) => (i === 0 ? 6 + ((fits[64] ?? 0) & 1) : byte));
  const compressed = Uint8Array.from(fits.subarray(0, 33), (byte, i) => (i === 0 ? 2 + ((fits[64] ?? 0) & 1) : byte));
  const peers = [
    flipped,
    hex(`04${other}`),
    hex(`04${invalid}`),
    hex(`04${coordinate(prime)}${coordinate(0n)}`),
    hybrid,
    compressed,
    new Uint8Array(1),
    new Uint8Array(65),
    fits.subarray(0, 64),
    randomBytes(32),
  ];
  for (const peer of peers)
    expect(p256SharedSecret(privateKey, peer), Buffer.from(peer).toString("hex")).toBeUndefined();
  const made = generateP256KeyPair();
  expect(p256SharedSecret(privateKey, made.publicKey)).toHaveLength(32);
  expect(rawPublicKey("p256", privateKey)).toEqual(point(BOB));
});

it("takes an encrypted key with one algorithm and none with the other", () => {
  const secret = randomBytes(32);
  const header = {
    curve: "X25519",
    ephemeralKey: randomBytes(32),
    partyU: new Uint8Array(),
    partyV: new Uint8Array(),
  } as const;
  expect(contentKeyOf(secret, { ...header, algorithm: "ECDH-ES", encryptedKey: new Uint8Array() })).toHaveLength(32);
  expect(contentKeyOf(secret, { ...header, algorithm: "ECDH-ES", encryptedKey: randomBytes(40) })).toBeUndefined();
  expect(
    contentKeyOf(secret, { ...header, algorithm: "ECDH-ES+A256KW", encryptedKey: new Uint8Array() }),
  ).toBeUndefined();
  expect(
    contentKeyOf(secret, { ...header, algorithm: "ECDH-ES+A256KW", encryptedKey: randomBytes(40) }),
  ).toBeUndefined();
});
