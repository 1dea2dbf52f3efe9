/** What the stores use of the vault: an Ed25519 key in a vault of their own provers, which signs their tree heads. */
import { AppError, assert } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { VaultService } from "../../vault/service.js";

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
const KEY_NAME = "tree heads";
const PUBLIC_KEY = /^0x([0-9a-f]{64})$/;

/** Adapts the vault's service. */
export function headKeys(vault: VaultService): HeadKeys {
  return {
    prepare: async (owner, vaultId) => {
      const { key, commit } = await vault.prepareKey(owner, vaultId, {
        ...{ type: "asymmetric", usage: "sign/verify", spec: "Ed25519" },
        ...{ name: KEY_NAME, description: "signs the roots of the prover's stores" },
      });
      const [, hex] = PUBLIC_KEY.exec(key.public_key ?? "") ?? [];
      assert(hex !== undefined, "an Ed25519 key has a public key of 32 bytes");
      const x = Buffer.from(hex, "hex").toString("base64url");
      return {
        key: { vault_id: vaultId, key_id: key.id, jwk: { kty: "OKP", crv: "Ed25519", x, kid: key.id } },
        commit,
      };
    },
    sign: async (owner, { vault_id, key_id }, payload) => {
      const signed = await vault.operations.sign(
        { owner, vaultId: vault_id, keyId: key_id },
        { message: payload, options: { format: "jws", encoding: "utf8", header: { typ: TREE_HEAD_TYPE } } },
      );
      if (!("jws" in signed) || typeof signed.jws !== "string")
        throw new AppError("internal_error", { message: "the vault has signed without a JWS" });
      return signed.jws;
    },
  };
}
