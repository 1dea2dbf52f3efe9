/** The shape that both authenticated ciphers of the service share: 32-byte key, 24-byte random nonce, 16-byte tag. */
import type { KeyObject } from "node:crypto";

/** Ciphertext, tag, nonce, key or associated data do not belong together. Says no more than that. */
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
  readonly key: KeyObject;
  readonly nonce: Uint8Array;
  readonly aad: Uint8Array;
}

export interface Aead {
  /** Writes a nonce of 24 bytes for the next message of a key; no caller chooses one. */
  writeNonce(key: KeyObject, into: Uint8Array): void;
  /**
   * Answers ciphertext(n) || tag(16).
   * @param prefix what the answer begins with before that, so that a frame is put together once; not authenticated
   */
  seal(input: AeadInput, plaintext: Uint8Array, prefix?: Uint8Array): Uint8Array;
  /** Takes ciphertext(n) || tag(16); answers the plaintext or throws AuthenticationFailure. */
  open(input: AeadInput, sealed: Uint8Array): Uint8Array;
}

/** Checks what both ciphers assume; a violation is a bug of the caller. */
export function assertAeadInput(input: AeadInput): void {
  if (input.key.type !== "secret" || input.key.symmetricKeySize !== AEAD_KEY_BYTES)
    throw new TypeError("the key is not a 32-byte secret key");
  if (input.nonce.length !== AEAD_NONCE_BYTES) throw new TypeError("the nonce is not 24 bytes");
}
