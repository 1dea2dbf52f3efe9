/**
 * The root keys that a vault worker keeps between tasks: the seal entropy, encrypted under an ephemeral key, and the
 * record keys of recently used vaults. Lives in the worker's thread only and ends with it. Locking destroys one small
 * key, and every copy of the encrypted entropy becomes useless.
 */
import { generateKeySync, randomBytes, type KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";
import { AEAD_NONCE_BYTES } from "../../crypto/ciphers/aead.js";
import { xaes256Gcm } from "../../crypto/ciphers/xaes-256-gcm.js";
import { AppError } from "../../platform/errors.js";
import { unwrapRecord, wrapRecord, type EnvelopePlace, type WrappingKey } from "./record-wrapping.js";
import { deriveKek, deriveRecordKey } from "./key-hierarchy.js";
import type { VaultReference } from "../protocol.js";

/**
 * Vaults whose record keys stay derived: 1000 KeyObjects are about 1 MB, and a miss costs one unwrap (tens of
 * microseconds).
 */
const RECORD_KEYS_MAX = 1000;
/**
 * With the sweep of each minute (workers/vault.worker.ts), an idle record key leaves memory after 5 minutes at most.
 */
const RECORD_KEY_IDLE_MS = 4 * 60_000;
/** KEKs have no generations yet: rekeying replaces all master envelopes in one transaction. */
export const KEK_GENERATION = 1;

const EMPTY = new Uint8Array();

/** The columns of master0; they and the owner are authenticated with every master key. */
export const MASTER_KEY_COLUMNS = { spec: "AES-256-GCM", type: "symmetric", usage: "encrypt/decrypt" } as const;

interface HeldEntropy {
  readonly ephemeralKey: KeyObject;
  readonly nonce: Uint8Array;
  readonly sealed: Uint8Array;
  readonly storeId: string;
}

interface CachedRecordKey {
  readonly vaultId: string;
  readonly key: KeyObject;
}

/** The root keys of one worker. */
export class Keyring {
  readonly #recordKeys: LRUCache<string, CachedRecordKey>;
  #held: HeldEntropy | undefined;

  constructor(options: { readonly nowMs: () => number }) {
    this.#recordKeys = new LRUCache({
      max: RECORD_KEYS_MAX,
      ttl: RECORD_KEY_IDLE_MS,
      ttlResolution: 0,
      updateAgeOnGet: true,
      perf: { now: options.nowMs },
    });
  }

  /** Keeps a copy of the seal entropy, encrypted under a fresh ephemeral key. The caller wipes its own copy. */
  unlock(entropy: Uint8Array, storeId: string): void {
    this.lock();
    const ephemeralKey = generateKeySync("aes", { length: 256 });
    const nonce = randomBytes(AEAD_NONCE_BYTES);
    this.#held = {
      ephemeralKey,
      nonce,
      sealed: xaes256Gcm.seal({ key: ephemeralKey, nonce, aad: EMPTY }, entropy),
      storeId,
    };
  }

  /** Drops the seal entropy and all record keys. */
  lock(): void {
    this.#held = undefined;
    this.#recordKeys.clear();
  }

  /** Wraps a new vault's master key under the KEK and returns the envelope. Throws `vault_sealed` while locked. */
  wrapMasterKey(vault: Omit<VaultReference, "masterEnvelope" | "generation">, masterKey: Uint8Array): string {
    return this.#withKek((kek) => wrapRecord({ key: kek, generation: KEK_GENERATION }, masterPlace(vault), masterKey));
  }

  /**
   * Lends a vault's master key to a function and wipes it afterwards.
   * @throws data_corrupt when the envelope is not this vault's and this owner's, `vault_sealed` while locked
   */
  withMasterKey<T>(vault: VaultReference, use: (masterKey: Uint8Array) => T): T {
    const masterKey = this.#withKek((kek) => unwrapRecord(vault.masterEnvelope, () => kek, masterPlace(vault)));
    try {
      return use(masterKey);
    } finally {
      masterKey.fill(0);
    }
  }

  /** Returns the key that wraps a vault's records of one generation. Throws as `withMasterKey` does. */
  recordKey(vault: VaultReference, generation: number): KeyObject {
    // Everything that a miss checks is part of the name, so that a changed record or owner never hits.
    const name = [vault.vaultId, generation, vault.owner, vault.masterKeyId, vault.masterEnvelope].join("|");
    const cached = this.#recordKeys.get(name);
    if (cached !== undefined) return cached.key;
    const key = this.withMasterKey(vault, (masterKey) => deriveRecordKey(masterKey, vault.vaultId, generation));
    this.#recordKeys.set(name, { vaultId: vault.vaultId, key });
    return key;
  }

  /** Returns the key that wraps new records of a vault. Throws as `withMasterKey` does. */
  wrappingKey(vault: VaultReference): WrappingKey {
    const { generation } = vault;
    return { key: this.recordKey(vault, generation), generation };
  }

  /** Drops the record keys of a vault. */
  forgetVault(vaultId: string): void {
    for (const [name, cached] of [...this.#recordKeys.entries()]) {
      if (cached.vaultId === vaultId) this.#recordKeys.delete(name);
    }
  }

  /** Drops record keys that were idle too long; called by a timer of the worker. */
  dropIdle(): void {
    this.#recordKeys.purgeStale();
  }

  #withKek<T>(use: (kek: KeyObject) => T): T {
    const held = this.#held;
    if (held === undefined) throw new AppError("vault_sealed", { message: "the vault is sealed" });
    const entropy = xaes256Gcm.open({ key: held.ephemeralKey, nonce: held.nonce, aad: EMPTY }, held.sealed);
    try {
      return use(deriveKek(entropy, held.storeId));
    } finally {
      entropy.fill(0);
    }
  }
}

/** Returns the place of a vault's master key; the owner is part of it. */
export function masterPlace(vault: Omit<VaultReference, "masterEnvelope" | "generation">): EnvelopePlace {
  return {
    purpose: "mk",
    vaultId: vault.vaultId,
    recordId: vault.masterKeyId,
    metadata: { owner: vault.owner, ...MASTER_KEY_COLUMNS },
  };
}
