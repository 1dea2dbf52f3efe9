/**
 * Tokens as our own signing writes them (RFC 7515, compact serialization), read in their one spelling. A library would
 * send each signature through a thread pool, which takes longer than the signature; what it would parse is compared
 * here with the only text that our own signing writes. Tokens of others go through jose.
 */
import type { JWTPayload } from "jose";

export interface OwnJws {
  /** To be compared with the headers that our keys sign under, never parsed. */
  readonly encodedHeader: string;
  /** UTF-8. Not to be parsed before the signature is checked. */
  readonly payload: Buffer;
  readonly signature: Buffer;
  readonly signingInput: Buffer;
}

/**
 * base64url header, payload and a signature of exactly 64 bytes (EdDSA, ES256) or 256 (RS256). A last character that
 * holds bits of no byte holds zeros: any other is a second spelling (RFC 4648, 3.5). The header need not be read: it is
 * looked up as it stands.
 */
const COMPACT_FORM =
  /^([A-Za-z0-9_-]+)\.((?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?)\.([A-Za-z0-9_-]{85}[AQgw]|[A-Za-z0-9_-]{341}[AQgw])$/;

/** The parts of a token in its one canonical spelling; undefined for any other text. */
export function readOwnJws(token: string): OwnJws | undefined {
  const [, encodedHeader, encodedPayload, encodedSignature] = COMPACT_FORM.exec(token) ?? [];
  if (encodedHeader === undefined || encodedPayload === undefined || encodedSignature === undefined) return undefined;
  return {
    encodedHeader,
    payload: Buffer.from(encodedPayload, "base64url"),
    signature: Buffer.from(encodedSignature, "base64url"),
    signingInput: Buffer.from(token.slice(0, -1 - encodedSignature.length), "latin1"),
  };
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
