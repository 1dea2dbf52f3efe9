/**
 * Replaces the seal key of a cluster while its nodes run, in steps that each hold by themselves:
 * 1. The sentinel says that it is being replaced. Each node seals when it sees that, none unseals, and none that has
 *    not seen it yet can store a vault, because that checks the sentinel.
 * 2. The master keys are wrapped anew, a page at a time; those that are already are left.
 * 3. The sentinel is the new key's.
 * Whoever was cut off runs the same again, with the same two keys.
 */
import { AppError, assert } from "../../platform/errors.js";
import type { Store, StoreAppend, StoreCheck, StoreRecord, StoreValue } from "../../platform/store/store.js";
import type { KeyRecord, VaultRecord } from "../vault-records.js";
import { replacedByRekey } from "./rekey.js";
import {
  isWrappedUnder,
  masterKeyOf,
  rekeyKeks,
  rewrapMaster,
  sentinelText,
  type RekeyKeks,
  type RekeyKeys,
} from "./rewrap-master.js";
import { SENTINEL_KEY, type SentinelRecord } from "./sentinel.js";
import { SEAL_MODE_KEY, type SealModeRecord } from "./start-mode.js";

export interface RekeyClusterOptions extends RekeyKeys {
  /** Returns what the audit log says of it. @param vaults their number */
  readonly audited: (vaults: number) => StoreAppend;
  /** Vaults of one commit. */
  readonly page?: number;
}

const PAGE = 500;

/**
 * Rekeys and returns the number of vaults.
 * @throws vault_not_configured for a cluster that no seal key has opened yet, `seal_key_rejected` when the old key is
 * not its key, `seal_key_mismatch` when a change to another new key was begun, `data_corrupt` for a master key that
 * does not unwrap; nothing is changed then
 */
export async function rekeyCluster(
  store: Store,
  { audited, page = PAGE, ...keys }: RekeyClusterOptions,
): Promise<number> {
  const begun = store.get<SentinelRecord>(SENTINEL_KEY);
  const { sentinel, ...keks } = rekeyKeks(begun?.value, keys);
  const next = sentinelText(keys.newEntropy, sentinel);
  if (sentinel.next !== undefined && sentinel.next !== next)
    throw new AppError("seal_key_mismatch", {
      message: "a change to another seal key was begun and cut off: end it with the new words that it was begun with",
    });
  for (const { vault, master } of vaultsOf(store, page)) requireKnown(vault, master.value, keks);
  assert(begun !== undefined, "there is a sentinel, because its key was compared");
  if (sentinel.next === undefined)
    await store.commit({ checks: [versionOf(begun)], puts: [{ key: SENTINEL_KEY, value: { ...sentinel, next } }] });
  const count = await rewrapAll(store, { ...keks, page });
  const changed = store.get<SentinelRecord>(SENTINEL_KEY);
  assert(changed?.value.next === next, "nobody else changes the seal key meanwhile");
  const { next: sentinelOfNew, ...rest } = changed.value;
  await store.commit({
    checks: [versionOf(changed)],
    puts: [{ key: SENTINEL_KEY, value: { ...rest, sentinel: sentinelOfNew } }],
    deletes: replacedByRekey(store.get<SealModeRecord>(SEAL_MODE_KEY)?.value),
    appends: [audited(count)],
    urgent: true,
  });
  return count;
}

async function rewrapAll(store: Store, { page, ...keks }: RekeyKeks & { readonly page: number }): Promise<number> {
  let count = 0;
  let commit: { readonly checks: StoreCheck[]; readonly puts: { key: readonly string[]; value: StoreValue }[] } = {
    checks: [],
    puts: [],
  };
  const write = async (): Promise<void> => {
    if (commit.puts.length > 0) await store.commit({ ...commit, urgent: true });
    commit = { checks: [], puts: [] };
  };
  for (const { vault, master } of vaultsOf(store, page)) {
    count += 1;
    if (isWrappedUnder(keks.newKek, vault, master.value)) continue;
    commit.checks.push(versionOf(master));
    commit.puts.push({
      key: masterKeyOf(vault),
      value: rewrapMaster(vault, master.value, keks) as unknown as StoreValue,
    });
    if (commit.puts.length === page) await write();
  }
  await write();
  return count;
}

function requireKnown(vault: VaultRecord, master: KeyRecord, { oldKek, newKek }: RekeyKeks): void {
  if (isWrappedUnder(oldKek, vault, master) || isWrappedUnder(newKek, vault, master)) return;
  throw new AppError("data_corrupt", {
    message: `the master key of the vault ${vault.id} opens with neither key: nothing was changed`,
  });
}

/** All vaults with their master keys, as they are when their page is read. */
function* vaultsOf(
  store: Store,
  page: number,
): Generator<{
  readonly vault: VaultRecord;
  readonly master: StoreRecord<KeyRecord>;
}> {
  let rows = store.range<VaultRecord>(["vault"], { limit: page });
  for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    for (const { value: vault } of rows) {
      const master = store.get<KeyRecord>(masterKeyOf(vault));
      // A vault that was deleted since its page was read is gone with its keys.
      if (master !== undefined) yield { vault, master };
    }
    rows = store.range<VaultRecord>(["vault"], { limit: page, after: last.key });
  }
}

function versionOf({ key, version }: StoreRecord<unknown>): StoreCheck {
  return { key, version };
}
