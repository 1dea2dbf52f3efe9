/**
 * What the prover registry needs of the vault: a vault of its own for each prover, a key that its notes are encrypted
 * with, and secrets that pin its keys. Every method throws `vault_sealed` while the vault is sealed.
 */
import { setTimeout } from "node:timers/promises";
import { AppError } from "../platform/errors.js";
import type { Subject } from "../platform/auth/principal.js";
import type { StoreCommit } from "../platform/store/store.js";
import type { VaultService } from "../vault/service.js";

/** How often a job that waits for the vault looks again. */
const SEAL_POLL_MS = 250;

export interface ProverVault {
  /** Resolves once the vault is unsealed; rejects with the signal's reason. */
  untilUnsealed(signal: AbortSignal): Promise<void>;
  /** A new vault and, in it, an AES-256-GCM key for notes; both exist once the commit is applied. */
  prepareProverVault(
    owner: Subject,
    names: { readonly vault: string; readonly noteKey: string },
  ): Promise<{ readonly vaultId: string; readonly noteKeyId: string; readonly commit: StoreCommit }>;
  /**
   * A secret in a vault that exists; it exists once the commit is applied. Throws `not_found` when the vault was
   * deleted.
   */
  prepareSecret(
    owner: Subject,
    vaultId: string,
    secret: { readonly name: string; readonly type: string; readonly value: string },
  ): Promise<{ readonly secretId: string; readonly commit: StoreCommit }>;
  /** Throws `not_found` when the secret or its vault was deleted. */
  readSecret(owner: Subject, vaultId: string, secretId: string): Promise<string>;
  /** Ciphertext in base64. */
  encrypt(owner: Subject, vaultId: string, keyId: string, plaintext: Uint8Array, context: string): Promise<string>;
  decrypt(owner: Subject, vaultId: string, keyId: string, ciphertext: string, context: string): Promise<Uint8Array>;
  /** Removes the vault with all that is in it; an empty commit when it is gone already. */
  prepareDeletion(owner: Subject, vaultId: string): StoreCommit;
  /** Drops what is kept in memory of a vault whose deletion is committed. Never rejects. */
  forget(vaultId: string): Promise<void>;
}

/** The vault as the prover registry sees it. */
export function proverVault(vault: VaultService): ProverVault {
  return {
    untilUnsealed: async (signal) => {
      while (!vault.isUnsealed()) await setTimeout(SEAL_POLL_MS, undefined, { signal });
    },
    prepareProverVault: async (owner, names) => {
      const pendingVault = await vault.prepareVault(owner, { name: names.vault });
      const vaultId = pendingVault.vault.id;
      const { key, commit } = await vault.prepareKey(
        owner,
        vaultId,
        { type: "symmetric", usage: "encrypt/decrypt", spec: "AES-256-GCM", name: names.noteKey },
        { pendingVault },
      );
      return {
        vaultId,
        noteKeyId: key.id,
        commit: {
          checks: [...(pendingVault.commit.checks ?? []), ...(commit.checks ?? [])],
          puts: [...(pendingVault.commit.puts ?? []), ...(commit.puts ?? [])],
        },
      };
    },
    prepareSecret: async (owner, vaultId, input) => {
      const { secret, commit } = await vault.prepareSecret(owner, vaultId, input);
      return { secretId: secret.id, commit };
    },
    readSecret: async (owner, vaultId, secretId) => await vault.retrieveSecret(owner, vaultId, secretId),
    encrypt: async (owner, vaultId, keyId, plaintext, context) =>
      Buffer.from(await vault.encrypt({ owner, vaultId, keyId }, plaintext, context)).toString("base64"),
    decrypt: async (owner, vaultId, keyId, ciphertext, context) =>
      await vault.decrypt({ owner, vaultId, keyId }, Buffer.from(ciphertext, "base64"), context),
    prepareDeletion: (owner, vaultId) => {
      try {
        return vault.deletion(owner, vaultId);
      } catch (error) {
        if (error instanceof AppError && error.code === "not_found") return {};
        throw error;
      }
    },
    forget: async (vaultId) => {
      await vault.forget(vaultId);
    },
  };
}
