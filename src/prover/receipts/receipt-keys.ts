/** The keys that sign receipts: those of a prover, in its vault. What is done with them: signing-keys.ts. */
import type { Subject } from "../../platform/auth/principal.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { Page } from "../../platform/store/tables.js";
import type { Listed, StoredProver } from "../repository.js";
import { RECEIPT_TYPE } from "./receipt-schemas.js";
import type { SigningKey, SigningKeySet } from "./signing-key-schemas.js";
import { SigningKeys, type SigningParty, type SigningPurpose } from "./signing-keys.js";

/** The prover whose receipts are signed. */
export type SigningProver = Pick<StoredProver, "id" | "vault_id"> & { readonly build: { readonly owner: Subject } };

const RECEIPTS: SigningPurpose = {
  keysTable: "receipt_key",
  signersTable: "receipt_signer",
  type: RECEIPT_TYPE,
  keyName: { name: "receipts", description: "signs the prover's receipts" },
  limitError: "receipt_key_limit_reached",
  noVaultError: {
    code: "prover_keys_missing",
    message: "the prover's vault was deleted, so that nothing can sign its receipts",
  },
};

export class ReceiptKeys {
  readonly #keys: SigningKeys;

  constructor(dependencies: ConstructorParameters<typeof SigningKeys>[1]) {
    this.#keys = new SigningKeys(RECEIPTS, dependencies);
  }

  /**
   * Makes sure that the prover has a key that can be used; one that was deleted from the vault is replaced.
   * @throws AppError `prover_keys_missing` when its vault was deleted, `key_disabled` for a key that its owner has
   *   disabled, `receipt_key_limit_reached`, `vault_sealed`
   */
  async prepare(prover: SigningProver): Promise<void> {
    await this.#keys.prepare(partyOf(prover));
  }

  /**
   * Signs the claims of receipts; returns a compact JWS for each. A key that was deleted meanwhile is replaced.
   * @param payloads JSON texts
   * @throws AppError as `prepare`
   */
  async sign(prover: SigningProver, payloads: readonly string[]): Promise<readonly string[]> {
    return (await this.#keys.sign(partyOf(prover), payloads)).tokens;
  }

  /**
   * Makes a new key, which signs from now on, and retires the one before it.
   * @param keep returns what else is kept in the commit of the new key
   * @throws AppError as `prepare`
   */
  async rotate(prover: SigningProver, keep?: (made: SigningKey) => StoreCommit): Promise<SigningKey> {
    return await this.#keys.rotate(partyOf(prover), keep);
  }

  /**
   * Revokes a key of a prover; see `SigningKeys.revoke`.
   * @throws AppError `not_found` for a key that the owner's prover does not have
   */
  async revoke(...of: Parameters<SigningKeys["revoke"]>): Promise<SigningKey> {
    return await this.#keys.revoke(...of);
  }

  /** Lists one page of a prover's keys, oldest first. */
  list(proverId: string, page: Page): Listed<SigningKey> {
    return this.#keys.list(proverId, page);
  }

  /**
   * Returns the key set of a prover.
   * @throws AppError `not_found` for one that has signed nothing, or does not exist
   */
  keySet(proverId: string): SigningKeySet {
    return this.#keys.keySet(proverId);
  }
}

function partyOf({ id, vault_id, build }: SigningProver): SigningParty {
  return { id, owner: build.owner, vaultIds: [vault_id] };
}
