/**
 * Answers which part of a requested OAuth scope is granted (RFC 6749 section 3.3), and which permissions it stands for.
 * Unknown scopes are ignored, as the RFC allows. For OAuth clients the names of permissions are scopes too: a client's
 * token carries those bits and no others.
 */
import { permissionBits, type PermissionName } from "../../platform/auth/permissions.js";

/** Requests a refresh token (OpenID Connect Core section 11). */
export const OFFLINE_ACCESS = "offline_access";
/** Requests an id token (OpenID Connect Core section 3.1.2.1). */
export const OPENID = "openid";
const OPENID_SCOPES: readonly string[] = [OPENID, "profile", "email", OFFLINE_ACCESS];
/** The permissions that a user may pass on to a client; those of administrators are not among them. */
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

/** Every scope that a client may request. */
export const CLIENT_SCOPES: readonly string[] = [...OPENID_SCOPES, ...CLIENT_PERMISSIONS];

/** Returns the granted part of the scope of a login: `offline_access` or the empty string. */
export function grantedScope(requested: string | undefined): string {
  return scopesOf(requested).has(OFFLINE_ACCESS) ? OFFLINE_ACCESS : "";
}

/** Returns the granted part of the scope of a client, in a fixed order. */
export function grantedClientScope(requested: string | undefined): string {
  const requestedNames = scopesOf(requested);
  return CLIENT_SCOPES.filter((name) => requestedNames.has(name)).join(" ");
}

/** Returns the permission bits that a client's scope names. */
export function scopePermissions(scope: string): number {
  const names = scopesOf(scope);
  return permissionBits(CLIENT_PERMISSIONS.filter((name) => names.has(name)));
}

/** Returns true when `limit` contains every scope of `scope`. */
export function isWithinScope(scope: string, limit: string): boolean {
  const allowed = scopesOf(limit);
  return scope.split(" ").every((name) => name === "" || allowed.has(name));
}

/** Returns true for a scope that has names, none of which a client may request (RFC 6749 section 3.3). */
export function isNamingNothing(requested: string): boolean {
  return scopeNames(requested).length > 0 && grantedClientScope(requested) === "";
}

/** Returns the names in a space-separated scope. */
export function scopeNames(scope: string): string[] {
  return scope.split(" ").filter((name) => name !== "");
}

/** Returns true when a space-separated scope contains one name. */
export function hasScope(scope: string, name: string): boolean {
  return scopesOf(scope).has(name);
}

function scopesOf(scope: string | undefined): ReadonlySet<string> {
  return new Set((scope ?? "").split(" "));
}
