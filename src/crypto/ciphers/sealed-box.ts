/**
 * A message from one thread of this process to another, past those between them: X25519 with a key pair of the sender
 * for this message alone (RFC 7748, section 6.1), HKDF-SHA-256 over the secret and both public keys, AES-256-GCM. The
 * construction is that of HPKE's base mode (RFC 9180, section 5.1) without its registry: both ends are of one version
 * and nothing is stored. It says nothing of who sent it.
 *
 *   box = sender's public key(32) || ciphertext(n) || tag(16)
 */
import { randomBytes, type KeyObject } from "node:crypto";
import { hkdfKey } from "../hashes/hkdf.js";
import { privateKeyOfSeed } from "../signatures/der-keys.js";
import { SEED_BYTES, okpPublicKey, x25519SharedSecret } from "../signatures/ed25519.js";
import { AuthenticationFailure } from "./aead.js";
import { openAes256Gcm, sealAes256Gcm } from "./aes-256-gcm.js";

const PUBLIC_KEY_BYTES = 32;
const LABEL = Buffer.from("pv/v1/box\0");
/** Each key encrypts one message. */
const NONCE = new Uint8Array(12);

/** Who a box is for: its private key never leaves the object. */
export interface BoxRecipient {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /**
   * Returns the message of a box; the caller wipes it.
   * @throws AuthenticationFailure for a box of another recipient or purpose, or one that was changed
   */
  open(box: Uint8Array, purpose: string): Uint8Array;
}

/** Returns a new recipient. */
export function newBoxRecipient(): BoxRecipient {
  const privateKey = newPrivateKey();
  const publicKey = okpPublicKey("x25519", privateKey);
  return {
    publicKey,
    open: (box, purpose) => {
      const sender = box.subarray(0, PUBLIC_KEY_BYTES);
      const secret = x25519SharedSecret(privateKey, sender);
      if (secret === undefined) throw new AuthenticationFailure();
      const key = boxKey(secret, sender, publicKey);
      return openAes256Gcm({ key, nonce: NONCE, aad: Buffer.from(purpose) }, box.subarray(PUBLIC_KEY_BYTES));
    },
  };
}

/**
 * Returns a box, in memory of its own, that only the recipient opens, and only for the same purpose.
 * @param recipient public key, 32 bytes
 * @throws TypeError when it is none
 * @example const box = sealBox(recipient.publicKey, "secret", value);
 */
export function sealBox(recipient: Uint8Array, purpose: string, message: Uint8Array): Uint8Array {
  const privateKey = newPrivateKey();
  const sender = okpPublicKey("x25519", privateKey);
  const secret = x25519SharedSecret(privateKey, recipient);
  if (secret === undefined) throw new TypeError("the recipient is no X25519 key");
  const key = boxKey(secret, sender, recipient);
  return new Uint8Array(sealAes256Gcm({ key, nonce: NONCE, aad: Buffer.from(purpose) }, message, sender));
}

function newPrivateKey(): KeyObject {
  const seed = randomBytes(SEED_BYTES);
  try {
    return privateKeyOfSeed("x25519", seed);
  } finally {
    seed.fill(0);
  }
}

function boxKey(secret: Uint8Array, sender: Uint8Array, recipient: Uint8Array): KeyObject {
  try {
    return hkdfKey({ ikm: secret, salt: new Uint8Array(), info: Buffer.concat([LABEL, sender, recipient]) });
  } finally {
    secret.fill(0);
  }
}
