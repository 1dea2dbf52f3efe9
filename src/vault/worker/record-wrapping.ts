/**
 * Records at rest: a frame whose associated data names the record's place (vault, id, purpose) and the metadata that
 * steers its use, so that no record can be moved, relabelled or given to another owner by somebody who can write the
 * data file.
 */
import { createHash, type KeyObject } from "node:crypto";
import { AuthenticationFailure } from "../../crypto/ciphers/aead.js";
import { uuidBytes } from "../../platform/ids.js";
import { AppError } from "../../platform/errors.js";
import { openFrame, sealFrame } from "./ciphertext-frame.js";

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

/** Wraps a plaintext for its place; answers base64 text, the form that the store keeps. */
export function wrapRecord(
  key: KeyObject,
  generation: number,
  place: EnvelopePlace,
  plaintext: Uint8Array,
  nonce?: Uint8Array,
): string {
  const aadOf = (header: Uint8Array): Uint8Array => envelopeAad(place, header);
  return Buffer.from(sealFrame({ algorithm: ALGORITHM, generation, key }, aadOf, plaintext, nonce)).toString("base64");
}

/**
 * Unwraps an envelope that must belong to this place. Throws `data_corrupt` when it does not: the stored record, its
 * place or its metadata were changed. The caller wipes the plaintext.
 */
export function unwrapRecord(
  envelope: string,
  keyOf: (generation: number) => KeyObject,
  place: EnvelopePlace,
): Uint8Array {
  try {
    return openFrame(Buffer.from(envelope, "base64"), ALGORITHM, keyOf, (header) => envelopeAad(place, header));
  } catch (error) {
    if (!(error instanceof AuthenticationFailure)) throw error;
    throw new AppError("data_corrupt", { message: "a stored record of the vault fails its integrity check" });
  }
}

/**
 * label || 0x00 || u8(length of purpose) || purpose || vault id(16) || record id(16) || header(6) || SHA-256(metadata).
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

/** JSON of a flat object of texts with its members sorted by name, without white space. */
function canonicalJson(members: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1))));
}
