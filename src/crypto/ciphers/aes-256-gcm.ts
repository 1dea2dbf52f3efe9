/**
 * AES-256-GCM (NIST SP 800-38D) through OpenSSL: 32-byte key, 96-bit nonce, 128-bit tag and nothing shorter. Only
 * XAES-256-GCM uses it: with nonces this short a key would have to count its messages.
 */
import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import { AEAD_TAG_BYTES, AuthenticationFailure } from "./aead.js";

export interface Aes256GcmInput {
  /** 32 bytes, for a few messages. */
  readonly key: Uint8Array | KeyObject;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  readonly aad: Uint8Array;
}

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const NO_PREFIX = new Uint8Array();
/** Stated each time: OpenSSL takes shorter tags unless it is told not to. */
const OPTIONS = { authTagLength: AEAD_TAG_BYTES };

/** Answers prefix || ciphertext(n) || tag(16); the prefix is not authenticated. */
export function sealAes256Gcm(
  { key, nonce, aad }: Aes256GcmInput,
  plaintext: Uint8Array,
  prefix: Uint8Array = NO_PREFIX,
): Uint8Array {
  assertNonce(nonce);
  const cipher = createCipheriv(CIPHER, key, nonce, OPTIONS);
  cipher.setAAD(aad);
  const ciphertext = cipher.update(plaintext);
  // Ends the message; a mode without padding holds nothing back.
  cipher.final();
  return Buffer.concat([prefix, ciphertext, cipher.getAuthTag()]);
}

/**
 * Takes ciphertext(n) || tag(16); answers the plaintext or throws AuthenticationFailure, with nothing left of what it
 * decrypted.
 */
export function openAes256Gcm({ key, nonce, aad }: Aes256GcmInput, sealed: Uint8Array): Uint8Array {
  assertNonce(nonce);
  if (sealed.length < AEAD_TAG_BYTES) throw new AuthenticationFailure();
  const ciphertext = sealed.subarray(0, sealed.length - AEAD_TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, OPTIONS);
  decipher.setAAD(aad);
  decipher.setAuthTag(sealed.subarray(ciphertext.length));
  const plaintext = decipher.update(ciphertext);
  try {
    decipher.final();
    return plaintext;
  } catch {
    plaintext.fill(0);
    throw new AuthenticationFailure();
  }
}

/** GCM hashes a nonce of another length into one of its own, which is a different construction. */
function assertNonce(nonce: Uint8Array): void {
  if (nonce.length !== NONCE_BYTES) throw new TypeError("the nonce is not 12 bytes");
}
