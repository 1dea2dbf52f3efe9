/**
 * Brings a request's path into its one canonical form, or refuses it. Two spellings of one path must never reach two
 * rules (RFC 3986 section 6.2.2; dot segments and encoded slashes are attacks here, not conveniences).
 */

/** More segments than the longest route has. */
const SEGMENTS_MAX = 16;
/** pchar of RFC 3986 plus `/`; percent triplets are looked at separately. */
const PATH = /^\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/;
const UNRESERVED = /[A-Za-z0-9\-._~]/;

export interface CanonicalPath {
  /** Decoded segments; empty for `/`. */
  readonly segments: readonly string[];
  /** Starts with one slash, does not end with one; as sent otherwise. */
  readonly path: string;
}

/**
 * Existing clients build `//api/v1/...` when their base path starts with a slash, and leave a slash at the end: both
 * are forgiven. Undefined: dot segments, empty segments inside, `%2F`, `%5C`, NUL and other control characters,
 * non-canonical percent encoding.
 */
export function canonicalPath(url: string): CanonicalPath | undefined {
  if (!PATH.test(url)) return undefined;
  const withoutStart = url.slice(url.startsWith("//") ? 2 : 1);
  const inner = withoutStart.endsWith("/") ? withoutStart.slice(0, -1) : withoutStart;
  const path = `/${inner}`;
  if (inner === "") return { segments: [], path };
  const segments = inner.split("/");
  if (segments.length > SEGMENTS_MAX) return undefined;
  if (!inner.includes("%")) return segments.some(isSpecial) ? undefined : { segments, path };
  const decoded = segments.map(decodeSegment);
  return decoded.every((segment) => segment !== undefined) ? { segments: decoded, path } : undefined;
}

/** Empty segments and dot segments: ways to write another path. */
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
    // Not UTF-8: there is no text to match a route with.
    return undefined;
  }
}
