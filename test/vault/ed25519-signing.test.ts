/** Both ways of signing with an Ed25519 key: by the kernel, and by OpenSSL where the kernel cannot run. */
import { createPublicKey, randomBytes, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { privateKeyOfSeed } from "../../src/crypto/signatures/der-keys.js";
import { okpPublicKey } from "../../src/crypto/signatures/ed25519.js";
import { SecretBytes } from "../../src/crypto/secret-bytes.js";
import { ed25519Signer } from "../../src/engine/kernels/ed25519/signer.js";
import { signSideBySide, signTwice } from "../../src/vault/key-specs/ed25519-signing.js";
import type { UnwrappedKey } from "../../src/vault/key-specs/key-spec.js";

type Way = (key: UnwrappedKey, raw: Uint8Array, messages: readonly Uint8Array[]) => readonly (Uint8Array | undefined)[];

const signer = ed25519Signer();
const WAYS: readonly (readonly [string, Way])[] = [
  ["OpenSSL", signTwice],
  ...(signer === undefined
    ? []
    : [
        [
          "the kernel",
          (key: UnwrappedKey, raw: Uint8Array, messages: readonly Uint8Array[]) =>
            signSideBySide(signer, key, raw, messages),
        ] as const,
      ]),
];

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

describe.each(WAYS)("an Ed25519 key by %s", (_name, way) => {
  it("signs as RFC 8032 has it, from two copies of the key", () => {
    const { key, seed, purposes } = lentKey();
    const messages = [randomBytes(1), randomBytes(32), randomBytes(5000)];
    expect(way(key, key.publicKey, messages).map((signature) => Buffer.from(signature!).toString("hex"))).toEqual(
      messages.map((message) => sign(null, message, privateKeyOfSeed("ed25519", seed)).toString("hex")),
    );
    expect(new Set(purposes).size).toBe(2);
  });

  it("signs nothing under a public key that is another's", () => {
    const { key } = lentKey();
    const other = createPublicKey(privateKeyOfSeed("ed25519", randomBytes(32))).export({ format: "jwk" }).x!;
    expect(() => way(key, Buffer.from(other, "base64url"), [randomBytes(32)])).toThrow(
      "a fresh signature did not verify",
    );
  });

  it("gives nothing when the second copy came out differently", () => {
    const { key } = lentKey();
    const damaged: UnwrappedKey = {
      ...key,
      toKeyObject: (purpose, make) =>
        key.toKeyObject(purpose, purpose.endsWith("second") ? (seed) => damagedKey(make, seed) : make),
    };
    expect(() => way(damaged, key.publicKey, [randomBytes(32)])).toThrow("a fresh signature did not verify");
  });
});

function damagedKey(
  make: (seed: Uint8Array) => ReturnType<UnwrappedKey["toKeyObject"]>,
  seed: Uint8Array,
): ReturnType<UnwrappedKey["toKeyObject"]> {
  const copy = Buffer.from(seed);
  copy[3]! ^= 1;
  return make(copy);
}
