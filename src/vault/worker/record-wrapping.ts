/**
 * Wraps records at rest: a frame whose associated data names the record's place (vault, id, purpose) and the metadata
 * that steers its use, so that an attacker who can write the data file cannot move a record, relabel it or give it to
 * another owner.
 */
import { createHash, type KeyObject } from "node:crypto";
import { AuthenticationFailure } from "../../crypto/ciphers/aead.js";
import { uuidBytes } from "../../platform/ids.js";
import { AppError } from "../../platform/errors.js";
import { decryptFrame, encryptFrame } from "./ciphertext-frame.js";

/** What a record holds: a vault's master key, a key, a seed, a secret, a credential of the service. */
export type EnvelopePurpose = "mk" | "key" | "seed" | "secret" | "cred";

/** Where an envelope belongs; all of it is authenticated. */
export interface EnvelopePlace {
  readonly purpose: EnvelopePurpose;
  /** UUID of the vault. */
  readonly vaultId: string;
  /** UUID of the record. */
  readonly recordId: string;
  /** Readable columns that decide how the record is used. Names and texts only. */
  readonly metadata: Readonly<Record<string, string>>;
}

const ALGORITHM = "xaes-256-gcm";
const AAD_LABEL = Buffer.from("pv/v1/aad\0");

/** The key that wraps a record, with its generation, which the envelope's header names. */
export interface WrappingKey {
  readonly key: KeyObject;
  readonly generation: number;
}

/**
 * Wraps a plaintext for its place and returns the envelope as base64 text, the form that the store keeps.
 * @param fixedNonce 24 bytes; given only where known answers are checked, random otherwise
 */
export function wrapRecord(
  { key, generation }: WrappingKey,
  place: EnvelopePlace,
  plaintext: Uint8Array,
  fixedNonce?: Uint8Array,
): string {
  const aadOf = (header: Uint8Array): Uint8Array => envelopeAad(place, header);
  const frame = encryptFrame({ algorithm: ALGORITHM, generation, key }, aadOf, plaintext, fixedNonce);
  return Buffer.from(frame).toString("base64");
}

/**
 * Unwraps an envelope that must belong to this place. The caller wipes the plaintext.
 * @param keyOf returns the wrapping key of the generation that the header names
 * @throws data_corrupt when the stored record, its place or its metadata were changed
 */
export function unwrapRecord(
  envelope: string,
  keyOf: (generation: number) => KeyObject,
  place: EnvelopePlace,
): Uint8Array {
  try {
    return decryptFrame(Buffer.from(envelope, "base64"), ALGORITHM, keyOf, (header) => envelopeAad(place, header));
  } catch (error) {
    if (!(error instanceof AuthenticationFailure)) throw error;
    throw new AppError("data_corrupt", { message: "a stored record of the vault fails its integrity check" });
  }
}

/**
 * Returns label || 0x00 || u8(length of purpose) || purpose || vault id(16) || record id(16) || header(6) ||
 * SHA-256(metadata).
 */
function envelopeAad(place: EnvelopePlace, header: Uint8Array): Uint8Array {
  const purpose = Buffer.from(place.purpose);
  const metadata = createHash("sha256").update(canonicalJson(place.metadata)).digest();
  return Buffer.concat([
    AAD_LABEL,
    Uint8Array.of(purpose.length),
    purpose,
    uuidBytes(place.vaultId),
    uuidBytes(place.recordId),
    header,
    metadata,
  ]);
}

/** Returns the JSON of a flat object of texts with its members sorted by name, without white space. */
function canonicalJson(members: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1))));
}
