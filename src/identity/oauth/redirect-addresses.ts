/**
 * The addresses to which a browser may be sent back: which ones a client may register, and which requested address is
 * one of them (RFC 6749 section 3.1.2, RFC 8252 sections 7 and 8, RFC 9700 section 2.1).
 */
import { invalidMember, type AppError } from "../../platform/errors.js";

const LOOPBACK_HOSTS: readonly string[] = ["127.0.0.1", "[::1]", "localhost"];
/** An http address on loopback, its port apart, as its author wrote it. */
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([1-9][0-9]{0,4}))?((?:[/?].*)?)$/;
const PORT_MAX = 65_535;

/**
 * Checks an address that a client registers: absolute, without a fragment; https, http on loopback, or a private scheme
 * with a dot.
 * @param member name of the member of the request that lists it
 * @throws invalid_request
 */
export function requireRedirectUri(uri: string, member: string): void {
  let parsed: URL;
  try {
    parsed = new URL(uri);
  } catch {
    throw unsound(member, "is not a URI");
  }
  const isLoopback = parsed.protocol === "http:" && LOOPBACK_HOSTS.includes(parsed.hostname);
  const isPrivateScheme = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(parsed.protocol);
  if (parsed.protocol !== "https:" && !isLoopback && !isPrivateScheme)
    throw unsound(member, "must use https, http on loopback, or a private scheme with a dot");
  if (uri.includes("#")) throw unsound(member, "must have no fragment");
  if (parsed.username !== "" || parsed.password !== "" || !/^[\x21-\x7e]+$/.test(uri))
    throw unsound(member, "must be plain ASCII without credentials");
}

/**
 * Returns true when an address is registered, character by character. On loopback the port may differ, because a
 * program there listens on whatever port is free (RFC 8252 section 7.3).
 */
export function isRegisteredUri(registered: readonly string[], requested: string): boolean {
  if (registered.includes(requested)) return true;
  const portless = withoutPort(requested);
  return portless !== undefined && registered.some((uri) => withoutPort(uri) === portless);
}

/** Returns an address with more members in its query; what was there stays as it is written. */
export function withQuery(uri: string, members: Readonly<Record<string, string>>): string {
  const added = new URLSearchParams(members).toString();
  if (added === "") return uri;
  return `${uri}${uri.includes("?") ? (/[?&]$/.test(uri) ? "" : "&") : "?"}${added}`;
}

/** Returns an address on loopback without its port; undefined for any other address. */
function withoutPort(uri: string): string | undefined {
  const [, origin, port, rest] = LOOPBACK.exec(uri) ?? [];
  if (origin === undefined || rest === undefined || Number(port ?? 0) > PORT_MAX || rest.includes("#"))
    return undefined;
  return /^[\x21-\x7e]*$/.test(rest) ? origin + rest : undefined;
}

function unsound(member: string, reason: string): AppError {
  return invalidMember(member, `${member}: a redirect URI ${reason}`);
}
