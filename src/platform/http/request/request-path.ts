/**
 * Brings a request's path into its one canonical form, or rejects it: two spellings of one path must never be judged by
 * two rules (RFC 3986 section 6.2.2). Dot segments and encoded slashes are treated as attacks.
 */

/** More segments than the longest route has. */
const SEGMENTS_MAX = 16;
/** pchar of RFC 3986 plus `/`; percent triplets are checked in `decodeSegment`. */
const PATH = /^\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/;
const UNRESERVED = /[A-Za-z0-9\-._~]/;

export interface CanonicalPath {
  /** Decoded segments; empty for `/`. */
  readonly segments: readonly string[];
  /** Starts with one slash and does not end with one; otherwise as sent. */
  readonly path: string;
}

/**
 * Returns the canonical path; undefined for dot segments, empty segments inside, `%2F`, `%5C`, NUL and other control
 * characters, and for percent encoding that is not canonical. One slash at the end is accepted.
 */
export function canonicalPath(url: string): CanonicalPath | undefined {
  if (!PATH.test(url) || url.startsWith("//")) return undefined;
  const withoutStart = url.slice(1);
  const inner = withoutStart.endsWith("/") ? withoutStart.slice(0, -1) : withoutStart;
  const path = `/${inner}`;
  if (inner === "") return { segments: [], path };
  const segments = inner.split("/");
  if (segments.length > SEGMENTS_MAX) return undefined;
  if (!inner.includes("%")) return segments.some(isSpecial) ? undefined : { segments, path };
  const decoded = segments.map(decodeSegment);
  return decoded.every((segment) => segment !== undefined) ? { segments: decoded, path } : undefined;
}

/** True for empty segments and dot segments, with which a path can be written in another way. */
function isSpecial(raw: string): boolean {
  return raw === "" || raw === "." || raw === "..";
}

function decodeSegment(raw: string): string | undefined {
  if (isSpecial(raw)) return undefined;
  for (const match of raw.matchAll(/%(..)?/gs)) {
    const hex = match[1];
    if (hex === undefined || !/^[0-9A-F]{2}$/.test(hex)) return undefined;
    const byte = Number.parseInt(hex, 16);
    if (byte < 0x20 || byte === 0x7f || byte === 0x2f || byte === 0x5c) return undefined;
    if (byte < 0x80 && UNRESERVED.test(String.fromCharCode(byte))) return undefined;
  }
  try {
    return decodeURIComponent(raw);
  } catch {
    // Not UTF-8, so there is no text to match a route with.
    return undefined;
  }
}
