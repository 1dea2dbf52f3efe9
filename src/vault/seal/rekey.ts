/**
 * Replaces the seal key: every vault's master key is wrapped under the new one, and the sentinel is replaced, in one
 * change of a store that no other process has open. Keys and secrets are untouched, because master keys wrap them.
 */
import { equalBytes } from "../../crypto/constant-time.js";
import { AppError, assert } from "../../platform/errors.js";
import type { StoreValue } from "../../platform/store/store.js";
import type { MigrationStore } from "../../platform/store/migrations.js";
import { unwrapRecord, wrapRecord } from "../worker/record-wrapping.js";
import { deriveKek, deriveSentinel } from "../worker/key-hierarchy.js";
import { KEK_GENERATION, masterPlace } from "../worker/keyring.js";
import type { KeyRecord, VaultRecord } from "../vault-records.js";
import { WRAPPED_KEY } from "./providers/wrapped-key.js";
import { SENTINEL_KEY } from "./sentinel.js";
import { SEAL_MODE_KEY, type SealModeRecord } from "./start-mode.js";

/** 32 bytes each; the caller wipes them. */
export interface RekeyKeys {
  readonly oldEntropy: Uint8Array;
  readonly newEntropy: Uint8Array;
}

type Sentinel = { readonly store_id: string; readonly sentinel: string };

/**
 * Rekeys a store and returns the number of its vaults. Nothing changes when it throws.
 * @throws vault_not_configured for a store that no seal key has opened yet, `seal_key_rejected` when the old key is not
 * this store's, `data_corrupt` for a master key that does not unwrap
 */
export function rekeyStore(store: MigrationStore, { oldEntropy, newEntropy }: RekeyKeys): number {
  const record = store.get(SENTINEL_KEY);
  if (record === undefined)
    throw new AppError("vault_not_configured", {
      message: "no seal key has opened this store yet, so there is nothing to rekey",
    });
  const sentinel = record.value as unknown as Sentinel;
  if (!equalBytes(deriveSentinel(oldEntropy, sentinel.store_id), Buffer.from(sentinel.sentinel, "hex"))) {
    throw new AppError("seal_key_rejected", { message: "the old seal key is not the one of this store" });
  }
  const oldKek = deriveKek(oldEntropy, sentinel.store_id);
  const newKek = deriveKek(newEntropy, sentinel.store_id);
  let count = 0;
  for (const { value } of store.range(["vault"])) {
    const vault = value as unknown as VaultRecord;
    const key = ["key", vault.id, vault.master_key_id];
    const master = store.get(key)?.value as unknown as KeyRecord | undefined;
    assert(master !== undefined, "a vault has its master key");
    const place = masterPlace({
      vaultId: vault.id,
      masterKeyId: vault.master_key_id,
      owner: `${vault.owner_kind}:${vault.owner_id}`,
    });
    const material = unwrapRecord(master.envelope, () => oldKek, place);
    try {
      const next: KeyRecord = {
        ...master,
        envelope: wrapRecord({ key: newKek, generation: KEK_GENERATION }, place, material),
      };
      store.put(key, next as unknown as StoreValue);
    } finally {
      material.fill(0);
    }
    count += 1;
  }
  store.put(SENTINEL_KEY, {
    ...sentinel,
    sentinel: Buffer.from(deriveSentinel(newEntropy, sentinel.store_id)).toString("hex"),
  });
  // The key that a key-management service wrapped is the old one.
  store.delete(WRAPPED_KEY);
  const mode = store.get(SEAL_MODE_KEY)?.value as unknown as SealModeRecord | undefined;
  // The new key comes from the operator, so that the store may go into production.
  if (mode?.mode === "development") store.delete(SEAL_MODE_KEY);
  return count;
}
