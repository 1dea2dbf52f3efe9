/** What the stores use of the vault: an Ed25519 key in a vault of their own provers, which signs their tree heads. */
import { assert } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { ProverVault } from "../vault-port.js";

/** A key of a vault, with its public part as a JSON Web Key. */
export type HeadKey = {
  readonly vault_id: string;
  readonly key_id: string;
  readonly jwk: { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string; readonly kid: string };
};

/** Every method throws `vault_sealed` while the vault is sealed. */
export interface HeadKeys {
  /**
   * Prepares a new key; it exists once the commit is applied.
   * @throws AppError `not_found` when the vault was deleted
   */
  prepare(owner: Subject, vaultId: string): Promise<{ readonly key: HeadKey; readonly commit: StoreCommit }>;
  /**
   * Signs; returns a compact JWS of the text, EdDSA.
   * @throws AppError `not_found` when the key or its vault was deleted, `key_disabled`
   */
  sign(owner: Subject, key: HeadKey, payload: string): Promise<string>;
}

/** The type of a tree head, in the header of its signature. */
const TREE_HEAD_TYPE = "pv-tree-head";
const KEY_NAME = { name: "tree heads", description: "signs the roots of the prover's stores" };

/** Adapts what the registry uses of the vault. */
export function headKeys(vault: Pick<ProverVault, "prepareSigningKey" | "signTokens">): HeadKeys {
  return {
    prepare: async (owner, vaultId) => {
      const { keyId, publicKey, commit } = await vault.prepareSigningKey(owner, vaultId, KEY_NAME);
      const x = Buffer.from(publicKey).toString("base64url");
      return {
        key: { vault_id: vaultId, key_id: keyId, jwk: { kty: "OKP", crv: "Ed25519", x, kid: keyId } },
        commit,
      };
    },
    sign: async (owner, { vault_id: vaultId, key_id: keyId }, payload) => {
      const tokens = { payloads: [payload], type: TREE_HEAD_TYPE };
      const [jws] = await vault.signTokens(owner, { vaultId, keyId }, tokens);
      assert(jws !== undefined, "a token is signed");
      return jws;
    },
  };
}
