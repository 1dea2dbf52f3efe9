/**
 * What the vault worker keeps between tasks: the seal entropy, encrypted under an ephemeral key, and the record keys of
 * recently used vaults. Lives in the worker thread only; ends with it. Locking it destroys one small key and makes
 * every copy noise.
 */
import { generateKeySync, randomBytes, type KeyObject } from "node:crypto";
import { AEAD_NONCE_BYTES } from "../../crypto/ciphers/aead.js";
import { xaes256Gcm } from "../../crypto/ciphers/xaes-256-gcm.js";
import { AppError } from "../../platform/errors.js";
import { unwrapRecord, wrapRecord, type EnvelopePlace } from "./record-wrapping.js";
import { deriveKek, deriveRecordKey } from "./key-hierarchy.js";
import type { VaultReference } from "../protocol.js";

/**
 * Vaults whose record keys stay derived: 1000 KeyObjects are about 1 MB, and a miss costs one unwrap (tens of
 * microseconds).
 */
const RECORD_KEYS_MAX = 1000;
/** A record key that nobody asks for leaves memory after this time. */
const RECORD_KEY_IDLE_MS = 5 * 60_000;
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
  usedAtMs: number;
}

export class Keyring {
  readonly #nowMs: () => number;
  /** In order of last use, oldest first. */
  readonly #recordKeys = new Map<string, CachedRecordKey>();
  #held: HeldEntropy | undefined;

  constructor(options: { nowMs: () => number }) {
    this.#nowMs = options.nowMs;
  }

  /** Keeps a copy of the seal entropy, encrypted under a fresh ephemeral key. The caller wipes its own. */
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

  lock(): void {
    this.#held = undefined;
    this.#recordKeys.clear();
  }

  /** Wraps a new vault's master key under the KEK; answers the envelope. */
  wrapMasterKey(vault: Omit<VaultReference, "masterEnvelope" | "generation">, masterKey: Uint8Array): string {
    return this.#withKek((kek) => wrapRecord(kek, KEK_GENERATION, masterPlace(vault), masterKey));
  }

  /**
   * Lends a vault's master key to a function. Throws `data_corrupt` when the envelope is not this vault's and this
   * owner's.
   */
  withMasterKey<T>(vault: VaultReference, use: (masterKey: Uint8Array) => T): T {
    const masterKey = this.#withKek((kek) => unwrapRecord(vault.masterEnvelope, () => kek, masterPlace(vault)));
    try {
      return use(masterKey);
    } finally {
      masterKey.fill(0);
    }
  }

  /** The key that wraps a vault's records of one generation. */
  recordKey(vault: VaultReference, generation: number): KeyObject {
    // Everything that is checked on a miss is part of the name, so that a changed record or owner can never hit.
    const name = [vault.vaultId, generation, vault.owner, vault.masterKeyId, vault.masterEnvelope].join("|");
    const nowMs = this.#nowMs();
    this.#dropIdle(nowMs);
    const cached = this.#recordKeys.get(name);
    if (cached !== undefined) {
      this.#recordKeys.delete(name);
      this.#recordKeys.set(name, cached);
      cached.usedAtMs = nowMs;
      return cached.key;
    }
    const key = this.withMasterKey(vault, (masterKey) => deriveRecordKey(masterKey, vault.vaultId, generation));
    this.#recordKeys.set(name, { vaultId: vault.vaultId, key, usedAtMs: nowMs });
    if (this.#recordKeys.size > RECORD_KEYS_MAX) this.#dropOldest();
    return key;
  }

  forgetVault(vaultId: string): void {
    for (const [name, cached] of this.#recordKeys) {
      if (cached.vaultId === vaultId) this.#recordKeys.delete(name);
    }
  }

  /** Drops record keys that were idle too long; called on use and by a timer of the worker. */
  dropIdle(): void {
    this.#dropIdle(this.#nowMs());
  }

  #dropIdle(nowMs: number): void {
    for (const [name, cached] of this.#recordKeys) {
      if (nowMs - cached.usedAtMs < RECORD_KEY_IDLE_MS) return;
      this.#recordKeys.delete(name);
    }
  }

  #dropOldest(): void {
    const oldest = this.#recordKeys.keys().next();
    if (oldest.done !== true) this.#recordKeys.delete(oldest.value);
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

/** Where a vault's master key belongs; the owner is part of it. */
export function masterPlace(vault: Omit<VaultReference, "masterEnvelope" | "generation">): EnvelopePlace {
  return {
    purpose: "mk",
    vaultId: vault.vaultId,
    recordId: vault.masterKeyId,
    metadata: { owner: vault.owner, ...MASTER_KEY_COLUMNS },
  };
}
