/**
 * The keys that sign tree heads: those of a store, in a vault of its provers. They are published by the id of the
 * store, and stay so when it is deleted. What is done with them: receipts/signing-keys.ts.
 */
import { notFound } from "../../platform/errors.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { Page } from "../../platform/store/tables.js";
import { SigningKeys, type SigningParty, type SigningPurpose } from "../receipts/signing-keys.js";
import type { SigningKey, SigningKeySet } from "../receipts/signing-key-schemas.js";
import type { Listed } from "../repository.js";
import { TREE_HEAD_TYPE } from "./head-key-schemas.js";
import type { ProofStores } from "./proof-stores.js";
import { HEAD_SIGNERS, keyIn, type StoreReference } from "./store-records.js";

/** A key of a vault, with its public part as a JSON Web Key. */
export type HeadKey = {
  readonly vault_id: string;
  readonly key_id: string;
  readonly jwk: { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string; readonly kid: string };
};

/** A signed text, and what has signed it. */
export interface SignedHead {
  /** Compact. */
  readonly jws: string;
  readonly jwk: HeadKey["jwk"];
  readonly vault_id: string;
}

type HeadKeysDependencies = ConstructorParameters<typeof SigningKeys>[1] & {
  readonly stores: Pick<ProofStores, "find">;
  /** The vaults of the provers that use a store, the first to be taken first. */
  readonly vaultsOf: (reference: StoreReference) => readonly string[];
};

const TREE_HEADS: SigningPurpose = {
  keysTable: "tree_head_key",
  signersTable: HEAD_SIGNERS,
  type: TREE_HEAD_TYPE,
  keyName: { name: "tree heads", description: "signs the roots of the prover's stores" },
  limitError: "tree_head_key_limit_reached",
  noVaultError: { code: "not_found", message: "no prover of this store has a vault any more, which would sign" },
};

/** Whatever makes or deletes a key throws `vault_sealed` while the vault is sealed. */
export class HeadKeys {
  readonly #keys: SigningKeys;
  readonly #with: HeadKeysDependencies;

  constructor(dependencies: HeadKeysDependencies) {
    this.#keys = new SigningKeys(TREE_HEADS, dependencies);
    this.#with = dependencies;
  }

  /**
   * Signs a text with the key of a store, which is made when it is first needed, or when the one before was deleted.
   * @throws AppError `not_found` when no prover of the store has a vault any more, `key_disabled`,
   *   `tree_head_key_limit_reached`
   */
  async sign(reference: StoreReference, payload: string): Promise<SignedHead> {
    await this.#adopt(reference);
    const { tokens, vaultId, kid, x } = await this.#keys.sign(this.#partyOf(reference), [payload]);
    const [jws = ""] = tokens;
    return { jws, jwk: { kty: "OKP", crv: "Ed25519", x, kid }, vault_id: vaultId };
  }

  /**
   * Makes a new key, which signs from now on; the one before it stays published for the heads that it has signed.
   * @param keep returns what else is kept in the commit of the new key
   * @throws AppError as `sign`, and `not_found` for a store that is not there
   */
  async rotate(reference: StoreReference, keep?: (made: SigningKey) => StoreCommit): Promise<SigningKey> {
    this.#require(reference);
    // A commit of its own, which changes nothing of what signs: a repeat finds it done.
    await this.#adopt(reference);
    return await this.#keys.rotate(this.#partyOf(reference), keep);
  }

  /**
   * Revokes a key: its heads are worth nothing any more. Also of a store that is deleted.
   * @throws AppError `not_found` for a key that the owner's store does not have
   */
  async revoke(reference: StoreReference, kid: string, reason: string | null): Promise<SigningKey> {
    await this.#adopt(reference);
    return await this.#keys.revoke(reference.owner, reference.id, kid, reason);
  }

  /**
   * Lists one page of a store's keys, oldest first.
   * @throws AppError `not_found` for a store that is not there
   */
  list(reference: StoreReference, page: Page): Listed<SigningKey> {
    this.#require(reference);
    return this.#keys.list(reference.id, page);
  }

  /**
   * Returns the key set of a store, for everybody.
   * @throws AppError `not_found` for one that has signed nothing, or does not exist
   */
  keySet(storeId: string): SigningKeySet {
    return this.#keys.keySet(storeId);
  }

  /** Publishes a key of a store that signed before key sets were kept. */
  async #adopt(reference: StoreReference): Promise<void> {
    const found = this.#with.store.get<HeadKey>(keyIn("proof_store_signer", reference));
    if (found === undefined) return;
    const { vault_id: vaultId, jwk } = found.value;
    const own = { checks: [{ key: found.key, version: found.version }], deletes: [found.key] };
    await this.#keys.adopt(this.#partyOf(reference), { vaultId, kid: jwk.kid, x: jwk.x }, own);
  }

  #partyOf(reference: StoreReference): SigningParty {
    return { id: reference.id, owner: reference.owner, vaultIds: this.#with.vaultsOf(reference) };
  }

  #require(reference: StoreReference): void {
    if (this.#with.stores.find(reference) === undefined) throw notFound("store");
  }
}
