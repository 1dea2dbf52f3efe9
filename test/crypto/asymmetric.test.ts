// Signatures and key agreement of the crypto layer against published vectors, and what must not verify.
import { createHash, createPrivateKey } from "node:crypto";
import { base32nopad } from "@scure/base";
import { describe, expect, it } from "vitest";
import {
  aggregateBls,
  blsPublicKey,
  generateBls,
  isBlsPublicKey,
  signBls,
  verifyAggregateBls,
  verifyBls,
} from "../../src/crypto/signatures/bls.js";
import { privateKeyOfSeed, publicKeyOfRaw, rawPublicKey } from "../../src/crypto/signatures/der-keys.js";
import { okpPublicKey, signEd25519, verifyEd25519, x25519SharedSecret } from "../../src/crypto/signatures/ed25519.js";
import { crc16, decodeNkey, encodeNkey } from "../../src/crypto/signatures/nkeys.js";
import { generateP256KeyPair, signP256, verifyP256 } from "../../src/crypto/signatures/p256.js";
import {
  generateRsaKeyPair,
  RSA_ALGORITHMS,
  rsaPublicKey,
  signRsa,
  verifyRsa,
} from "../../src/crypto/signatures/rsa.js";
import {
  parseSecp256k1PublicKey,
  readSignature,
  secp256k1PublicKey,
  signatureBytes,
  verifyDigest,
} from "../../src/crypto/secp256k1/secp256k1.js";
import { signDigests } from "../../src/crypto/secp256k1/signing.js";

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "hex"));
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
}

// SOURCE: RFC 8032 section 7.1, TEST 1, 2, 3 and SHA(abc).
const RFC8032 = [
  [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "",
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  ],
  [
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "72",
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  ],
  [
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    "af82",
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  ],
] as const;

describe("RFC 8032 Ed25519", () => {
  it.each(RFC8032)("signs and verifies with the seed %s", (seed, publicKey, message, signature) => {
    const key = privateKeyOfSeed("ed25519", hex(seed));
    expect(text(okpPublicKey("ed25519", key))).toBe(publicKey);
    expect(text(signEd25519(key, hex(message)))).toBe(signature);
    const verifier = publicKeyOfRaw("ed25519", hex(publicKey))!;
    expect(verifyEd25519(verifier, hex(message), hex(signature))).toBe(true);
    for (let bit = 0; bit < 512; bit += 37)
      expect(verifyEd25519(verifier, hex(message), flipped(hex(signature), bit))).toBe(false);
    expect(verifyEd25519(verifier, hex(`${message}00`), hex(signature))).toBe(false);
    for (const length of [0, 63, 65]) expect(verifyEd25519(verifier, hex(message), new Uint8Array(length))).toBe(false);
  });

  it("refuses S above the order: the same signature with the order added", () => {
    const signature = hex(RFC8032[1][3]);
    const s =
      BigInt(`0x${text(Uint8Array.from(signature.subarray(32)).reverse())}`) +
      2n ** 252n +
      27742317777372353535851937790883648493n;
    signature.set(hex(s.toString(16).padStart(64, "0")).reverse(), 32);
    expect(verifyEd25519(publicKeyOfRaw("ed25519", hex(RFC8032[1][1]))!, hex("72"), signature)).toBe(false);
  });
});

