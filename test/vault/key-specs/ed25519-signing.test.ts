/** Signing with an Ed25519 key: OpenSSL makes each signature twice, and a fault in either copy shows. */
import { createPublicKey, randomBytes, sign, type KeyObject } from "node:crypto";
import { describe, expect, it } from "vitest";
import { privateKeyOfSeed } from "../../../src/crypto/signatures/der-keys.js";
import { okpPublicKey } from "../../../src/crypto/signatures/ed25519.js";
import { SecretBytes } from "../../../src/crypto/secret-bytes.js";
import { signTwice } from "../../../src/vault/key-specs/ed25519-signing.js";
import type { UnwrappedKey } from "../../../src/vault/key-specs/key-spec.js";

/** A key as the vault lends it, and which purposes it was asked for. */
function lentKey(): { key: UnwrappedKey; seed: Buffer; purposes: string[] } {
  const seed = randomBytes(32),
    purposes: string[] = [];
  const material = SecretBytes.take(Buffer.from(seed));
  const publicKey = okpPublicKey("ed25519", privateKeyOfSeed("ed25519", seed));
  const toKeyObject: UnwrappedKey["toKeyObject"] = (purpose, make) => {
    purposes.push(purpose);
    return material.use(make);
  };
  return { key: { vaultId: "vault", keyId: "key", generation: 1, material, publicKey, toKeyObject }, seed, purposes };
}

describe("an Ed25519 key", () => {
  it("signs as RFC 8032 has it, from two copies of the key", () => {
    const { key, seed, purposes } = lentKey();
    const messages = [randomBytes(1), randomBytes(32), randomBytes(5000)];
    expect(signTwice(key, key.publicKey, messages).map((signature) => Buffer.from(signature!).toString("hex"))).toEqual(
      messages.map((message) => sign(null, message, privateKeyOfSeed("ed25519", seed)).toString("hex")),
    );
    expect(new Set(purposes).size).toBe(2);
  });

  it("signs nothing under a public key that is another's", () => {
    const { key } = lentKey();
    const other = createPublicKey(privateKeyOfSeed("ed25519", randomBytes(32))).export({ format: "jwk" }).x!;
    expect(() => signTwice(key, Buffer.from(other, "base64url"), [randomBytes(32)])).toThrow(
      "a fresh signature did not verify",
    );
  });

  it.each(["first", "second"])("gives nothing when the %s copy of the seed is damaged", (copy) => {
    const { key } = lentKey();
    const damaged: UnwrappedKey = {
      ...key,
      toKeyObject: (purpose, make) =>
        key.toKeyObject(purpose, purpose.endsWith(copy) ? (seed) => make(flipped(seed)) : make),
    };
    expect(() => signTwice(damaged, key.publicKey, [randomBytes(32)])).toThrow("a fresh signature did not verify");
  });

  it.each(["first", "second"])("gives no signature when the %s copy signs differently", (copy) => {
    const { key } = lentKey();
    const other: KeyObject = privateKeyOfSeed("ed25519", randomBytes(32));
    const damaged: UnwrappedKey = {
      ...key,
      toKeyObject: (purpose, make) => (purpose.endsWith(copy) ? other : key.toKeyObject(purpose, make)),
    };
    expect(signTwice(damaged, key.publicKey, [randomBytes(32), randomBytes(1)])).toEqual([undefined, undefined]);
  });
});

function flipped(seed: Uint8Array): Uint8Array {
  const copy = Buffer.from(seed);
  copy[3]! ^= 1;
  return copy;
}
