/**
 * Reads tokens that this service signed (RFC 7515, compact serialization), in their one canonical spelling. A library
 * would send each signature through a thread pool, which takes longer than the signature; here the header is not parsed
 * but compared with the only text that this service writes. Tokens of other issuers go through jose.
 */
import type { JWTPayload } from "jose";

export interface OwnJws {
  /** To be compared with the headers of the signing keys; never parsed. */
  readonly encodedHeader: string;
  /** UTF-8 JSON. Not to be parsed before the signature is verified. */
  readonly payload: Buffer;
  readonly signature: Buffer;
  readonly signingInput: Buffer;
}

/**
 * base64url header, payload and a signature of exactly 64 bytes (EdDSA, ES256) or 256 (RS256). The unused bits of the
 * last character must be zero; anything else is a second spelling of the same bytes (RFC 4648, 3.5). The header needs
 * no such check, because its text is looked up as it is.
 */
const COMPACT_FORM =
  /^([A-Za-z0-9_-]+)\.((?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?)\.([A-Za-z0-9_-]{85}[AQgw]|[A-Za-z0-9_-]{341}[AQgw])$/;

/** Splits a token in its one canonical spelling into its parts. Returns undefined for any other text. */
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

/** Parses the claims of a token whose signature was verified. Returns undefined unless they are a JSON object. */
export function claimsOf({ payload }: OwnJws): JWTPayload | undefined {
  let claims: unknown;
  try {
    claims = JSON.parse(payload.toString("utf8"));
  } catch {
    return undefined;
  }
  return typeof claims === "object" && claims !== null && !Array.isArray(claims) ? { ...claims } : undefined;
}
