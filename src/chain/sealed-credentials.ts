/**
 * The credentials that users give with a record, such as a connector or a network. Each owner has one vault for each
 * kind of record, made when it is first needed, in which each record's credentials are a secret. Plaintext is fetched
 * for each use and kept nowhere.
 */
import { ownerKey, type Subject } from "../platform/auth/principal.js";
import { AppError, type ErrorCode } from "../platform/errors.js";
import type { Store, StoreCommit, StoreKey } from "../platform/store/store.js";
import { mergeCommits } from "../platform/store/tables.js";
import type { VaultService } from "../vault/service.js";
import { hasUsableVault, ifFound } from "./vault-lookups.js";

/** Where a record's credentials are in the vault. */
export type SecretPlace = { readonly vault_id: string; readonly secret_id: string };

export interface SealedCredentialsOptions {
  /** The kind of record in the singular, such as `connector`; part of keys in the store. */
  readonly what: string;
  /** Thrown when the secret was deleted. */
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
    await this.#vault.untilUnsealed(signal);
  }

  get isUnsealed(): boolean {
    return this.#vault.isUnsealed();
  }

  /**
   * Makes the secret of a record, to be written by the caller's commit. The commit conflicts when two requests make
   * the owner's vault at once; the caller then prepares again.
   * @throws vault_sealed, and secret_too_long above 4096 bytes of JSON
   */
  async prepare(
    owner: Subject,
    id: string,
    credentials: T,
  ): Promise<{ readonly place: SecretPlace; readonly commit: StoreCommit }> {
    const { what } = this.#options;
    const input = { name: `${what} ${id}`, type: `${what}_credentials`, value: JSON.stringify(credentials) };
    const key: StoreKey = [`${what}_vault`, ...ownerKey(owner)];
    const pointer = this.#store.get<string>(key);
    if (pointer !== undefined && hasUsableVault(this.#vault, owner, pointer.value)) {
      const { secret, commit } = await this.#vault.prepareSecret(owner, pointer.value, input);
      return { place: { vault_id: pointer.value, secret_id: secret.id }, commit };
    }
    const pendingVault = await this.#vault.prepareVault(owner, {
      name: `${what}s`,
      description: `credentials of ${what}s`,
    });
    const vaultId = pendingVault.vault.id;
    const { secret, commit } = await this.#vault.prepareSecret(owner, vaultId, input, { pendingVault });
    const pointerCommit: StoreCommit = {
      checks: [{ key, version: pointer?.version ?? "absent" }],
      puts: [{ key, value: vaultId }],
    };
    return {
      place: { vault_id: vaultId, secret_id: secret.id },
      commit: mergeCommits(pendingVault.commit, commit, pointerCommit),
    };
  }

  /**
   * Returns a record's credentials in plaintext.
   * @throws vault_sealed, and the code `gone` of the options when the secret or its vault was deleted
   */
  async read(owner: Subject, place: SecretPlace): Promise<T> {
    try {
      return JSON.parse(await this.#vault.retrieveSecret(owner, place.vault_id, place.secret_id)) as T;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      throw new AppError(this.#options.gone, {
        message: `the ${this.#options.what}'s credentials are no longer in the vault; set them again`,
        cause: error,
      });
    }
  }

  /** Returns the commit that removes a secret; an empty one when there is none. Throws `vault_sealed`. */
  deletion(owner: Subject, place: SecretPlace | null): StoreCommit {
    if (place === null) return {};
    return ifFound(() => this.#vault.secretDeletion(owner, place.vault_id, place.secret_id)) ?? {};
  }
}
