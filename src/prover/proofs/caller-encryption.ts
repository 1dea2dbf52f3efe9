/**
 * Encrypts what a caller keeps of a prover, with its own key for it: of the owner the prover's own vault, of others the
 * vault of their place. Notes and the inputs and results of jobs are kept so.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { Place, Places } from "../sharing/places.js";
import type { Admission } from "../sharing/prover-access.js";
import type { ProverVault } from "../vault-port.js";

/** Where a caller keeps what it makes with a prover. */
export type OwnPlace = Pick<Place, "vault_id" | "note_key_id" | "note_store_id">;

export interface CallerEncryptionDependencies {
  readonly places: Places;
  readonly vault: ProverVault;
}

export class CallerEncryption {
  readonly #with: CallerEncryptionDependencies;

  constructor(dependencies: CallerEncryptionDependencies) {
    this.#with = dependencies;
  }

  /**
   * Encrypts texts with the caller's key for the prover; makes the caller's place where there is none.
   * @param contextOf what each text is bound to: elsewhere it does not decrypt
   * @returns base64, in the order of the texts
   * @throws AppError `vault_sealed`, `not_found` when the prover's vault was deleted, and what vault and places throw
   */
  async encrypt(
    caller: Subject,
    { prover, isOwner, checks }: Admission,
    texts: readonly Uint8Array[],
    contextOf: (place: OwnPlace, index: number) => string,
  ): Promise<{ readonly place: OwnPlace; readonly ciphertexts: readonly string[] }> {
    const encrypt = async (
      place: OwnPlace,
    ): Promise<{ readonly place: OwnPlace; readonly ciphertexts: readonly string[] }> => {
      const key = { vaultId: place.vault_id, keyId: place.note_key_id };
      const ciphertexts = await Promise.all(
        texts.map(async (text, index) => await this.#with.vault.encrypt(caller, key, text, contextOf(place, index))),
      );
      return { place, ciphertexts };
    };
    const { vault_id, note_store_id, build } = prover;
    if (isOwner) return await encrypt({ vault_id, note_store_id, note_key_id: build.note_key_id });
    const place = await this.#with.places.open(caller, prover, { checks });
    try {
      return await encrypt(place);
    } catch (error) {
      // The caller has deleted the key or its vault; the owner's notes have a vault that is the prover's own.
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      return await encrypt(await this.#with.places.open(caller, prover, { checks, lostKey: place.note_key_id }));
    }
  }
}
