/**
 * Changes to a key between its creation and its deletion: rotation, disabling, and planning its deletion (which
 * planned-deletions.ts carries out). Material stays in the worker. Every change is one commit that fails when the key
 * was changed since it was read.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { keyJson } from "./key-records.js";
import { isOver, windowEnd } from "./planned-deletions.js";
import { unchanged, type VaultRepository } from "../repository.js";
import type { FoundKey, KeyInVault, KeyRecord } from "../vault-records.js";
import type { KeyJson } from "../schemas.js";
import type { VaultSeal } from "../seal/seal.js";

export interface KeyLifecycleDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
}

/** The key after a rotation, with the generation that its new ciphertexts name. */
export type RotatedKey = KeyJson & { readonly generation: number };

/** Old generations are kept for old ciphertexts. A key that is rotated daily reaches this limit after 27 years. */
const GENERATIONS_MAX = 10_000;

/** Rotates, disables and restores keys. */
export class KeyLifecycle {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #clock: Clock;

  constructor(dependencies: KeyLifecycleDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#clock = dependencies.clock;
  }

  /**
   * Gives a symmetric key new material. Earlier ciphertexts can still be decrypted: their frames name their generation.
   * @throws key_not_rotatable for asymmetric keys and after 10,000 rotations, `master_key_immutable`, `key_disabled`,
   * `not_found`, `conflict`
   */
  async rotate(owner: Subject, vaultId: string, keyId: string): Promise<RotatedKey> {
    const { vault, key } = this.#find(owner, vaultId, keyId);
    const { reference } = key;
    if (reference.type !== "symmetric")
      throw new AppError("key_not_rotatable", {
        message: "only symmetric keys can be rotated: the public key of an asymmetric key is its identity",
      });
    const generation = reference.generation + 1;
    if (generation > GENERATIONS_MAX)
      throw new AppError("key_not_rotatable", {
        message: "the key has reached the limit of rotations; create a new one",
      });
    const { envelope } = await this.#seal.run(
      "rotate_key",
      { vault: vault.reference, key: reference, generation },
      keyId,
    );
    await this.#repository.commitUnlessChanged(
      "key",
      unchanged(vault.record),
      this.#repository.keyRotation(key, envelope),
    );
    return { ...keyJson(key.record.value), generation };
  }

  /**
   * Disables a key: every use is refused until it is enabled. Disabling a disabled key changes nothing. Throws
   * `master_key_immutable`, `not_found`, `conflict`.
   */
  async disable(owner: Subject, vaultId: string, keyId: string): Promise<KeyJson> {
    const { key } = this.#find(owner, vaultId, keyId);
    const { value } = key.record;
    return value.disabled_at === undefined
      ? await this.#update(key, { ...value, disabled_at: isoTimestamp(this.#clock.nowMs()) })
      : keyJson(value);
  }

  /**
   * Enables a disabled key. Throws `deletion_planned` where the key would stay disabled all the same until it is
   * restored, `master_key_immutable`, `not_found`, `conflict`.
   */
  async enable(owner: Subject, vaultId: string, keyId: string): Promise<KeyJson> {
    const { key } = this.#find(owner, vaultId, keyId);
    const { disabled_at: disabledAt, ...value } = key.record.value;
    if (isOver(value.deletes_at, this.#clock)) throw notFound("key");
    if (value.deletes_at !== undefined)
      throw new AppError("deletion_planned", {
        message: "the deletion of this key is planned, which disables it; restore it first",
      });
    return disabledAt === undefined ? keyJson(value) : await this.#update(key, value);
  }

  /**
   * Plans the deletion of a key, which cannot be used until then and can be restored. Planning again moves the day.
   * Throws `master_key_immutable`, `not_found`, `conflict`.
   */
  async scheduleDeletion(owner: Subject, vaultId: string, keyId: string, recoveryDays: number): Promise<KeyJson> {
    const { key } = this.#find(owner, vaultId, keyId);
    const deletesAt = windowEnd(this.#clock, recoveryDays);
    return await this.#update(
      key,
      { ...key.record.value, deletes_at: deletesAt },
      this.#repository.keyDeletionPlan(key, deletesAt),
    );
  }

  /**
   * Withdraws a planned deletion. Throws `key_not_deleted` when none is planned, `not_found` once its time has come.
   */
  async restore(owner: Subject, vaultId: string, keyId: string): Promise<KeyJson> {
    const { key } = this.#find(owner, vaultId, keyId);
    const { deletes_at: deletesAt, ...value } = key.record.value;
    if (deletesAt === undefined)
      throw new AppError("key_not_deleted", { message: "no deletion of this key is planned" });
    if (isOver(deletesAt, this.#clock)) throw notFound("key");
    return await this.#update(key, value);
  }

  /** Finds a key that may be changed, which the master key may not. */
  #find(owner: Subject, vaultId: string, keyId: string): KeyInVault {
    this.#seal.requireUnsealed();
    const found = {
      vault: this.#repository.findUsableVault(owner, vaultId),
      key: this.#repository.findKey(vaultId, keyId),
    };
    if (keyId === found.vault.reference.masterKeyId)
      throw new AppError("master_key_immutable", {
        message: "the master key of a vault cannot be changed; it is deleted with the vault",
      });
    return found;
  }

  async #update(key: FoundKey, next: KeyRecord, more: StoreCommit = {}): Promise<KeyJson> {
    await this.#repository.commitUnlessChanged("key", this.#repository.keyUpdate(key, next), more);
    return keyJson(next);
  }
}
