/** Ed25519 keys (RFC 8032) and the same with NATS's text form of the public key. Signed by the kernel, or by OpenSSL where it cannot run. */
import { createSecretKey, randomBytes, type KeyObject } from "node:crypto";
import { equalBytes } from "../../crypto/constant-time.js";
import { publicKeyOfRaw } from "../../crypto/der-keys.js";
import { ED25519_SIGNATURE_BYTES, ed25519PrivateKey, expandedSeed, isEd25519PublicKey, okpPublicKey, SEED_BYTES, signEd25519, verifyEd25519 } from "../../crypto/ed25519.js";
import { decodeNkey, encodeNkey, NKEY_CHARACTERS, type NkeyPrefix } from "../../crypto/nkeys.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { ed25519Signer, type Ed25519Signer } from "../../engine/kernels/ed25519/signer.js";
import { byteSigner, type ByteScheme } from "./byte-signer.js";
import { selfCheckFailed } from "./jws.js";
import type { GeneratedKey, KeySpec, UnwrappedKey } from "./key-spec.js";
import { publicKeyOfHex } from "./messages.js";

const DEFAULT_PREFIX: NkeyPrefix = "U";
const common = { type: "asymmetric", usage: "sign/verify", materialKind: "raw32", operationUs: 100 } as const;

/** The scheme over public keys as the record holds them, which `rawOf` turns into 32 bytes. */
function scheme(spec: string, rawOf: (publicKey: Uint8Array) => Uint8Array): ByteScheme<"EdDSA"> {
  return {
    spec,
    algorithms: ["EdDSA"],
    jwsAlgorithms: ["EdDSA"],
    signatureBytes: ED25519_SIGNATURE_BYTES,
    signChecked: (key, messages) => {
      const raw = rawOf(key.publicKey);
      const signer = ed25519Signer();
      return signer === undefined ? signedTwice(key, raw, messages) : signedSideBySide(signer, key, raw, messages);
    },
    verify: (publicKey, _algorithm, message, signature) => {
      const key = publicKeyOfRaw("ed25519", rawOf(publicKey));
      return key !== undefined && verifyEd25519(key, message, signature);
    },
  };
}

/** Made one apart from the other, so that a copy of the key that was damaged in memory shows. */
const COPIES = ["first", "second"] as const;

function signedSideBySide(signer: Ed25519Signer, key: UnwrappedKey, raw: Uint8Array, messages: readonly Uint8Array[]): readonly (Uint8Array | undefined)[] {
  const [first, second] = COPIES.map((copy) => key.toKeyObject(`expanded, ${copy}`, (seed) => laneKey(seed, raw)).export());
  if (first === undefined || second === undefined) throw new Error("invariant broken: there are two copies");
  try {
    return signer.sign([first, second], messages);
  } finally {
    first.fill(0);
    second.fill(0);
  }
}

/** By OpenSSL: signing again costs a third of a verification. */
function signedTwice(key: UnwrappedKey, raw: Uint8Array, messages: readonly Uint8Array[]): readonly (Uint8Array | undefined)[] {
  const [first, second] = COPIES.map((copy) => key.toKeyObject(`sign, ${copy}`, (seed) => checkedPrivateKey(seed, raw)));
  if (first === undefined || second === undefined) throw new Error("invariant broken: there are two copies");
  return messages.map((message) => {
    const signature = signEd25519(first, message);
    return equalBytes(signEd25519(second, message), signature) ? signature : undefined;
  });
}

function laneKey(seed: Uint8Array, raw: Uint8Array): KeyObject {
  const derived = okpPublicKey("ed25519", checkedPrivateKey(seed, raw));
  const expanded = expandedSeed(seed);
  const bytes = Buffer.concat([expanded, derived]);
  try {
    return createSecretKey(bytes);
  } finally {
    expanded.fill(0);
    bytes.fill(0);
  }
}

/** Throws when the seed is not that of the public key. */
function checkedPrivateKey(seed: Uint8Array, raw: Uint8Array): KeyObject {
  const made = ed25519PrivateKey(seed);
  if (!equalBytes(okpPublicKey("ed25519", made), raw)) throw selfCheckFailed();
  return made;
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
  ...byteSigner(scheme("Ed25519", (publicKey) => publicKey)),
  readPublicKey: (text) => {
    const raw = publicKeyOfHex(text);
    return raw !== undefined && isEd25519PublicKey(raw) ? raw : undefined;
  },
  jwk,
};

/** The record's public key is the ASCII of the nkey's text. */
export const ed25519Nkey: KeySpec = {
  name: "Ed25519-nkey",
  ...common,
  generate: ({ prefix }): GeneratedKey => {
    const { material, raw } = generateSeed();
    return { material, publicKey: Buffer.from(encodeNkey(prefix ?? DEFAULT_PREFIX, raw), "latin1") };
  },
  ...byteSigner(scheme("Ed25519-nkey", rawOfNkey)),
  readPublicKey: (text) => {
    const ascii = text.length === NKEY_CHARACTERS ? Buffer.from(text, "latin1") : publicKeyOfHex(text);
    const raw = ascii === undefined ? undefined : decodeNkey(Buffer.from(ascii).toString("latin1"));
    return raw !== undefined && isEd25519PublicKey(raw) ? ascii : undefined;
  },
  jwk: (publicKey) => jwk(rawOfNkey(publicKey)),
};

function rawOfNkey(ascii: Uint8Array): Uint8Array {
  const raw = decodeNkey(Buffer.from(ascii).toString("latin1"));
  if (raw === undefined) throw new Error("invariant broken: a public key of an nkey was read before");
  return raw;
}
