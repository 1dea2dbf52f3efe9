/**
 * AES-256-GCM (NIST SP 800-38D, section 7) by OpenSSL: 32-byte key, 96-bit nonce, 128-bit tag and nothing shorter. For
 * XAES-256-GCM and for keys of one message only: with nonces this short a key would have to count its messages.
 */
import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import { AEAD_TAG_BYTES, AuthenticationFailure } from "./aead.js";

interface Aes256GcmInput {
  /** 32 bytes, for a few messages. */
  readonly key: Uint8Array | KeyObject;
  /** 12 bytes. */
  readonly nonce: Uint8Array;
  readonly aad: Uint8Array;
}

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const NO_PREFIX = new Uint8Array();
/** Given to each call: without it OpenSSL accepts shorter tags. */
const OPTIONS = { authTagLength: AEAD_TAG_BYTES };

/**
 * Returns prefix || ciphertext(n) || tag(16); the prefix is not authenticated.
 * @throws TypeError when the nonce is not 12 bytes
 */
export function sealAes256Gcm(
  { key, nonce, aad }: Aes256GcmInput,
  plaintext: Uint8Array,
  prefix: Uint8Array = NO_PREFIX,
): Uint8Array {
  assertNonce(nonce);
  const cipher = createCipheriv(CIPHER, key, nonce, OPTIONS);
  cipher.setAAD(aad);
  const ciphertext = cipher.update(plaintext);
  // Ends the message; GCM has no padding, so that final() returns no bytes.
  cipher.final();
  return Buffer.concat([prefix, ciphertext, cipher.getAuthTag()]);
}

/**
 * Returns the plaintext of ciphertext(n) || tag(16).
 * @throws AuthenticationFailure after overwriting the decrypted bytes
 * @throws TypeError when the nonce is not 12 bytes
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

/** GCM hashes nonces of other lengths (SP 800-38D, 7.1), which is another construction. */
function assertNonce(nonce: Uint8Array): void {
  if (nonce.length !== NONCE_BYTES) throw new TypeError("the nonce is not 12 bytes");
}
