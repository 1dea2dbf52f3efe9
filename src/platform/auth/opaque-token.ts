/**
 * The text form of secrets that are shown once and looked up by hash: `prefix_` + base64url(32 bytes) + 6 characters of
 * checksum. Only the SHA-256 of the whole text is stored; 256 random bits need no slow hash.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

/** The prefix of each kind of token, so that a token of one kind is never accepted as another. */
export const OPAQUE_PREFIXES = {
  personal: "ppt_",
  client_secret: "pcs_",
  authorization_code: "pac_",
  device_code: "pdc_",
  password_reset: "ppr_",
  email_confirmation: "pec_",
  invitation: "pit_",
  bootstrap: "pbt_",
  ceremony_invitation: "pci_",
  ceremony_participant: "pcp_",
} as const;
export type OpaqueKind = keyof typeof OPAQUE_PREFIXES;

const RANDOM_BYTES = 32;
const CHECKSUM_CHARACTERS = 6;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY = /^[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$/;

export interface OpaqueToken {
  readonly text: string;
  /** Lower-case hex SHA-256 of the text: what is stored. */
  readonly hash: string;
}

/** Makes a token from 32 random bytes. */
export function createOpaqueToken(kind: OpaqueKind): OpaqueToken {
  const body = OPAQUE_PREFIXES[kind] + randomBytes(RANDOM_BYTES).toString("base64url");
  const text = body + checksum(body);
  return { text, hash: sha256(text) };
}

/**
 * Returns the hash under which a token of that kind is stored; undefined for other text, a wrong checksum or a second
 * spelling of the same bytes.
 */
export function opaqueTokenHash(kind: OpaqueKind, text: string): string | undefined {
  const prefix = OPAQUE_PREFIXES[kind];
  const rest = text.slice(prefix.length);
  if (!text.startsWith(prefix) || !BODY.test(rest)) return undefined;
  const encoded = rest.slice(0, -CHECKSUM_CHARACTERS);
  if (Buffer.from(encoded, "base64url").toString("base64url") !== encoded) return undefined;
  return prefix + encoded + checksum(prefix + encoded) === text ? sha256(text) : undefined;
}

/** Compares two stored hashes in constant time. */
export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

/**
 * Returns the CRC-32 in base 62. It catches typing errors before any lookup and lets scanners for leaked secrets
 * recognise a token; it protects nothing.
 */
export function checksum(text: string): string {
  let remaining = crc32(text);
  let digits = "";
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    digits = (BASE62[remaining % BASE62.length] ?? "") + digits;
    remaining = Math.floor(remaining / BASE62.length);
  }
  return digits;
}

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}
