/**
 * The frame around every ciphertext of the vault, at rest and on the wire:
 * version(1) = 0x01 || algorithm(1) || generation(4, big-endian) || nonce(24, random) || ciphertext(n) || tag(16).
 */
import type { KeyObject } from "node:crypto";
import { AEAD_NONCE_BYTES, AEAD_TAG_BYTES, AuthenticationFailure, type Aead } from "../../crypto/ciphers/aead.js";
import { xaes256Gcm } from "../../crypto/ciphers/xaes-256-gcm.js";
import { xchacha20Poly1305 } from "../../crypto/ciphers/xchacha20-poly1305.js";

export const FRAME_HEADER_BYTES = 6;
/** Header and nonce. */
const FRAME_START_BYTES = FRAME_HEADER_BYTES + AEAD_NONCE_BYTES;
export const FRAME_OVERHEAD_BYTES = FRAME_START_BYTES + AEAD_TAG_BYTES;

const VERSION = 0x01;

export type FrameAlgorithm = "xaes-256-gcm" | "xchacha20-poly1305";

const ALGORITHMS: Readonly<Record<FrameAlgorithm, { readonly code: number; readonly aead: Aead }>> = {
  "xaes-256-gcm": { code: 0x01, aead: xaes256Gcm },
  "xchacha20-poly1305": { code: 0x02, aead: xchacha20Poly1305 },
};

export interface FrameKey {
  readonly algorithm: FrameAlgorithm;
  readonly generation: number;
  readonly key: KeyObject;
}

/** Returns the associated data for a header, which is part of it. */
export type AadOf = (header: Uint8Array) => Uint8Array;

/**
 * Encrypts a plaintext and returns the frame.
 * @param fixedNonce 24 bytes, else a TypeError; given only where known answers are checked, random otherwise
 */
export function encryptFrame(
  frameKey: FrameKey,
  aadOf: AadOf,
  plaintext: Uint8Array,
  fixedNonce?: Uint8Array,
): Uint8Array {
  if (fixedNonce !== undefined && fixedNonce.length !== AEAD_NONCE_BYTES)
    throw new TypeError("the nonce is not 24 bytes");
  const { code, aead } = ALGORITHMS[frameKey.algorithm];
  const start = Buffer.allocUnsafe(FRAME_START_BYTES);
  start[0] = VERSION;
  start[1] = code;
  start.writeUInt32BE(frameKey.generation, 2);
  const nonce = start.subarray(FRAME_HEADER_BYTES);
  if (fixedNonce === undefined) aead.writeNonce(frameKey.key, nonce);
  else nonce.set(fixedNonce);
  return aead.seal({ key: frameKey.key, nonce, aad: aadOf(start.subarray(0, FRAME_HEADER_BYTES)) }, plaintext, start);
}

/**
 * Returns the generation that a frame's header names, or undefined for bytes that are too short to be a frame. Not
 * authenticated; decrypting the frame authenticates it.
 */
export function frameGeneration(frame: Uint8Array): number | undefined {
  if (frame.length < FRAME_OVERHEAD_BYTES) return undefined;
  return new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getUint32(2);
}

/**
 * Decrypts a frame that must be of this algorithm. Throws AuthenticationFailure whatever is wrong, so that callers
 * cannot tell the causes apart.
 */
export function decryptFrame(
  frame: Uint8Array,
  algorithm: FrameAlgorithm,
  keyOf: (generation: number) => KeyObject,
  aadOf: AadOf,
): Uint8Array {
  const { code, aead } = ALGORITHMS[algorithm];
  if (frame.length < FRAME_OVERHEAD_BYTES || frame[0] !== VERSION || frame[1] !== code)
    throw new AuthenticationFailure();
  const header = frame.subarray(0, FRAME_HEADER_BYTES);
  const nonce = frame.subarray(FRAME_HEADER_BYTES, FRAME_START_BYTES);
  const generation = new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getUint32(2);
  return aead.open({ key: keyOf(generation), nonce, aad: aadOf(header) }, frame.subarray(FRAME_START_BYTES));
}
