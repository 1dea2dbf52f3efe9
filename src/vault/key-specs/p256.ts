/**
 * P-256 keys: ES256 (ECDSA with SHA-256, RFC 7518) through OpenSSL. The message is hashed here; digests are not
 * accepted.
 */
import { privateKeyOfPkcs8, publicKeyOfRaw } from "../../crypto/signatures/der-keys.js";
import { generateP256KeyPair, signP256, verifyP256 } from "../../crypto/signatures/p256.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { byteSigner } from "./byte-signer.js";
import type { KeySpec } from "./key-spec.js";
import { publicKeyOfHex } from "./messages.js";

const COORDINATE_BYTES = 32;

export const p256: KeySpec = {
  name: "P-256",
  type: "asymmetric",
  usage: "sign/verify",
  materialKind: "pkcs8",
  operationUs: 150,
  generate: () => {
    const { pkcs8, publicKey } = generateP256KeyPair();
    return { material: SecretBytes.take(pkcs8), publicKey };
  },
  ...byteSigner({
    spec: "P-256",
    algorithms: ["ES256"],
    jwsAlgorithms: ["ES256"],
    signatureBytes: 2 * COORDINATE_BYTES,
    sign: (key, _algorithm, message) => signP256(key.toKeyObject("sign", privateKeyOfPkcs8), message),
    verify: (publicKey, _algorithm, message, signature) => {
      const key = publicKeyOfRaw("p256", publicKey);
      return key !== undefined && verifyP256(key, message, signature);
    },
    readPublicKey: (text) => {
      const raw = publicKeyOfHex(text);
      return raw !== undefined && publicKeyOfRaw("p256", raw) !== undefined ? raw : undefined;
    },
  }),
  jwk: (publicKey) => ({ kty: "EC", crv: "P-256", alg: "ES256", use: "sig", ...coordinates(publicKey) }),
};

/** Returns x and y of a 65-byte uncompressed point in the form of a JSON Web Key. */
export function coordinates(point: Uint8Array): { x: string; y: string } {
  const [x, y] = [point.subarray(1, 1 + COORDINATE_BYTES), point.subarray(1 + COORDINATE_BYTES)].map((bytes) =>
    Buffer.from(bytes).toString("base64url"),
  );
  return { x: x ?? "", y: y ?? "" };
}
