/**
 * OAuth scopes (RFC 6749 section 3.3) that mean something here. Words that do not are ignored, as the RFC lets a server
 * do. For OAuth clients the names of permissions are scopes too: a client's token carries those bits and no others.
 */
import { permissionBits, type PermissionName } from "../../platform/auth/permissions.js";

/** Asks for a refresh token. */
export const OFFLINE_ACCESS = "offline_access";
/** Asks for an id token (OpenID Connect Core section 3.1.2.1). */
export const OPENID = "openid";
const IDENTITY_WORDS: readonly string[] = [OPENID, "profile", "email", OFFLINE_ACCESS];
/** Bits that a person may hand to a client; administrators' bits stay with administrators. */
const CLIENT_PERMISSIONS: readonly PermissionName[] = [
  "read",
  "create",
  "update",
  "delete",
  "publish",
  "subscribe",
  "vault_use",
  "secret_read",
];

/** Every scope that a client may ask for. */
export const CLIENT_SCOPES: readonly string[] = [...IDENTITY_WORDS, ...CLIENT_PERMISSIONS];

/** The part of the scope of a login that is granted; empty text for none. */
export function grantedScope(requested: string | undefined): string {
  return words(requested).has(OFFLINE_ACCESS) ? OFFLINE_ACCESS : "";
}

/** The part of a client's scope that is granted, in a fixed order. */
export function grantedClientScope(requested: string | undefined): string {
  const asked = words(requested);
  return CLIENT_SCOPES.filter((word) => asked.has(word)).join(" ");
}

/** The permission bits that a client's scope names. */
export function scopePermissions(scope: string): number {
  const asked = words(scope);
  return permissionBits(CLIENT_PERMISSIONS.filter((name) => asked.has(name)));
}

/** True when every word of `scope` stands in `limit`. */
export function isWithinScope(scope: string, limit: string): boolean {
  const allowed = words(limit);
  return scope.split(" ").every((word) => word === "" || allowed.has(word));
}

export function hasScope(scope: string, word: string): boolean {
  return words(scope).has(word);
}

function words(scope: string | undefined): ReadonlySet<string> {
  return new Set((scope ?? "").split(" "));
}
