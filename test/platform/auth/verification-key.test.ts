/** Signatures of our own tokens: exactly those that our keys write pass. */
import { createHash, generateKeyPairSync, sign, verify } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, it } from "vitest";
import {
  hasLowS,
  verificationKey,
  withLowS,
  type KeyPair,
  type SigningAlgorithm,
} from "../../../src/platform/auth/verification-key.js";

const INPUT = Buffer.from("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ1c2VyIn0");

function newPair(algorithm: SigningAlgorithm): KeyPair {
  switch (algorithm) {
    case "EdDSA":
      return generateKeyPairSync("ed25519");
    case "ES256":
      return generateKeyPairSync("ec", { namedCurve: "P-256" });
    case "RS256":
      return generateKeyPairSync("rsa", { modulusLength: 2048 });
  }
}

function signature(algorithm: SigningAlgorithm, { privateKey }: KeyPair, bytes: Uint8Array): Uint8Array {
  const made = sign(algorithm === "EdDSA" ? null : "sha256", bytes, { key: privateKey, dsaEncoding: "ieee-p1363" });
  return algorithm === "ES256" ? withLowS(made) : made;
}

describe.each<SigningAlgorithm>(["EdDSA", "ES256", "RS256"])("%s", (algorithm) => {
  const pair = newPair(algorithm);
  const key = verificationKey(pair, algorithm);

  it("accepts its own signature, and no other bytes", () => {
    const own = signature(algorithm, pair, INPUT);
    expect(key.signed(INPUT, own)).toBe(true);
    for (let at = 0; at < own.length; at += 1) {
      const changed = Uint8Array.from(own);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      expect(key.signed(INPUT, changed), `byte ${String(at)}`).toBe(false);
    }
    for (const wrongLength of [new Uint8Array(), own.subarray(0, -1), Buffer.concat([own, Buffer.of(0)])])
      expect(key.signed(INPUT, wrongLength)).toBe(false);
  });

  it("refuses another message and another key's signature", () => {
    expect(key.signed(Buffer.concat([INPUT, Buffer.of(0x41)]), signature(algorithm, pair, INPUT))).toBe(false);
    expect(key.signed(INPUT, signature(algorithm, newPair(algorithm), INPUT))).toBe(false);
  });
});

it("refuses an Ed25519 signature with another nonce, which the verification of RFC 8032 accepts", () => {
  const pair = newPair("EdDSA");
  const { scalar, pointBytes } = ed25519.utils.getExtendedPublicKey(
    Buffer.from(String(pair.privateKey.export({ format: "jwk" }).d), "base64url"),
  );
  const { Point } = ed25519;
  const nonce = 0x1234567890abcdefn;
  const commitment = Point.BASE.multiply(nonce).toBytes();
  const challenge = Point.Fn.create(
    littleEndian(createHash("sha512").update(commitment).update(pointBytes).update(INPUT).digest()),
  );
  const response = Point.Fn.create(nonce + challenge * scalar);
  const other = Buffer.concat([commitment, Point.Fn.toBytes(response)]);
  expect(verify(null, INPUT, pair.publicKey, other)).toBe(true);
  expect(verificationKey(pair, "EdDSA").signed(INPUT, other)).toBe(false);
});

it("refuses the second spelling of an ES256 signature, and converts it to the first", () => {
  const pair = newPair("ES256");
  const low = signature("ES256", pair, INPUT);
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const high = Buffer.concat([
    low.subarray(0, 32),
    Buffer.from(
      (order - BigInt(`0x${Buffer.from(low.subarray(32)).toString("hex")}`)).toString(16).padStart(64, "0"),
      "hex",
    ),
  ]);
  expect(verify("sha256", INPUT, { key: pair.publicKey, dsaEncoding: "ieee-p1363" }, high)).toBe(true);
  expect(hasLowS(high)).toBe(false);
  expect(verificationKey(pair, "ES256").signed(INPUT, high)).toBe(false);
  expect(Buffer.from(withLowS(high))).toEqual(Buffer.from(low));
});

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
}
