/**
 * Ciphertexts that leave through the API: the same frame as at rest, bound to vault, key and the caller's context,
 * under a sub-key that exists for this use only. No stored record can be decrypted through this file, not even with
 * master0.
 */
import { hash, type KeyObject } from "node:crypto";
import { AuthenticationFailure } from "../../crypto/ciphers/aead.js";
import { AppError } from "../../platform/errors.js";
import { uuidBytes } from "../../platform/ids.js";
import { FRAME_HEADER_BYTES, decryptFrame, encryptFrame, type AadOf, type FrameAlgorithm } from "./ciphertext-frame.js";
import { deriveApiKey } from "./key-hierarchy.js";
import type { UnwrappedKey } from "../key-specs/key-spec.js";

const AAD_LABEL = Buffer.from("pv/v1/api\0");

/** Encrypts under the key's API sub-key and returns the frame. */
export function encryptForApi(
  algorithm: FrameAlgorithm,
  key: UnwrappedKey,
  plaintext: Uint8Array,
  context: Uint8Array,
): Uint8Array {
  return encryptFrame({ algorithm, generation: key.generation, key: apiKeyOf(key) }, aadFor(key, context), plaintext);
}

/**
 * Decrypts a frame of this key and context. Throws `decryption_failed` for every failure alike: too short, wrong
 * version and bad tag look the same.
 */
export function decryptForApi(
  algorithm: FrameAlgorithm,
  key: UnwrappedKey,
  frame: Uint8Array,
  context: Uint8Array,
): Uint8Array {
  try {
    return decryptFrame(
      frame,
      algorithm,
      (generation) => {
        if (generation !== key.generation) throw new AuthenticationFailure();
        return apiKeyOf(key);
      },
      aadFor(key, context),
    );
  } catch (error) {
    if (!(error instanceof AuthenticationFailure)) throw error;
    throw new AppError("decryption_failed", {
      message: "the data was not encrypted with this key and context, or was changed since",
    });
  }
}

function apiKeyOf(key: UnwrappedKey): KeyObject {
  return key.toKeyObject("api", (root) => deriveApiKey(root, key.vaultId, key.keyId));
}

const NO_CONTEXT = hash("sha256", "", "buffer");
/** Associated data of each lent key, whose items rewrite only the context and the header; freed with the lent key. */
const aadOfKey = new WeakMap<UnwrappedKey, Buffer>();

/**
 * Returns label || 0x00 || vault id(16) || key id(16) || header(6) || SHA-256(context), in the same memory for each
 * item of a lent key.
 */
function aadFor(key: UnwrappedKey, context: Uint8Array): AadOf {
  const aad =
    aadOfKey.get(key) ??
    Buffer.concat([
      AAD_LABEL,
      uuidBytes(key.vaultId),
      uuidBytes(key.keyId),
      new Uint8Array(FRAME_HEADER_BYTES),
      NO_CONTEXT,
    ]);
  aadOfKey.set(key, aad);
  aad.set(context.length === 0 ? NO_CONTEXT : hash("sha256", context, "buffer"), aad.length - NO_CONTEXT.length);
  return (header) => {
    aad.set(header, aad.length - NO_CONTEXT.length - FRAME_HEADER_BYTES);
    return aad;
  };
}
