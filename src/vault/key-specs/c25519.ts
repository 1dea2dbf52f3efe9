/**
 * C25519 keys: X25519 key agreement (RFC 7748) through OpenSSL. They cannot sign. The shared secret never leaves;
 * callers get HKDF of it, bound to both public keys and the caller's context, so that it can serve as a key. Content
 * keys of JSON Web Encryptions come from it by another hash, and go to proving threads only.
 */
import { randomBytes } from "node:crypto";
import { contentKeyOf } from "../../crypto/jwe/content-key.js";
import { privateKeyOfSeed } from "../../crypto/signatures/der-keys.js";
import { okpPublicKey, SEED_BYTES, x25519SharedSecret } from "../../crypto/signatures/ed25519.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { deriveAgreedKey } from "../worker/key-hierarchy.js";
import type { KeySpec, UnwrappedKey } from "./key-spec.js";

export const C25519 = "C25519";

export const c25519: KeySpec = {
  name: C25519,
  type: "asymmetric",
  usage: "sign/verify",
  materialKind: "raw32",
  operationUs: 200,
  generate: () => {
    const seed = randomBytes(SEED_BYTES);
    return { material: SecretBytes.take(seed), publicKey: okpPublicKey("x25519", privateKeyOfSeed("x25519", seed)) };
  },
  agree: (key, peer, context) => {
    const secret = sharedSecret(key, peer);
    if (secret === undefined) return undefined;
    try {
      return deriveAgreedKey(secret, key.publicKey, peer, context);
    } finally {
      secret.fill(0);
    }
  },
  contentKey: (key, header) => {
    const secret = sharedSecret(key, header.ephemeralKey);
    if (secret === undefined) return undefined;
    try {
      return contentKeyOf(secret, header);
    } finally {
      secret.fill(0);
    }
  },
  jwk: (publicKey) => ({ kty: "OKP", crv: "X25519", use: "enc", x: Buffer.from(publicKey).toString("base64url") }),
};

function sharedSecret(key: UnwrappedKey, peer: Uint8Array): Uint8Array | undefined {
  return x25519SharedSecret(
    key.toKeyObject("agree", (seed) => privateKeyOfSeed("x25519", seed)),
    peer,
  );
}
