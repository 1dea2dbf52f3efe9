/**
 * RSA keys of 2048, 3072 and 4096 bits with the public exponent 65537: PSS and PKCS #1 v1.5 signatures through OpenSSL.
 * They do not encrypt.
 */
import { createPublicKey } from "node:crypto";
import { privateKeyOfPkcs8 } from "../../crypto/signatures/der-keys.js";
import { RSA_ALGORITHMS, rsaPublicKey, signRsa, verifyRsa, type RsaAlgorithm } from "../../crypto/signatures/rsa.js";
import { assert } from "../../platform/errors.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { generateRsaKeyOnThread } from "../threads/rsa-threads.js";
import { byteSigner } from "./byte-signer.js";
import type { KeySpec } from "./key-spec.js";
import { publicKeyOfHex } from "./messages.js";

const PEM = /^-----BEGIN PUBLIC KEY-----\s*([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/;
/** PSS comes first: it is the default. */
const ALGORITHMS: readonly [RsaAlgorithm, ...RsaAlgorithm[]] = [
  "PS256",
  ...RSA_ALGORITHMS.filter((algorithm) => algorithm !== "PS256"),
];

function rsa(modulusBits: number, operationUs: number): KeySpec {
  const name = `RSA-${String(modulusBits)}`;
  return {
    name,
    type: "asymmetric",
    usage: "sign/verify",
    materialKind: "pkcs8",
    operationUs,
    isSlowToGenerate: true,
    generate: async () => {
      const { pkcs8, spki } = await generateRsaKeyOnThread(modulusBits);
      return { material: SecretBytes.take(pkcs8), publicKey: spki };
    },
    ...byteSigner<RsaAlgorithm>({
      spec: name,
      algorithms: ALGORITHMS,
      jwsAlgorithms: ALGORITHMS,
      signatureBytes: modulusBits / 8,
      sign: (key, algorithm, message) => signRsa(key.toKeyObject("sign", privateKeyOfPkcs8), algorithm, message),
      verify: (spki, algorithm, message, signature) => {
        const key = rsaPublicKey(spki, modulusBits);
        return key !== undefined && verifyRsa(key, algorithm, message, signature);
      },
      readPublicKey: (text) => {
        const base64 = PEM.exec(text)?.[1];
        const spki = base64 === undefined ? publicKeyOfHex(text) : Buffer.from(base64, "base64");
        return spki !== undefined && rsaPublicKey(spki, modulusBits) !== undefined ? spki : undefined;
      },
    }),
    jwk: (spki) => {
      const { n, e } = createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" }).export({
        format: "jwk",
      });
      assert(n !== undefined && e !== undefined, "an RSA key has a modulus and an exponent");
      return { kty: "RSA", use: "sig", n, e };
    },
  };
}

export const rsa2048 = rsa(2048, 1_200);
export const rsa3072 = rsa(3072, 3_000);
export const rsa4096 = rsa(4096, 6_000);
