/**
 * Keys with their vaults as an operation found them last, so that a busy key is not read from the store for each
 * request. Everything is dropped at the store's next write, so that no deletion, disabling or change of owner can be
 * missed. A cached key is returned only to the owner who found it, in the vault where it was found.
 */
import { LRUCache } from "lru-cache";
import type { Subject } from "../platform/auth/principal.js";
import type { Store } from "../platform/store/store.js";
import type { KeyInVault } from "./vault-records.js";

/** At about 2 KB each. */
const KEYS_MAX = 1_000;

interface CachedKey {
  readonly owner: Subject;
  readonly vaultId: string;
  readonly found: KeyInVault;
}

/** Who looks for which key, in which vault. */
export interface KeyLookup {
  readonly owner: Subject;
  readonly vaultId: string;
  readonly keyId: string;
}

/** Found keys by id, valid for one revision of the store. */
export class KeyCache {
  readonly #store: Store;
  readonly #keys = new LRUCache<string, CachedKey>({ max: KEYS_MAX });
  #revision = -1;

  constructor(dependencies: { readonly store: Store }) {
    this.#store = dependencies.store;
  }

  /**
   * Returns the cached key, or finds it. A store without revisions is read each time.
   * @param find throws when there is no such key for this owner; then nothing is cached
   */
  get({ owner, vaultId, keyId }: KeyLookup, find: () => KeyInVault): KeyInVault {
    const revision = this.#store.revision?.();
    if (revision === undefined) return find();
    if (revision !== this.#revision) this.#keys.clear();
    this.#revision = revision;
    const cached = this.#keys.get(keyId);
    if (cached?.vaultId === vaultId && cached.owner.id === owner.id && cached.owner.kind === owner.kind)
      return cached.found;
    const found = find();
    this.#keys.set(keyId, { owner, vaultId, found });
    return found;
  }
}
