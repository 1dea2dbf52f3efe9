/**
 * Tokens as our own signing writes them (RFC 7515, compact serialization): read in their one spelling, and their signature checked by
 * OpenSSL on the calling thread. A library would send each signature through a thread pool, which takes longer than the signature; what
 * it would parse is compared here with the only text that our own signing writes. Tokens of others go through jose.
 */
import { verify } from "node:crypto";
import type { JWTPayload } from "jose";
import { hasLowS, type VerificationKey } from "./signing-keys.js";

export interface OwnJws {
  /** To be compared with the headers that our keys sign under, never parsed. */
  readonly encodedHeader: string;
  /** UTF-8. Not to be parsed before the signature is checked. */
  readonly payload: Buffer;
  readonly signature: Buffer;
  readonly signingInput: Buffer;
}

/** base64url header, payload and a signature of exactly 64 bytes (EdDSA, ES256) or 256 (RS256). */
const COMPACT_FORM = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{86}|[A-Za-z0-9_-]{342})$/;

/** The parts of a token in its one canonical spelling; undefined for any other text. */
export function readOwnJws(token: string): OwnJws | undefined {
  const [, encodedHeader, encodedPayload, encodedSignature] = COMPACT_FORM.exec(token) ?? [];
  if (encodedHeader === undefined || encodedPayload === undefined || encodedSignature === undefined) return undefined;
  const [payload, signature] = [canonicalBytes(encodedPayload), canonicalBytes(encodedSignature)];
  if (payload === undefined || signature === undefined || canonicalBytes(encodedHeader) === undefined) return undefined;
  return { encodedHeader, payload, signature, signingInput: Buffer.from(token.slice(0, encodedHeader.length + 1 + encodedPayload.length), "latin1") };
}

/** Whether the signature is the key's, by the key's one algorithm: about 0.1 ms. */
export function isSignedBy({ signingInput, signature }: OwnJws, { key, alg }: VerificationKey): boolean {
  switch (alg) {
    case "EdDSA": return verify(null, signingInput, key, signature);
    // An ECDSA signature has a second spelling, (r, n - s): one of the two is ours.
    case "ES256": return hasLowS(signature) && verify("sha256", signingInput, { key, dsaEncoding: "ieee-p1363" }, signature);
    case "RS256": return verify("sha256", signingInput, key, signature);
  }
}

/** The claims; undefined where they are no JSON object. For payloads whose signature was found right. */
export function claimsOf({ payload }: OwnJws): JWTPayload | undefined {
  let claims: unknown;
  try {
    claims = JSON.parse(payload.toString("utf8"));
  } catch {
    return undefined;
  }
  return typeof claims === "object" && claims !== null && !Array.isArray(claims) ? { ...claims } : undefined;
}

function canonicalBytes(encoded: string): Buffer | undefined {
  const bytes = Buffer.from(encoded, "base64url");
  return bytes.toString("base64url") === encoded ? bytes : undefined;
}
