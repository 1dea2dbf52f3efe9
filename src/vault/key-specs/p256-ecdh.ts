/**
 * P-256-ECDH keys: key agreement on P-256 (SP 800-56A, section 5.7.1.2) through OpenSSL, for peers whose hardware or
 * WebCrypto has no X25519. They cannot sign: one key has one use (SP 800-57, part 1, section 5.2), and P-256 keys sign.
 */
import { privateKeyOfPkcs8 } from "../../crypto/signatures/der-keys.js";
import { generateP256KeyPair, p256SharedSecret } from "../../crypto/signatures/p256.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { agreement } from "./agreement.js";
import type { KeySpec } from "./key-spec.js";
import { coordinates } from "./p256.js";

export const P256_ECDH = "P-256-ECDH";

export const p256Ecdh: KeySpec = {
  name: P256_ECDH,
  type: "asymmetric",
  usage: "sign/verify",
  materialKind: "pkcs8",
  operationUs: 200,
  generate: () => {
    const { pkcs8, publicKey } = generateP256KeyPair();
    return { material: SecretBytes.take(pkcs8), publicKey };
  },
  ...agreement((key, peer) => p256SharedSecret(key.toKeyObject("agree", privateKeyOfPkcs8), peer)),
  jwk: (publicKey) => ({ kty: "EC", crv: "P-256", use: "enc", ...coordinates(publicKey) }),
};
