/**
 * Credentials of records that users give with them (connectors, networks): one vault per owner and kind, made when it
 * is first needed, in which each record's credentials are a secret. Plaintext is fetched for each use and kept nowhere.
 */
import { setTimeout } from "node:timers/promises";
import { ownerKey, type Subject } from "../platform/auth/principal.js";
import { AppError, type ErrorCode } from "../platform/errors.js";
import type { Store, StoreCommit, StoreKey } from "../platform/store/store.js";
import { mergeCommits } from "../platform/store/tables.js";
import type { VaultService } from "../vault/service.js";

/** How often a job that waits for the vault looks again. */
const SEAL_POLL_MS = 250;

/** Where a record's credentials lie. */
export type SecretPlace = { readonly vault_id: string; readonly secret_id: string };

export interface SealedCredentialsOptions {
  /** Of whose credentials, in the singular: `connector`. */
  readonly what: string;
  /** What is thrown when the secret is gone. */
  readonly gone: ErrorCode;
}

export class SealedCredentials<T extends object> {
  readonly #options: SealedCredentialsOptions;
  readonly #vault: VaultService;
  readonly #store: Store;

  constructor(
    options: SealedCredentialsOptions,
    dependencies: { readonly vault: VaultService; readonly store: Store },
  ) {
    this.#options = options;
    this.#vault = dependencies.vault;
    this.#store = dependencies.store;
  }

  /** Resolves once the vault is unsealed; rejects with the signal's reason. */
  async untilUnsealed(signal: AbortSignal): Promise<void> {
    while (!this.#vault.isUnsealed()) await setTimeout(SEAL_POLL_MS, undefined, { signal });
  }

  get isUnsealed(): boolean {
    return this.#vault.isUnsealed();
  }

  /**
   * Wraps credentials for the caller's commit, which conflicts when two requests make the owner's vault at once.
   * Throws `vault_sealed`, and `secret_too_long` over 4096 bytes of JSON.
   */
  async prepare(
    owner: Subject,
    id: string,
    credentials: T,
  ): Promise<{ readonly place: SecretPlace; readonly commit: StoreCommit }> {
    const { what } = this.#options;
    const input = { name: `${what} ${id}`, type: `${what}_credentials`, value: JSON.stringify(credentials) };
    const key: StoreKey = [`${what}_vault`, ...ownerKey(owner)];
    const known = this.#store.get<string>(key);
    if (known !== undefined && this.#exists(owner, known.value)) {
      const { secret, commit } = await this.#vault.prepareSecret(owner, known.value, input);
      return { place: { vault_id: known.value, secret_id: secret.id }, commit };
    }
    const pendingVault = await this.#vault.prepareVault(owner, {
      name: `${what}s`,
      description: `credentials of ${what}s`,
    });
    const vaultId = pendingVault.vault.id;
    const { secret, commit } = await this.#vault.prepareSecret(owner, vaultId, input, { pendingVault });
    const remembered: StoreCommit = {
      checks: [{ key, version: known?.version ?? "absent" }],
      puts: [{ key, value: vaultId }],
    };
    return {
      place: { vault_id: vaultId, secret_id: secret.id },
      commit: mergeCommits(pendingVault.commit, commit, remembered),
    };
  }

  /** Throws `vault_sealed`, and the code of the options when somebody deleted the secret or its vault. */
  async read(owner: Subject, place: SecretPlace): Promise<T> {
    try {
      return JSON.parse(await this.#vault.retrieveSecret(owner, place.vault_id, place.secret_id)) as T;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      throw new AppError(this.#options.gone, {
        message: `the ${this.#options.what}'s credentials are no longer in the vault; give them anew`,
        cause: error,
      });
    }
  }

  /** Removes a secret with the caller's commit; an empty one when it is gone. Throws `vault_sealed`. */
  deletion(owner: Subject, place: SecretPlace | null): StoreCommit {
    if (place === null) return {};
    try {
      return this.#vault.secretDeletion(owner, place.vault_id, place.secret_id);
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return {};
      throw error;
    }
  }

  #exists(owner: Subject, vaultId: string): boolean {
    try {
      // Nothing is found in a vault that is to be deleted.
      return this.#vault.getVault(owner, vaultId).deletes_at === undefined;
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return false;
      throw error;
    }
  }
}
