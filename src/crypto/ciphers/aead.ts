/**
 * The interface of both authenticated ciphers (AEAD, RFC 5116): 32-byte key, 24-byte nonce, 16-byte tag. With 24 bytes,
 * random nonces do not repeat in practice.
 */
import type { KeyObject } from "node:crypto";

/** Ciphertext, tag, nonce, key or associated data do not belong together; the error does not say which. */
export class AuthenticationFailure extends Error {
  override readonly name = "AuthenticationFailure";

  constructor() {
    super("authentication failed");
  }
}

export const AEAD_KEY_BYTES = 32;
export const AEAD_NONCE_BYTES = 24;
export const AEAD_TAG_BYTES = 16;

export interface AeadInput {
  /** 32 bytes. */
  readonly key: KeyObject;
  /** 24 bytes. */
  readonly nonce: Uint8Array;
  /** Associated data: authenticated, not encrypted; any length. */
  readonly aad: Uint8Array;
}

export interface Aead {
  /** Writes the 24-byte nonce of a key's next message; callers never choose a nonce. */
  writeNonce(key: KeyObject, into: Uint8Array): void;
  /**
   * Returns prefix || ciphertext(n) || tag(16).
   * @param prefix bytes before the ciphertext, so that a frame is built in one step; not authenticated
   * @example xaes256Gcm.seal({ key, nonce, aad }, plaintext)
   */
  seal(input: AeadInput, plaintext: Uint8Array, prefix?: Uint8Array): Uint8Array;
  /**
   * Returns the plaintext of ciphertext(n) || tag(16).
   * @throws AuthenticationFailure
   */
  open(input: AeadInput, sealed: Uint8Array): Uint8Array;
}

/**
 * Checks key and nonce.
 * @throws TypeError for another length: a bug of the caller
 */
export function assertAeadInput(input: AeadInput): void {
  if (input.key.type !== "secret" || input.key.symmetricKeySize !== AEAD_KEY_BYTES)
    throw new TypeError("the key is not a 32-byte secret key");
  if (input.nonce.length !== AEAD_NONCE_BYTES) throw new TypeError("the nonce is not 24 bytes");
}
