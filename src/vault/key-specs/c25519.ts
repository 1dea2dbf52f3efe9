/** C25519 keys: X25519 key agreement (RFC 7748) through OpenSSL. They cannot sign. */
import { randomBytes } from "node:crypto";
import { privateKeyOfSeed } from "../../crypto/signatures/der-keys.js";
import { okpPublicKey, SEED_BYTES, x25519SharedSecret } from "../../crypto/signatures/ed25519.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { agreement } from "./agreement.js";
import type { KeySpec } from "./key-spec.js";

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
  ...agreement((key, peer) =>
    x25519SharedSecret(
      key.toKeyObject("agree", (seed) => privateKeyOfSeed("x25519", seed)),
      peer,
    ),
  ),
  jwk: (publicKey) => ({ kty: "OKP", crv: "X25519", use: "enc", x: Buffer.from(publicKey).toString("base64url") }),
};
