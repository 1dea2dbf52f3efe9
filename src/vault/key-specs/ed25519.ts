/** Ed25519 keys (RFC 8032), through OpenSSL, and the same with NATS's text form of the public key. */
import { randomBytes } from "node:crypto";
import { publicKeyOfRaw } from "../../crypto/signatures/der-keys.js";
import {
  ED25519_SIGNATURE_BYTES,
  ed25519PrivateKey,
  isEd25519PublicKey,
  okpPublicKey,
  SEED_BYTES,
  verifyEd25519,
} from "../../crypto/signatures/ed25519.js";
import { decodeNkey, encodeNkey, NKEY_CHARACTERS, type NkeyPrefix } from "../../crypto/signatures/nkeys.js";
import { assert } from "../../platform/errors.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { byteSigner, type ByteScheme } from "./byte-signer.js";
import { signTwice } from "./ed25519-signing.js";
import type { GeneratedKey, KeySpec } from "./key-spec.js";
import { publicKeyOfHex } from "./messages.js";

const DEFAULT_PREFIX: NkeyPrefix = "U";
const common = { type: "asymmetric", usage: "sign/verify", materialKind: "raw32", operationUs: 50 } as const;

/** Returns the scheme over public keys in the form of the record, which `rawOf` turns into 32 bytes. */
function scheme(
  spec: string,
  rawOf: (publicKey: Uint8Array) => Uint8Array,
  readPublicKey: ByteScheme<"EdDSA">["readPublicKey"],
): ByteScheme<"EdDSA"> {
  return {
    spec,
    readPublicKey,
    algorithms: ["EdDSA"],
    jwsAlgorithms: ["EdDSA"],
    signatureBytes: ED25519_SIGNATURE_BYTES,
    signChecked: (key, messages) => signTwice(key, rawOf(key.publicKey), messages),
    verify: (publicKey, _algorithm, message, signature) => {
      const key = publicKeyOfRaw("ed25519", rawOf(publicKey));
      return key !== undefined && verifyEd25519(key, message, signature);
    },
  };
}

function generateSeed(): { material: SecretBytes; raw: Uint8Array } {
  const seed = randomBytes(SEED_BYTES);
  return { material: SecretBytes.take(seed), raw: okpPublicKey("ed25519", ed25519PrivateKey(seed)) };
}

function jwk(raw: Uint8Array): Readonly<Record<string, string>> {
  return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig", x: Buffer.from(raw).toString("base64url") };
}

export const ed25519: KeySpec = {
  name: "Ed25519",
  ...common,
  generate: (): GeneratedKey => {
    const { material, raw } = generateSeed();
    return { material, publicKey: raw };
  },
  ...byteSigner(
    scheme(
      "Ed25519",
      (publicKey) => publicKey,
      (text) => {
        const raw = publicKeyOfHex(text);
        return raw !== undefined && isEd25519PublicKey(raw) ? raw : undefined;
      },
    ),
  ),
  jwk,
};

/** The record's public key is the ASCII of the nkey's text. */
export const ed25519Nkey: KeySpec = {
  name: "Ed25519-nkey",
  ...common,
  hasPrefixOption: true,
  generate: ({ prefix }): GeneratedKey => {
    const { material, raw } = generateSeed();
    return { material, publicKey: Buffer.from(encodeNkey(prefix ?? DEFAULT_PREFIX, raw), "latin1") };
  },
  ...byteSigner(
    scheme("Ed25519-nkey", rawOfNkey, (text) => {
      const ascii = text.length === NKEY_CHARACTERS ? Buffer.from(text, "latin1") : publicKeyOfHex(text);
      const raw = ascii === undefined ? undefined : decodeNkey(Buffer.from(ascii).toString("latin1"));
      return raw !== undefined && isEd25519PublicKey(raw) ? ascii : undefined;
    }),
  ),
  jwk: (publicKey) => jwk(rawOfNkey(publicKey)),
};

function rawOfNkey(ascii: Uint8Array): Uint8Array {
  const raw = decodeNkey(Buffer.from(ascii).toString("latin1"));
  assert(raw !== undefined, "a public key of an nkey was read before");
  return raw;
}
