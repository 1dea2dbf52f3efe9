/**
 * Permission bits. Bits 0 to 8, 10 to 13, 20 to 26 and 29 keep the meaning that existing clients know; 16 to 19 were
 * added by this service. A check requires every needed bit.
 */
export const PERMISSIONS = {
  authenticate: 1 << 0,
  read: 1 << 1,
  create: 1 << 2,
  update: 1 << 3,
  delete: 1 << 4,
  grant: 1 << 5,
  revoke: 1 << 6,
  publish: 1 << 7,
  subscribe: 1 << 8,
  app_list: 1 << 10,
  app_create: 1 << 11,
  app_update: 1 << 12,
  app_delete: 1 << 13,
  vault_use: 1 << 16,
  secret_read: 1 << 17,
  vault_unseal: 1 << 18,
  vault_seal: 1 << 19,
  user_list: 1 << 20,
  user_create: 1 << 21,
  user_update: 1 << 22,
  user_delete: 1 << 23,
  token_list: 1 << 24,
  token_create: 1 << 25,
  token_delete: 1 << 26,
  sudo: 1 << 29,
} as const;

export type PermissionName = keyof typeof PERMISSIONS;

/** The largest bit-set: larger numbers would alias bits in 32-bit arithmetic. */
export const PERMISSIONS_MAX = 2 ** 31 - 1;

/** Returns the bit-set of the named permissions. */
export function permissionBits(names: readonly PermissionName[]): number {
  return names.reduce((bits, name) => bits | PERMISSIONS[name], 0);
}

/** True when `held` is a bit-set, an integer from 0 to 2^31 - 1, with every bit of `needed`. */
export function holdsAll(held: number, needed: number): boolean {
  return Number.isInteger(held) && held >= 0 && held <= PERMISSIONS_MAX && (held & needed) === needed;
}

/** Returns the names of the bits that are set, for messages and listings. */
export function permissionNames(bits: number): PermissionName[] {
  return (Object.keys(PERMISSIONS) as PermissionName[]).filter((name) => holdsAll(bits, PERMISSIONS[name]));
}

/**
 * The permissions of a user who signs up: bits 0 to 4, 7 and 8 (415, the default that existing clients know), and the
 * four vault bits, so that an ordinary user can run their own vault. Unsealing and sealing also require the seal key.
 */
export const NEW_USER_PERMISSIONS = permissionBits([
  "authenticate",
  "read",
  "create",
  "update",
  "delete",
  "publish",
  "subscribe",
  "vault_use",
  "secret_read",
  "vault_unseal",
  "vault_seal",
]);

const VAULT_PERMISSIONS = permissionBits(["vault_use", "secret_read", "vault_unseal", "vault_seal"]);

/**
 * The permissions with which an application is associated by default: 510, the default that existing clients know.
 * Permissions that the granter does not hold are removed.
 */
export const ASSOCIATE_PERMISSIONS = permissionBits([
  "read",
  "create",
  "update",
  "delete",
  "grant",
  "revoke",
  "publish",
  "subscribe",
]);
/**
 * The permissions of the creator of an application or organization in it, and the most that a token of either carries:
 * 510 and the vault bits.
 */
export const TENANT_PERMISSIONS = ASSOCIATE_PERMISSIONS | VAULT_PERMISSIONS;
/** The default permissions of a member of an organization in it: 386. */
export const ORGANIZATION_MEMBER_PERMISSIONS = permissionBits(["read", "publish", "subscribe"]);
/** Every permission: those of the first administrator. */
export const ADMINISTRATOR_PERMISSIONS = permissionBits(Object.keys(PERMISSIONS) as PermissionName[]);
