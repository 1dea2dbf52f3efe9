/**
 * Replaces the seal key: every vault's master key is wrapped under the new one, and the sentinel is replaced, in one
 * change of a store that no other process has open (rekey-cluster.ts for the nodes of a cluster). Keys and secrets are
 * untouched, because master keys wrap them.
 */
import { assert } from "../../platform/errors.js";
import type { MigrationStore } from "../../platform/store/migrations.js";
import type { StoreKey, StoreValue } from "../../platform/store/store.js";
import type { KeyRecord, VaultRecord } from "../vault-records.js";
import { WRAPPED_KEY } from "./providers/wrapped-key.js";
import { masterKeyOf, rekeyKeks, rewrapMaster, sentinelText, type RekeyKeys } from "./rewrap-master.js";
import { SENTINEL_KEY, type SentinelRecord } from "./sentinel.js";
import { SEAL_MODE_KEY, type SealModeRecord } from "./start-mode.js";

/**
 * Rekeys a store and returns the number of its vaults. Nothing changes when it throws.
 * @throws vault_not_configured for a store that no seal key has opened yet, `seal_key_rejected` when the old key is not
 * this store's, `data_corrupt` for a master key that does not unwrap
 */
export function rekeyStore(store: MigrationStore, keys: RekeyKeys): number {
  const stored = store.get(SENTINEL_KEY)?.value as SentinelRecord | undefined;
  const { sentinel, ...keks } = rekeyKeks(stored, keys);
  let count = 0;
  for (const { value } of store.range(["vault"])) {
    const vault = value as unknown as VaultRecord;
    const master = store.get(masterKeyOf(vault))?.value as unknown as KeyRecord | undefined;
    assert(master !== undefined, "a vault has its master key");
    store.put(masterKeyOf(vault), rewrapMaster(vault, master, keks) as unknown as StoreValue);
    count += 1;
  }
  store.put(SENTINEL_KEY, { ...sentinel, sentinel: sentinelText(keys.newEntropy, sentinel) });
  for (const key of replacedByRekey(store.get(SEAL_MODE_KEY)?.value as SealModeRecord | undefined)) store.delete(key);
  return count;
}

/** Returns the records that hold for the old seal key alone. */
export function replacedByRekey(mode: SealModeRecord | undefined): readonly StoreKey[] {
  // The key that a key-management service wrapped is the old one. The new one comes from the operator, so that a store
  // of development mode may go into production.
  return mode?.mode === "development" ? [WRAPPED_KEY, SEAL_MODE_KEY] : [WRAPPED_KEY];
}
