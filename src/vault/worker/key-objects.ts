/**
 * Opened keys, kept for a short time as OpenSSL objects: opening a key's record costs more than most uses of it. Lives
 * in a vault worker only. A KeyObject is never part of a heap snapshot, and OpenSSL overwrites it when it is freed.
 */
import type { KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";

/** Each is a few KB at most. */
const KEYS_MAX = 256;
/** With the sweep of each minute (workers/vault.worker.ts), an idle key leaves memory after two minutes at most. */
const IDLE_MS = 60_000;
/** Objects kept of one key: the accounts of a wallet that sign, and one or two of any other key. */
const DERIVED_MAX = 64;

/** An opened key. */
export interface OpenedKey {
  /** The material of its record. */
  readonly secret: KeyObject;
  /** Objects made from the material, by purpose: an RSA key, a sub-key. */
  readonly derived: LRUCache<string, KeyObject>;
}

interface CachedKey extends OpenedKey {
  readonly vaultId: string;
}

/** The opened keys of one worker, least recently used first to go. */
export class KeyObjects {
  readonly #keys: LRUCache<string, CachedKey>;

  constructor(options: { readonly nowMs: () => number }) {
    this.#keys = new LRUCache({
      max: KEYS_MAX,
      ttl: IDLE_MS,
      ttlResolution: 0,
      updateAgeOnGet: true,
      perf: { now: options.nowMs },
    });
  }

  /**
   * Returns the key with a name, and opens it when it is not kept.
   * @param name everything that opening the key's record checks, so that a changed record can never meet an old key
   */
  get(name: string, vaultId: string, open: () => KeyObject): OpenedKey {
    const kept = this.#keys.get(name);
    if (kept !== undefined) return kept;
    const opened = { vaultId, secret: open(), derived: new LRUCache<string, KeyObject>({ max: DERIVED_MAX }) };
    this.#keys.set(name, opened);
    return opened;
  }

  /** Drops the keys of a vault. */
  forgetVault(vaultId: string): void {
    for (const [name, key] of [...this.#keys.entries()]) {
      if (key.vaultId === vaultId) this.#keys.delete(name);
    }
  }

  /** Drops keys that were idle too long; called by a timer of the thread. */
  dropIdle(): void {
    this.#keys.purgeStale();
  }

  /** Drops all keys. */
  clear(): void {
    this.#keys.clear();
  }
}