describe("RFC 7748 X25519", () => {
  // SOURCE: RFC 7748 section 6.1.
  const alice = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a";
  it("agrees on the published secret from both sides", () => {
    const a = privateKeyOfSeed("x25519", hex(alice));
    const b = privateKeyOfSeed("x25519", hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
    expect(text(okpPublicKey("x25519", a))).toBe("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    expect(text(okpPublicKey("x25519", b))).toBe("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    const secret = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
    expect(text(x25519SharedSecret(a, okpPublicKey("x25519", b))!)).toBe(secret);
    expect(text(x25519SharedSecret(b, okpPublicKey("x25519", a))!)).toBe(secret);
  });

  // SOURCE: the low-order points of Curve25519 (RFC 7748 section 7; D. J. Bernstein, "Curve25519", validation note).
  it.each([
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ])("refuses the low-order point %s", (point) => {
    expect(x25519SharedSecret(privateKeyOfSeed("x25519", hex(alice)), hex(point))).toBeUndefined();
  });

  it("refuses keys of another length", () => {
    for (const length of [0, 31, 33, 64])
      expect(
        x25519SharedSecret(privateKeyOfSeed("x25519", hex(alice)), new Uint8Array(length).fill(9)),
      ).toBeUndefined();
  });
});

describe("RFC 6979 ECDSA", () => {
  // SOURCE: RFC 6979 appendix A.2.5 (P-256 with SHA-256).
  it.each([
    [
      "sample",
      "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
      "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
    ],
    [
      "test",
      "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367",
      "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083",
    ],
  ])("verifies the P-256 signature of %j", (message, r, s) => {
    const raw = hex(
      "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
    );
    const key = publicKeyOfRaw("p256", raw)!;
    expect(verifyP256(key, Buffer.from(message), hex(r + s))).toBe(true);
    for (let bit = 0; bit < 512; bit += 41)
      expect(verifyP256(key, Buffer.from(message), flipped(hex(r + s), bit))).toBe(false);
    expect(verifyP256(key, Buffer.from(`${message}.`), hex(r + s))).toBe(false);
    expect(verifyP256(key, Buffer.from(message), hex(s + r))).toBe(false);
    expect(verifyP256(key, Buffer.from(message), hex(r + s).subarray(1))).toBe(false);
    expect(publicKeyOfRaw("p256", flipped(raw, 300))).toBeUndefined();
    expect(publicKeyOfRaw("p256", raw.subarray(0, 33))).toBeUndefined();
  });

  it("signs on P-256 what it verifies", () => {
    const { pkcs8, publicKey } = generateP256KeyPair();
    const key = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" });
    expect(text(rawPublicKey("p256", key))).toBe(text(publicKey));
    expect(verifyP256(publicKeyOfRaw("p256", publicKey)!, Buffer.from("m"), signP256(key, Buffer.from("m")))).toBe(
      true,
    );
  });

  // SOURCE: the deterministic secp256k1 vectors that bitcoinjs and trezor-crypto share (RFC 6979 with SHA-256, low S).
  it.each([
    [
      "0000000000000000000000000000000000000000000000000000000000000001",
      "Satoshi Nakamoto",
      "934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8",
      "2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5",
    ],
    [
      "0000000000000000000000000000000000000000000000000000000000000001",
      "All those moments will be lost in time, like tears in rain. Time to die...",
      "8600dbd41e348fe5c9465ab92d23e3db8b98b873beecd930736488696438cb6b",
      "547fe64427496db33bf66019dacbf0039c04199abb0122918601db38a72cfc21",
    ],
    [
      "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140",
      "Satoshi Nakamoto",
      "fd567d121db66e382991534ada77a6bd3106f0a1098c231e47993447cd6af2d0",
      "6b39cd0eb1bc8603e159ef5c20a5c8ad685a45b06ce9bebed3f153d10d93bed5",
    ],
  ])("signs deterministically on secp256k1 with the key %s: %j", (privateKey, message, r, s) => {
    const digest = createHash("sha256").update(message).digest();
    const publicKey = secp256k1PublicKey(hex(privateKey));
    const key = { privateKey: hex(privateKey), publicKey };
    const signature = signDigests(key, [digest])[0]!;
    expect(text(signatureBytes(signature))).toBe(r + s);
    // Three rounds of many uses: from the ninth on they go through the key's table.
    for (let i = 0; i < 3; i += 1) {
      expect(verifyDigest(publicKey, digest, signature)).toBe(true);
      expect(verifyDigest(publicKey, digest, { r: signature.r, s: signature.s })).toBe(true);
      expect(verifyDigest(publicKey, digest, { ...signature, yParity: 1 - signature.yParity })).toBe(false);
      expect(verifyDigest(publicKey, digest, { r: signature.r, s: SECP256K1_ORDER - signature.s }), "high S").toBe(
        false,
      );
      for (const bad of [0n, SECP256K1_ORDER, signature.r + SECP256K1_ORDER])
        expect(verifyDigest(publicKey, digest, { r: bad, s: signature.s })).toBe(false);
      for (const bad of [0n, SECP256K1_ORDER])
        expect(verifyDigest(publicKey, digest, { r: signature.r, s: bad })).toBe(false);
      for (let bit = 0; bit < 512; bit += 61)
        expect(verifyDigest(publicKey, digest, readSignature(flipped(signatureBytes(signature), bit)))).toBe(false);
      expect(verifyDigest(publicKey, flipped(digest, 3), signature)).toBe(false);
    }
    expect(verifyDigest(secp256k1PublicKey(hex("11".repeat(32))), digest, signature)).toBe(false);
    expect(() => signDigests(key, [digest.subarray(1)])).toThrow(TypeError);
  });

  it("reads compressed and uncompressed keys, and nothing off the curve", () => {
    const key = secp256k1PublicKey(hex("11".repeat(32)));
    const compressed = Uint8Array.from([key[64]! & 1 ? 3 : 2, ...key.subarray(1, 33)]);
    expect(text(parseSecp256k1PublicKey(compressed)!)).toBe(text(key));
    for (const bad of [
      flipped(key, 100),
      key.subarray(0, 64),
      new Uint8Array(65),
      new Uint8Array(33),
      new Uint8Array(1),
    ])
      expect(parseSecp256k1PublicKey(bad)).toBeUndefined();
  });
});

describe("RSA", () => {
  it("signs and verifies with every algorithm, and with no other salt, hash or key", async () => {
    const { pkcs8, spki } = generateRsaKeyPair(2048);
    const key = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" });
    const publicKey = rsaPublicKey(spki, 2048)!;
    for (const algorithm of RSA_ALGORITHMS) {
      const signature = signRsa(key, algorithm, Buffer.from("m"));
      expect(RSA_ALGORITHMS.filter((other) => verifyRsa(publicKey, other, Buffer.from("m"), signature))).toEqual([
        algorithm,
      ]);
      expect(verifyRsa(publicKey, algorithm, Buffer.from("n"), signature)).toBe(false);
      expect(verifyRsa(publicKey, algorithm, Buffer.from("m"), flipped(signature, 77))).toBe(false);
      expect(verifyRsa(publicKey, algorithm, Buffer.from("m"), signature.subarray(1))).toBe(false);
    }
    expect(rsaPublicKey(spki, 3072)).toBeUndefined();
    expect(rsaPublicKey(flipped(spki, 20), 2048)).toBeUndefined();
    // OpenSSL reads the same key from these: bytes behind the end, and another tag where the algorithm's parameters
    // stand.
    expect(text(spki.subarray(17, 19))).toBe("0500");
    for (const other of [Uint8Array.of(...spki, 0), flipped(spki, 17 * 8 + 7)])
      expect(rsaPublicKey(other, 2048)).toBeUndefined();
    const other = rsaPublicKey(generateRsaKeyPair(2048).spki, 2048)!;
    expect(verifyRsa(other, "PS256", Buffer.from("m"), signRsa(key, "PS256", Buffer.from("m")))).toBe(false);
  });
});

describe("BLS12-381", () => {
  // SOURCE: ethereum/bls12-381-tests, sign_case_84d45c9c7cca6b92 and its public key.
  const privateKey = hex("263dbd792f5b1be47ed85f8938c0f29586af0d3ac7b977f21c278fe1462040e3");
  it("signs as Ethereum's consensus layer does", () => {
    expect(text(blsPublicKey(privateKey))).toBe(
      "a491d1b0ecd9bb917989f0e74f0dea0422eac4a873e5e2644f368dffb9a6e20fd6e10c1b77654d067c0618f6e5a7f79a",
    );
    const signature = signBls(privateKey, new Uint8Array(32));
    expect(text(signature)).toBe(
      "b6ed936746e01f8ecf281f020953fbf1f01debd5657c4a383940b020b26507f6076334f91e2366c96e9ab279fb5158090352ea1c5b0c9274504f4f0e7053af24802e51e4568d164fe986834f41e55c8e850ce1f98458c0cfc9ab380b55285a55",
    );
    expect(verifyBls(blsPublicKey(privateKey), new Uint8Array(32), signature)).toBe(true);
    for (const bit of [3, 200, 767])
      expect(verifyBls(blsPublicKey(privateKey), new Uint8Array(32), flipped(signature, bit))).toBe(false);
    expect(verifyBls(blsPublicKey(generateBls()), new Uint8Array(32), signature)).toBe(false);
  });

  it("refuses neutral points and other lengths", () => {
    const infinity1 = Uint8Array.from([0xc0, ...new Uint8Array(47)]);
    const infinity2 = Uint8Array.from([0xc0, ...new Uint8Array(95)]);
    expect(isBlsPublicKey(infinity1)).toBe(false);
    expect(verifyBls(infinity1, Buffer.from("m"), infinity2)).toBe(false);
    expect(aggregateBls([Uint8Array.from([0xe0, ...new Uint8Array(95)])])).toBeUndefined();
    expect(aggregateBls([])).toBeUndefined();
    expect(isBlsPublicKey(new Uint8Array(48))).toBe(false);
    expect(isBlsPublicKey(blsPublicKey(privateKey).subarray(1))).toBe(false);
    // A point of the curve outside of the subgroup: x = 4 (the cofactor of G1 is not 1).
    expect(isBlsPublicKey(Uint8Array.from([0x80, ...new Uint8Array(46), 4]))).toBe(false);
  });

  // SOURCE: ethereum/bls12-381-tests, aggregate_infinity_signature.
  it("adds the neutral signature, and comes to it where signatures cancel each other; nothing verifies under it", () => {
    const neutral = Uint8Array.from([0xc0, ...new Uint8Array(95)]);
    const message = new Uint8Array(32);
    const signature = signBls(privateKey, message);
    expect(aggregateBls([neutral])).toEqual(neutral);
    expect(aggregateBls([signature, neutral])).toEqual(signature);
    const opposite = Uint8Array.from(signature);
    opposite[0]! ^= 0x20;
    expect(aggregateBls([signature, opposite])).toEqual(neutral);
    expect(verifyAggregateBls([blsPublicKey(privateKey)], [message], neutral)).toBe(false);
  });

  it("adds signatures up, and checks each key against its own message", () => {
    const keys = [generateBls(), generateBls()];
    const messages = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const aggregate = aggregateBls(keys.map((key, i) => signBls(key, messages[i]!)))!;
    const publicKeys = keys.map(blsPublicKey);
    expect(verifyAggregateBls(publicKeys, messages, aggregate)).toBe(true);
    expect(verifyAggregateBls([...publicKeys].reverse(), messages, aggregate)).toBe(false);
    expect(verifyAggregateBls(publicKeys.slice(1), messages.slice(1), aggregate)).toBe(false);
    expect(verifyAggregateBls(publicKeys, messages.slice(1), aggregate)).toBe(false);
  });
});

describe("nkeys", () => {
  it("has the checksum of CRC-16/XMODEM", () => {
    expect(crc16(Buffer.from("123456789"))).toBe(0x31c3);
  });

  // SOURCE: NATS documentation, "NKeys" (a user's seed and public key).
  it("writes the published public key of the published seed", () => {
    const seed = base32nopad.decode("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY").slice(2, 34);
    const publicKey = okpPublicKey("ed25519", privateKeyOfSeed("ed25519", seed));
    const nkey = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
    expect(encodeNkey("U", publicKey)).toBe(nkey);
    expect(text(decodeNkey(nkey)!)).toBe(text(publicKey));
    for (const prefix of ["U", "A", "O", "N", "C"] as const) expect(encodeNkey(prefix, publicKey)[0]).toBe(prefix);
    for (const bad of [
      nkey.slice(1),
      `${nkey}A`,
      nkey.toLowerCase(),
      `A${nkey.slice(1)}`,
      `${nkey.slice(0, -1)}5`,
      `${nkey.slice(0, 20)}A${nkey.slice(21)}`,
      "S".repeat(56),
    ])
      expect(decodeNkey(bad)).toBeUndefined();
  });
});
