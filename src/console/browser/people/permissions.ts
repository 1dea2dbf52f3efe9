/** The permissions of users and tokens, as bits and as names. */

const BITS = {
  authenticate: 0,
  read: 1,
  create: 2,
  update: 3,
  delete: 4,
  grant: 5,
  revoke: 6,
  publish: 7,
  subscribe: 8,
  app_list: 10,
  app_create: 11,
  app_update: 12,
  app_delete: 13,
  vault_use: 16,
  secret_read: 17,
  vault_unseal: 18,
  vault_seal: 19,
  user_list: 20,
  user_create: 21,
  user_update: 22,
  user_delete: 23,
  token_list: 24,
  token_create: 25,
  token_delete: 26,
  sudo: 29,
} as const;

export type PermissionName = keyof typeof BITS;
export const PERMISSION_NAMES = Object.keys(BITS) as readonly PermissionName[];

/** Returns the names of the bits in a set. */
export function permissionNames(bits: number): PermissionName[] {
  return PERMISSION_NAMES.filter((name) => (bits & (1 << BITS[name])) !== 0);
}

/** Returns the set of the named bits. */
export function permissionBits(names: readonly PermissionName[]): number {
  return names.reduce((bits, name) => bits | (1 << BITS[name]), 0);
}
