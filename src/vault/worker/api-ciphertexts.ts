/**
 * Ciphertexts that leave through the API: the same frame as at rest, bound to vault, key and the caller's context,
 * under a sub-key that exists for this use only. Nothing stored can be opened through here, master0 included.
 */
import { hash, type KeyObject } from "node:crypto";
import { AuthenticationFailure } from "../../crypto/ciphers/aead.js";
import { AppError } from "../../platform/errors.js";
import { uuidBytes } from "../../platform/ids.js";
import { FRAME_HEADER_BYTES, openFrame, sealFrame, type AadOf, type FrameAlgorithm } from "./ciphertext-frame.js";
import { deriveApiKey } from "./key-hierarchy.js";
import type { UnwrappedKey } from "../key-specs/key-spec.js";

const AAD_LABEL = Buffer.from("pv/v1/api\0");

/** Encrypts under the key's API sub-key; answers the frame. */
export function sealApiFrame(
  algorithm: FrameAlgorithm,
  key: UnwrappedKey,
  plaintext: Uint8Array,
  context: Uint8Array,
): Uint8Array {
  return sealFrame({ algorithm, generation: key.generation, key: apiKeyOf(key) }, aadFor(key, context), plaintext);
}

/**
 * Decrypts a frame of this key and context. Every failure is one `decryption_failed`: too short, wrong version and bad
 * tag look the same.
 */
export function openApiFrame(
  algorithm: FrameAlgorithm,
  key: UnwrappedKey,
  frame: Uint8Array,
  context: Uint8Array,
): Uint8Array {
  try {
    return openFrame(
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
/** What the items of a batch share, with room for the rest; gone with the lent key. */
const places = new WeakMap<UnwrappedKey, Buffer>();

/**
 * label || 0x00 || vault id(16) || key id(16) || header(6) || SHA-256(context). The same memory again for the same lent
 * key.
 */
function aadFor(key: UnwrappedKey, context: Uint8Array): AadOf {
  const aad =
    places.get(key) ??
    Buffer.concat([
      AAD_LABEL,
      uuidBytes(key.vaultId),
      uuidBytes(key.keyId),
      new Uint8Array(FRAME_HEADER_BYTES),
      NO_CONTEXT,
    ]);
  places.set(key, aad);
  aad.set(context.length === 0 ? NO_CONTEXT : hash("sha256", context, "buffer"), aad.length - NO_CONTEXT.length);
  return (header) => {
    aad.set(header, aad.length - NO_CONTEXT.length - FRAME_HEADER_BYTES);
    return aad;
  };
}
