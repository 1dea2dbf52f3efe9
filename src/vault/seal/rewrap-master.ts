/** A vault's master key, taken out of one seal key's envelope and put into another's. */
import type { KeyObject } from "node:crypto";
import { equalBytes } from "../../crypto/constant-time.js";
import { AppError } from "../../platform/errors.js";
import type { KeyRecord, VaultRecord } from "../vault-records.js";
import { deriveKek, deriveSentinel } from "../worker/key-hierarchy.js";
import { KEK_GENERATION, masterPlace } from "../worker/keyring.js";
import { unwrapRecord, wrapRecord } from "../worker/record-wrapping.js";
import type { SentinelRecord } from "./sentinel.js";

/** 32 bytes each; the caller wipes them. */
export interface RekeyKeys {
  readonly oldEntropy: Uint8Array;
  readonly newEntropy: Uint8Array;
}

/** The keys that wrap a store's master keys. */
export interface RekeyKeks {
  readonly oldKek: KeyObject;
  readonly newKek: KeyObject;
}

/**
 * Returns the keys that wrap the master keys of a store.
 * @throws vault_not_configured for a store that no seal key has opened yet, `seal_key_rejected` when the old key is not
 * this store's
 */
export function rekeyKeks(
  sentinel: SentinelRecord | undefined,
  { oldEntropy, newEntropy }: RekeyKeys,
): RekeyKeks & { readonly sentinel: SentinelRecord } {
  if (sentinel === undefined)
    throw new AppError("vault_not_configured", {
      message: "no seal key has opened this store yet, so there is nothing to rekey",
    });
  if (!equalBytes(deriveSentinel(oldEntropy, sentinel.store_id), Buffer.from(sentinel.sentinel, "hex")))
    throw new AppError("seal_key_rejected", { message: "the old seal key is not the one of this store" });
  const [oldKek, newKek] = [oldEntropy, newEntropy].map((entropy) => deriveKek(entropy, sentinel.store_id));
  return { oldKek, newKek, sentinel } as RekeyKeks & { readonly sentinel: SentinelRecord };
}

/** Returns the sentinel of a store for a new seal key, as hex. */
export function sentinelText(entropy: Uint8Array, { store_id: storeId }: SentinelRecord): string {
  return Buffer.from(deriveSentinel(entropy, storeId)).toString("hex");
}

/** Returns the key of a vault's master key. */
export function masterKeyOf({ id, master_key_id: masterKeyId }: VaultRecord): readonly string[] {
  return ["key", id, masterKeyId];
}

/** Returns a master key under the new seal key. @throws data_corrupt when it does not unwrap with the old one */
export function rewrapMaster(vault: VaultRecord, master: KeyRecord, { oldKek, newKek }: RekeyKeks): KeyRecord {
  const place = placeOf(vault);
  const material = unwrapRecord(master.envelope, () => oldKek, place);
  try {
    return { ...master, envelope: wrapRecord({ key: newKek, generation: KEK_GENERATION }, place, material) };
  } finally {
    material.fill(0);
  }
}

/** Whether a master key is wrapped under a seal key. */
export function isWrappedUnder(kek: KeyObject, vault: VaultRecord, { envelope }: KeyRecord): boolean {
  try {
    unwrapRecord(envelope, () => kek, placeOf(vault)).fill(0);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === "data_corrupt") return false;
    throw error;
  }
}

function placeOf(vault: VaultRecord): ReturnType<typeof masterPlace> {
  return masterPlace({
    vaultId: vault.id,
    masterKeyId: vault.master_key_id,
    owner: `${vault.owner_kind}:${vault.owner_id}`,
  });
}
