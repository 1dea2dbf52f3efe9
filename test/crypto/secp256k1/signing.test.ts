// Our own signing on secp256k1 against noble's, bit by bit, and the check that each signature passes before it is let
// out.
import { createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { describe, expect, it } from "vitest";
import {
  generateSecp256k1,
  readSignature,
  secp256k1PublicKey,
  signatureBytes,
  verifyDigest,
  type EcdsaSignature,
} from "../../../src/crypto/secp256k1/secp256k1.js";
import {
  checkedSignatures,
  freshSignatures,
  signDigests,
  type FreshSignature,
  type SigningKey,
} from "../../../src/crypto/secp256k1/signing.js";
import { seededRandom, type SeededRandom } from "../../support/seeded.js";

const ORDER = secp256k1.Point.Fn.ORDER;
const PAIRS = 300;
const SLICE_MAX = 9;

const bytesOf = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, "0"), "hex");
const valueOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
const keyOf = (privateKey: Uint8Array): SigningKey => ({ privateKey, publicKey: secp256k1PublicKey(privateKey) });
const recovered = (signature: EcdsaSignature): string =>
  `0${String(signature.yParity)}${Buffer.from(signatureBytes(signature)).toString("hex")}`;
/** The library's answer: parity(1) || r(32) || s(32). */
const noble = (privateKey: Uint8Array, digest: Uint8Array): string =>
  Buffer.from(secp256k1.sign(digest, privateKey, { prehash: false, lowS: true, format: "recovered" })).toString("hex");
const random32 = (random: SeededRandom): Buffer => Buffer.from(Array.from({ length: 32 }, () => random.below(256)));

describe("secp256k1 signatures", () => {
  it(`are the library's for ${String(PAIRS)} keys and digests, in slices of all sizes`, () => {
    const random = seededRandom();
    for (let done = 0; done < PAIRS;) {
      const key = keyOf(bytesOf((valueOf(random32(random)) % (ORDER - 1n)) + 1n));
      const digests = Array.from({ length: 1 + random.below(SLICE_MAX) }, () => random32(random));
      expect(
        signDigests(key, digests).map((signature) => recovered(signature!)),
        `seed ${String(random.seed)}`,
      ).toEqual(digests.map((digest) => noble(key.privateKey, digest)));
      done += digests.length;
    }
  });

  it("are valid for OpenSSL, and OpenSSL's are valid here", () => {
    const random = seededRandom();
    for (let round = 0; round < 20; round += 1) {
      const key = keyOf(bytesOf((valueOf(random32(random)) % (ORDER - 1n)) + 1n));
      const [x = "", y = ""] = [key.publicKey.subarray(1, 33), key.publicKey.subarray(33)].map((bytes) =>
        Buffer.from(bytes).toString("base64url"),
      );
      const jwk = { kty: "EC", crv: "secp256k1", x, y, d: Buffer.from(key.privateKey).toString("base64url") };
      const openssl = { key: createPrivateKey({ format: "jwk", key: jwk }), dsaEncoding: "ieee-p1363" } as const;
      const message = random32(random);
      const digest = createHash("sha256").update(message).digest();
      const seed = `seed ${String(random.seed)}`;
      const ours = signatureBytes(signDigests(key, [digest])[0]!);
      expect(verify("sha256", message, { ...openssl, key: createPublicKey(openssl.key) }, ours), seed).toBe(true);
      const { r, s } = readSignature(sign("sha256", message, openssl));
      // OpenSSL's s may be the high one.
      expect(verifyDigest(key.publicKey, digest, { r, s: s > ORDER >> 1n ? ORDER - s : s }), seed).toBe(true);
      expect(verifyDigest(key.publicKey, digest, { r, s: s > ORDER >> 1n ? s : ORDER - s }), seed).toBe(false);
    }
  });

  it.each([1n, 2n, ORDER >> 1n, ORDER - 2n, ORDER - 1n])(
    "are the library's for the key %s and digests at the edges",
    (scalar) => {
      const key = keyOf(bytesOf(scalar));
      const digests = [0n, 1n, ORDER >> 1n, ORDER - 1n, ORDER, ORDER + 1n, (1n << 256n) - 1n].map(bytesOf);
      const wanted = digests.map((digest) => noble(key.privateKey, digest));
      expect(signDigests(key, digests).map((signature) => recovered(signature!))).toEqual(wanted);
      expect(digests.map((digest) => recovered(signDigests(key, [digest])[0]!))).toEqual(wanted);
    },
  );

  it("are the same in a slice that repeats one digest", () => {
    const key = keyOf(generateSecp256k1());
    const digest = Buffer.alloc(32, 0x5a);
    expect(
      signDigests(
        key,
        Array.from({ length: 20 }, () => digest),
      ).map((signature) => recovered(signature!)),
    ).toEqual(Array.from({ length: 20 }, () => noble(key.privateKey, digest)));
  });

  it("are not made with keys out of range or of another length, or of digests of another length", () => {
    const { publicKey } = keyOf(generateSecp256k1());
    const digest = new Uint8Array(32);
    for (const bad of [0n, ORDER, ORDER + 1n, (1n << 256n) - 1n])
      expect(() => signDigests({ privateKey: bytesOf(bad), publicKey }, [digest])).toThrow(RangeError);
    for (const length of [0, 31, 33])
      expect(() => signDigests({ privateKey: new Uint8Array(length).fill(1), publicKey }, [digest])).toThrow(TypeError);
    for (const length of [0, 31, 33])
      expect(() => signDigests({ privateKey: bytesOf(1n), publicKey }, [digest, new Uint8Array(length)])).toThrow(
        TypeError,
      );
  });

  it("have the public key that the library calculates", () => {
    for (const scalar of [1n, 2n, 1n << 255n, ORDER - 1n])
      expect(Buffer.from(secp256k1PublicKey(bytesOf(scalar)))).toEqual(
        Buffer.from(secp256k1.getPublicKey(bytesOf(scalar), false)),
      );
    for (const bad of [0n, ORDER]) expect(() => secp256k1PublicKey(bytesOf(bad))).toThrow();
  });
});

