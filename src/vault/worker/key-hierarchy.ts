/**
 * Which key comes from which: every derivation of the vault, with its label (HKDF, RFC 5869). A 32-byte root (seal
 * entropy, master key, tenant key) is only ever the input of HKDF and never the key of a cipher, so that no request can
 * use one role to decrypt for another.
 */
import { createHmac, type KeyObject } from "node:crypto";
import { hkdfKey, hkdfSha256 } from "../../crypto/hashes/hkdf.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { uuidBytes } from "../../platform/ids.js";

const LABELS = {
  sealKek: "pv/v1/seal-kek",
  sealCheck: "pv/v1/seal-kcv",
  sentinel: "pv/v1/sentinel",
  record: "pv/v1/record\0",
  apiAead: "pv/v1/api-aead\0",
  derive: "pv/v1/derive\0",
  agree: "pv/v1/agree\0",
} as const;

/** Root key material: bare bytes for the length of a call, or a KeyObject. */
export type RootKey = Uint8Array | KeyObject;

/** Derives KEK = HKDF(E, salt = store id), which wraps the master keys of vaults and nothing else. */
export function deriveKek(entropy: RootKey, storeId: string): KeyObject {
  return hkdfKey({ ikm: entropy, salt: uuidBytes(storeId), info: Buffer.from(LABELS.sealKek) });
}

/**
 * Derives the sentinel = HMAC-SHA256(KCV, label || store id(16)), 32 bytes. It shows on unsealing whether this seal key
 * belongs to this store, so that a second valid key can never write records into it.
 */
export function deriveSentinel(entropy: RootKey, storeId: string): Uint8Array {
  const salt = uuidBytes(storeId);
  const checkKey = hkdfKey({ ikm: entropy, salt, info: Buffer.from(LABELS.sealCheck) });
  return createHmac("sha256", checkKey).update(LABELS.sentinel).update(salt).digest();
}

/** Derives K_rec = HKDF(MK, salt = vault id, label || u32be(generation)), which wraps the vault's keys and secrets. */
export function deriveRecordKey(masterKey: RootKey, vaultId: string, generation: number): KeyObject {
  return hkdfKey({
    ikm: masterKey,
    salt: uuidBytes(vaultId),
    info: Buffer.concat([Buffer.from(LABELS.record), u32be(generation)]),
  });
}

/**
 * Derives K_api = HKDF(K, salt = vault id, label || key id(16)), the key of encrypt and decrypt in the API, also for
 * master0.
 */
export function deriveApiKey(key: RootKey, vaultId: string, keyId: string): KeyObject {
  return hkdfKey({
    ikm: key,
    salt: uuidBytes(vaultId),
    info: Buffer.concat([Buffer.from(LABELS.apiAead), uuidBytes(keyId)]),
  });
}

export interface DeriveInput {
  readonly vaultId: string;
  readonly parentKeyId: string;
  /** Unsigned 32-bit; used once per parent. */
  readonly nonce: number;
  /** UTF-8, 1 to 1024 bytes. */
  readonly context: Uint8Array;
}

/**
 * Derives a child key = HKDF(parent, salt = vault id, label || parent id(16) || u32be(nonce) || u16be(context length)
 * || context), 32 bytes.
 */
export function deriveChildKey(parent: RootKey, input: DeriveInput): SecretBytes {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(input.context.length);
  const info = Buffer.concat([
    Buffer.from(LABELS.derive),
    uuidBytes(input.parentKeyId),
    u32be(input.nonce),
    length,
    input.context,
  ]);
  return SecretBytes.take(hkdfSha256({ ikm: parent, salt: uuidBytes(input.vaultId), info, lengthBytes: 32 }));
}

/**
 * Derives the key that two sides agree on: HKDF(secret, no salt, label || smaller public key || larger public key ||
 * u16be(context length) || context), 32 bytes. The public keys are ordered by their bytes, so that both sides compute
 * the same.
 */
export function deriveAgreedKey(
  secret: Uint8Array,
  ownKey: Uint8Array,
  peerKey: Uint8Array,
  context: Uint8Array,
): Uint8Array {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(context.length);
  const info = Buffer.concat([
    Buffer.from(LABELS.agree),
    ...[ownKey, peerKey].sort((a, b) => Buffer.compare(a, b)),
    length,
    context,
  ]);
  return hkdfSha256({ ikm: secret, salt: new Uint8Array(), info, lengthBytes: 32 });
}

function u32be(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
