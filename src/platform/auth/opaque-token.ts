/**
 * The text form of secrets that are handed out once and looked up by hash: `prefix_` + base64url(32 bytes) + 6
 * characters of checksum. Only the SHA-256 of the whole text is ever stored; 256 random bits need no slow hash.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

/** What a token is for; a token of one kind is never taken for another. */
export const OPAQUE_PREFIXES = {
  personal: "ppt_",
  client_secret: "pcs_",
  authorization_code: "pac_",
  password_reset: "ppr_",
  invitation: "pit_",
  bootstrap: "pbt_",
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

export function createOpaqueToken(kind: OpaqueKind): OpaqueToken {
  const body = OPAQUE_PREFIXES[kind] + randomBytes(RANDOM_BYTES).toString("base64url");
  const text = body + checksum(body);
  return { text, hash: sha256(text) };
}

/**
 * The hash of a token of that kind; undefined for other text, a wrong checksum or a second spelling of the same bytes.
 */
export function opaqueTokenHash(kind: OpaqueKind, text: string): string | undefined {
  const prefix = OPAQUE_PREFIXES[kind];
  const rest = text.slice(prefix.length);
  if (!text.startsWith(prefix) || !BODY.test(rest)) return undefined;
  const encoded = rest.slice(0, -CHECKSUM_CHARACTERS);
  if (Buffer.from(encoded, "base64url").toString("base64url") !== encoded) return undefined;
  return prefix + encoded + checksum(prefix + encoded) === text ? sha256(text) : undefined;
}

/** Compares two stored hashes in the same time whatever they are. */
export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

/**
 * CRC-32 in base 62: catches slips of the hand before any lookup, and lets scanners for leaked secrets know one.
 * Protects nothing.
 */
export function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    digits = (BASE62[rest % BASE62.length] ?? "") + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}
