/**
 * What happens to a key between its creation and its end: rotation, disabling, deletion with time to think it over
 * (which planned-deletions.ts carries out). Material stays in the worker; every change is one commit that pins what it
 * was decided on.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { StoreConflict, type StoreCommit } from "../../platform/store/store.js";
import { frameGeneration } from "../worker/ciphertext-frame.js";
import { keyJson } from "./key-records.js";
import { keySpecNamed } from "../key-specs/table.js";
import { isOver, windowEnd } from "./planned-deletions.js";
import { unchanged, type FoundKey, type FoundVault, type KeyRecord, type VaultRepository } from "../repository.js";
import { CONTEXT_BYTES_MAX, type KeyJson } from "../schemas.js";
import type { VaultSeal } from "../seal/seal.js";
import { hexBytes, invalidMember, toHex, utf8Bytes } from "./validation.js";

export interface KeyLifecycleDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
}

/** The key after a rotation, with the number that its new ciphertexts carry. */
export type RotatedKey = KeyJson & { readonly generation: number };

/** Old generations are kept so that old ciphertexts open; a key that was rotated daily reaches this after 27 years. */
const GENERATIONS_MAX = 10_000;

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
   * Gives a symmetric key new material. What was encrypted before still opens: its frames name their generation. Throws
   * `key_not_rotatable` for asymmetric keys and after 10,000 rotations, `master_key_immutable`, `key_disabled`,
   * `not_found`.
   */
  async rotate(owner: Subject, vaultId: string, keyId: string): Promise<RotatedKey> {
    const { vault, key } = this.#find(owner, vaultId, keyId);
    const { reference } = key;
    if (reference.type !== "symmetric")
      throw new AppError("key_not_rotatable", {
        message: "only symmetric keys are rotated: the public key of an asymmetric one is its identity",
      });
    const generation = reference.generation + 1;
    if (generation > GENERATIONS_MAX)
      throw new AppError("key_not_rotatable", {
        message: "the key was rotated as often as a key may be; make a new one",
      });
    const { envelope } = await this.#seal.run(
      "rotate_key",
      { vault: vault.reference, key: reference, generation },
      keyId,
    );
    await this.#commit(unchanged(vault.record), this.#repository.keyRotation(key, envelope));
    return { ...keyJson(key.record.value), generation };
  }

  /**
   * Encrypts a ciphertext anew under the key's present generation, for the same context; nobody sees the plaintext.
   * Throws `decryption_failed`, `spec_cannot_decrypt`, `key_disabled`, `not_found`.
   */
  async rewrap(
    owner: Subject,
    vaultId: string,
    keyId: string,
    input: { readonly data: string; readonly context?: string },
  ): Promise<string> {
    const { vault, key } = this.#find(owner, vaultId, keyId, { mayBeMaster: true });
    const data = hexBytes(input.data, "data");
    const context = utf8Bytes(input.context ?? "", "context");
    if (context.length > CONTEXT_BYTES_MAX)
      throw invalidMember("context", `\`context\` is longer than ${String(CONTEXT_BYTES_MAX)} bytes`);
    const to = key.reference;
    if (keySpecNamed(to.spec).decrypt === undefined)
      throw new AppError("spec_cannot_decrypt", { message: "key does not support decryption" });
    const from = this.#repository.findGeneration(key, frameGeneration(data) ?? to.generation) ?? to;
    return toHex(
      await this.#seal.run("rewrap", { vault: vault.reference, from, to, data: new Uint8Array(data), context }, keyId),
    );
  }

  /** Switches a key off: every use is refused until it is enabled. Disabling a disabled key changes nothing. */
  async disable(owner: Subject, vaultId: string, keyId: string): Promise<KeyJson> {
    const { key } = this.#find(owner, vaultId, keyId);
    const { value } = key.record;
    return value.disabled_at === undefined
      ? await this.#update(key, { ...value, disabled_at: this.#now() })
      : keyJson(value);
  }

  async enable(owner: Subject, vaultId: string, keyId: string): Promise<KeyJson> {
    const { key } = this.#find(owner, vaultId, keyId);
    const { disabled_at: disabledAt, ...value } = key.record.value;
    return disabledAt === undefined ? keyJson(value) : await this.#update(key, value);
  }

  /** Plans the deletion of a key; until then it cannot be used, but can be restored. Planning again moves the day. */
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
   * Takes a planned deletion back. Throws `key_not_deleted` when none is planned, `not_found` once its time has come.
   */
  async restore(owner: Subject, vaultId: string, keyId: string): Promise<KeyJson> {
    const { key } = this.#find(owner, vaultId, keyId);
    const { deletes_at: deletesAt, ...value } = key.record.value;
    if (deletesAt === undefined)
      throw new AppError("key_not_deleted", { message: "no deletion of this key is planned" });
    if (isOver(deletesAt, this.#clock)) throw missing();
    return await this.#update(key, value);
  }

  #find(
    owner: Subject,
    vaultId: string,
    keyId: string,
    options: { readonly mayBeMaster?: boolean } = {},
  ): { vault: FoundVault; key: FoundKey } {
    this.#seal.requireUnsealed();
    const vault = this.#repository.findVault(owner, vaultId);
    if (keyId === vault.reference.masterKeyId && options.mayBeMaster !== true) {
      throw new AppError("master_key_immutable", {
        message: "the master key of a vault lives and dies with the vault",
      });
    }
    return { vault, key: this.#repository.findKey(vaultId, keyId) };
  }

  async #update(key: FoundKey, next: KeyRecord, more: StoreCommit = {}): Promise<KeyJson> {
    await this.#commit(this.#repository.keyUpdate(key, next), more);
    return keyJson(next);
  }

  async #commit(...parts: readonly StoreCommit[]): Promise<void> {
    try {
      await this.#repository.commit(...parts);
    } catch (error) {
      if (error instanceof StoreConflict)
        throw new AppError("conflict", {
          message: "the key was changed by somebody else at the same time; try again",
          cause: error,
        });
      throw error;
    }
  }

  #now(): string {
    return isoTimestamp(this.#clock.nowMs());
  }
}

function missing(): AppError {
  return new AppError("not_found", { message: "key not found" });
}
