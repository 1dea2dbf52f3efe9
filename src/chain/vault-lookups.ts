/** Whether vaults and keys that records refer to still exist: their owner may delete them at any time. */
import type { Subject } from "../platform/auth/principal.js";
import { AppError } from "../platform/errors.js";
import type { VaultService } from "../vault/service.js";

/** Returns what was read, or undefined when it does not exist. Throws every other failure. */
export function ifFound<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return undefined;
    throw error;
  }
}

/**
 * Returns true when the owner has this vault and did not plan its deletion: nothing in a vault that is to be deleted
 * can be used. Throws `vault_sealed`.
 */
export function hasUsableVault(vault: VaultService, owner: Subject, vaultId: string): boolean {
  const found = ifFound(() => vault.getVault(owner, vaultId));
  return found !== undefined && found.deletes_at === undefined;
}
