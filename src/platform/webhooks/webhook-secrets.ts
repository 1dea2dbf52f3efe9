/**
 * The port to where webhooks' secrets are kept: the vault, which the platform does not know. They are in plaintext only
 * while a message is signed, and in the answer that shows a new one.
 */
import type { Subject } from "../auth/principal.js";
import type { StoreCommit } from "../store/store.js";

/** Where a webhook's secrets are. */
export type SecretPlace = { readonly vault_id: string; readonly secret_id: string };

/** The secrets of one webhook in plaintext. */
export type SigningSecrets = {
  readonly current: string;
  /** The one before the last rotation, as long as it also signs. */
  readonly previous?: string;
};

export interface WebhookSecrets {
  readonly isUnsealed: boolean;
  /**
   * Makes the sealed record of a webhook's secrets, to be written by the caller's commit.
   * @throws vault_sealed
   */
  prepare(
    owner: Subject,
    id: string,
    secrets: SigningSecrets,
  ): Promise<{ readonly place: SecretPlace; readonly commit: StoreCommit }>;
  /**
   * Returns the secrets.
   * @throws vault_sealed; webhook_secret_missing when the record was deleted
   */
  read(owner: Subject, place: SecretPlace): Promise<SigningSecrets>;
  /** Returns the commit that removes the record. Throws `vault_sealed`. */
  deletion(owner: Subject, place: SecretPlace): StoreCommit;
}

/** Tells an owner by mail that a webhook was disabled. */
export type TellOwner = (
  owner: Subject,
  notice: { readonly id: string; readonly url: string; readonly reason: string },
) => void;