describe("the check of fresh signatures", () => {
  const key = keyOf(generateSecp256k1());
  const fresh = freshSignatures(
    key.privateKey,
    Array.from({ length: 5 }, (_, at) => Buffer.alloc(32, at + 1)),
  );
  const passed = (signatures: readonly FreshSignature[], publicKey = key.publicKey): boolean[] =>
    checkedSignatures(publicKey, signatures).map((signature) => signature !== undefined);
  const plus = (bytes: Uint8Array, amount: bigint): Buffer => bytesOf((valueOf(bytes) + amount + ORDER) % ORDER);
  const foreign = freshSignatures(generateSecp256k1(), [fresh[2]!.digest])[0]!;
  const third = fresh[2]!;

  it("passes sound ones, alone, in pairs and together", () => {
    for (let count = 0; count <= fresh.length; count += 1)
      expect(passed(fresh.slice(0, count))).toEqual(fresh.slice(0, count).map(() => true));
  });

  it.each<[string, FreshSignature]>([
    ["s", { ...third, s: third.s ^ 1n }],
    ["s and its inverse", { ...third, s: third.s - 1n, inverse: secp256k1.Point.Fn.inv(third.s - 1n) }],
    ["high S", { ...third, s: ORDER - third.s, inverse: ORDER - third.inverse }],
    ["r", { ...third, r: third.r ^ 1n }],
    ["r together with its point's x", { ...third, r: third.r ^ 1n, point: { ...third.point, x: third.point.x ^ 1n } }],
    ["parity", { ...third, yParity: 1 - third.yParity }],
    [
      "parity together with its point's y",
      { ...third, yParity: 1 - third.yParity, point: { ...third.point, y: secp256k1.Point.Fp.ORDER - third.point.y } },
    ],
    ["digest", { ...third, digest: plus(third.digest, 1n) }],
    ["nonce's point", { ...third, point: fresh[0]!.point }],
    ["signature, as another nonce's", { ...third, r: fresh[0]!.r, point: fresh[0]!.point, yParity: fresh[0]!.yParity }],
    ["private key", foreign],
  ])("finds the one among others with a wrong %s", (_name, wrong) => {
    expect(passed([fresh[0]!, fresh[1]!, wrong, fresh[3]!, fresh[4]!])).toEqual([true, true, false, true, true]);
    expect(passed([wrong])).toEqual([false]);
    expect(passed([wrong, fresh[0]!])).toEqual([false, true]);
  });

  it("finds two faults that cancel each other when they are added as they are", () => {
    const [first, second] = [fresh[0]!, fresh[1]!];
    const faulty = [
      { ...first, digest: plus(first.digest, first.s) },
      { ...second, digest: plus(second.digest, -second.s) },
      fresh[2]!,
    ];
    expect(passed(faulty)).toEqual([false, false, true]);
  });

  it("passes nothing under another public key, before and after it has a table", () => {
    const { publicKey } = keyOf(generateSecp256k1());
    for (let round = 0; round < 4; round += 1)
      for (const count of [1, 2, 5])
        expect(passed(fresh.slice(0, count), publicKey)).toEqual(fresh.slice(0, count).map(() => false));
    expect(() => checkedSignatures(publicKey.subarray(1), fresh)).toThrow(TypeError);
  });
});
