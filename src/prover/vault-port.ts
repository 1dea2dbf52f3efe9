/**
 * What the prover registry uses of the vault: a vault for each prover, a key that encrypts its notes, and secrets that
 * pin its keys. Every method but `untilUnsealed` and `forget` throws `vault_sealed` while the vault is sealed.
 */
import { AppError, assert } from "../platform/errors.js";
import { JsonText } from "../platform/json/json-text.js";
import type { Subject } from "../platform/auth/principal.js";
import { mergeCommits } from "../platform/store/commits.js";
import type { StoreCommit } from "../platform/store/store.js";
import type { VaultService } from "../vault/service.js";

/** A key of a prover's vault: the one that its notes are encrypted with, or one that signs receipts or tree heads. */
interface VaultKey {
  readonly vaultId: string;
  readonly keyId: string;
}

/** Where a value of the server's own belongs. */
interface ValuePlace {
  /** UUID of what the value is about, which is no secret of the vault. */
  readonly id: string;
  readonly type: string;
}

export interface ProverVault {
  /** Resolves once the vault is unsealed; rejects with the signal's reason. */
  untilUnsealed(signal: AbortSignal): Promise<void>;
  /** Prepares a new vault with an AES-256-GCM key for notes; both exist once the commit is applied. */
  prepareProverVault(
    owner: Subject,
    names: { readonly vault: string; readonly noteKey: string },
  ): Promise<{ readonly vaultId: string; readonly noteKeyId: string; readonly commit: StoreCommit }>;
  /**
   * Prepares a further key for notes in an existing vault; it exists once the commit is applied.
   * @throws AppError `not_found` when the vault was deleted
   */
  prepareNoteKey(
    owner: Subject,
    vaultId: string,
    name: string,
  ): Promise<{ readonly noteKeyId: string; readonly commit: StoreCommit }>;
  /**
   * Prepares a secret in an existing vault; it exists once the commit is applied.
   * @throws AppError `not_found` when the vault was deleted
   */
  prepareSecret(
    owner: Subject,
    vaultId: string,
    secret: { readonly name: string; readonly type: string; readonly value: string },
  ): Promise<{ readonly secretId: string; readonly commit: StoreCommit }>;
  /**
   * Returns the value of a secret; overlapping reads of one are one.
   * @param asker in whose turn it is read, such as `user:<uuid>`
   * @throws AppError `not_found` when the secret or its vault was deleted
   */
  readSecret(owner: Subject, vaultId: string, secretId: string, asker: string): Promise<string>;
  /**
   * Seals a value that only the server makes, for a place in a vault; returns its envelope. Nobody who may use the
   * vault can make one: a caller's secrets have other ids.
   * @throws AppError `not_found` when the vault was deleted
   */
  sealValue(owner: Subject, vaultId: string, place: ValuePlace, value: string): Promise<string>;
  /** Opens the envelope of a value. @throws AppError `not_found` as `sealValue`; an error for any other envelope */
  openValue(owner: Subject, vaultId: string, place: ValuePlace, envelope: string): Promise<string>;
  /**
   * Encrypts a note; returns base64.
   * @param context must be the same to decrypt
   */
  encrypt(owner: Subject, key: VaultKey, plaintext: Uint8Array, context: string): Promise<string>;
  /** @throws AppError `not_found` when the key was deleted, `decryption_failed` for another key or context */
  decrypt(owner: Subject, key: VaultKey, ciphertext: string, context: string): Promise<Uint8Array>;
  /**
   * Prepares an Ed25519 key in an existing vault, with which only `signTokens` signs: whoever may use the vault would
   * else write statements of the server. It exists once the commit is applied. The public key has 32 bytes.
   * @throws AppError `not_found` when the vault was deleted
   */
  prepareSigningKey(
    owner: Subject,
    vaultId: string,
    named: { readonly name: string; readonly description: string },
  ): Promise<{ readonly keyId: string; readonly publicKey: Uint8Array; readonly commit: StoreCommit }>;
  /**
   * Signs texts as compact JWS, whose header names the key and the type; up to 1000 at once.
   * @throws AppError `not_found` when the key or its vault was deleted, `key_disabled`
   */
  signTokens(
    owner: Subject,
    key: VaultKey,
    tokens: { readonly payloads: readonly string[]; readonly type: string },
  ): Promise<string[]>;
  /** @throws AppError `not_found` when the key or its vault was deleted, `key_disabled` */
  requireUsable(owner: Subject, key: VaultKey): void;
  /** @throws AppError `not_found` when the key or its vault was deleted */
  deleteKey(owner: Subject, key: VaultKey): Promise<void>;
  /** Prepares the deletion of a key; an empty commit when the key or its vault is already gone. */
  prepareKeyDeletion(owner: Subject, key: VaultKey): StoreCommit;
  /** Prepares the deletion of a vault with its content; an empty commit when the vault is already gone. */
  prepareDeletion(owner: Subject, vaultId: string): StoreCommit;
  /** Drops what is in memory of a vault whose deletion is committed. Never rejects. */
  forget(vaultId: string): Promise<void>;
}

const PUBLIC_KEY = /^0x([0-9a-f]{64})$/;
const NOTE_KEY = { type: "symmetric", usage: "encrypt/decrypt", spec: "AES-256-GCM" } as const;

/** Adapts the vault's service to what the prover registry uses. */
export function proverVault(vault: VaultService): ProverVault {
  return {
    untilUnsealed: async (signal) => {
      await vault.untilUnsealed(signal);
    },
    prepareProverVault: async (owner, names) => {
      const pendingVault = await vault.prepareVault(owner, { name: names.vault });
      const vaultId = pendingVault.vault.id;
      const input = { ...NOTE_KEY, name: names.noteKey };
      const { key, commit } = await vault.prepareKey(owner, vaultId, input, { pendingVault });
      return { vaultId, noteKeyId: key.id, commit: mergeCommits(pendingVault.commit, commit) };
    },
    prepareNoteKey: async (owner, vaultId, name) => {
      const { key, commit } = await vault.prepareKey(owner, vaultId, { ...NOTE_KEY, name });
      return { noteKeyId: key.id, commit };
    },
    prepareSecret: async (owner, vaultId, input) => {
      const { secret, commit } = await vault.prepareSecret(owner, vaultId, input);
      return { secretId: secret.id, commit };
    },
    readSecret: async (owner, vaultId, secretId, asker) => await vault.retrieveSecret(owner, vaultId, secretId, asker),
    sealValue: async (owner, vaultId, { id, type }, value) =>
      await vault.sealValue(owner, vaultId, { secretId: id, name: "", type }, value),
    openValue: async (owner, vaultId, { id, type }, envelope) =>
      await vault.openValue(owner, vaultId, { secretId: id, name: "", type }, envelope),
    encrypt: async (owner, { vaultId, keyId }, plaintext, context) =>
      Buffer.from(await vault.encrypt({ owner, vaultId, keyId }, plaintext, context)).toString("base64"),
    decrypt: async (owner, { vaultId, keyId }, ciphertext, context) =>
      await vault.decrypt({ owner, vaultId, keyId }, Buffer.from(ciphertext, "base64"), context),
    ...signingPort(vault),
    prepareDeletion: (owner, vaultId) => unlessGone(() => vault.deletion(owner, vaultId)),
    forget: async (vaultId) => {
      await vault.forget(vaultId);
    },
  };
}

/** The part that signs what the server itself says. */
function signingPort(
  vault: VaultService,
): Pick<ProverVault, "prepareSigningKey" | "signTokens" | "requireUsable" | "deleteKey" | "prepareKeyDeletion"> {
  return {
    prepareSigningKey: async (owner, vaultId, named) => {
      const input = { type: "asymmetric", usage: "sign/verify", spec: "Ed25519", ...named } as const;
      const { key, commit } = await vault.prepareKey(owner, vaultId, input, { isServerOnly: true });
      const [, hex] = PUBLIC_KEY.exec(key.public_key ?? "") ?? [];
      assert(hex !== undefined, "an Ed25519 key has a public key of 32 bytes");
      return { keyId: key.id, publicKey: Buffer.from(hex, "hex"), commit };
    },
    signTokens: async (owner, { vaultId, keyId }, { payloads, type }) => {
      const items = payloads.map((message) => ({
        message,
        options: { format: "jws" as const, encoding: "utf8" as const, header: { typ: type } },
      }));
      const [only] = items;
      if (items.length === 1 && only !== undefined)
        return [tokenOf(await vault.operations.signAsServer({ owner, vaultId, keyId }, only))];
      const signed = await vault.operations.signAsServer({ owner, vaultId, keyId }, { batch: items });
      assert(signed instanceof JsonText, "a batch is answered as text");
      return (JSON.parse(Buffer.from(signed.text).toString("utf8")) as { batch: unknown[] }).batch.map(tokenOf);
    },
    requireUsable: (owner, { vaultId, keyId }) => {
      const { disabled_at, deletes_at } = vault.getKey(owner, vaultId, keyId);
      if (disabled_at !== undefined || deletes_at !== undefined)
        throw new AppError("key_disabled", {
          message: "the prover's key for receipts is disabled, or its deletion is planned",
        });
    },
    deleteKey: async (owner, { vaultId, keyId }) => {
      await vault.deleteKey(owner, vaultId, keyId);
    },
    prepareKeyDeletion: (owner, { vaultId, keyId }) => unlessGone(() => vault.keyDeletion(owner, vaultId, keyId)),
  };
}

/** Returns the commit of a deletion; an empty one when there is nothing to delete any more. */
function unlessGone(deletion: () => StoreCommit): StoreCommit {
  try {
    return deletion();
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return {};
    throw error;
  }
}

/** Claims are written by this server, so that the vault refuses none of them. */
function tokenOf(signed: unknown): string {
  assert(typeof signed === "object" && signed !== null && "jws" in signed, "a token is signed");
  assert(typeof signed.jws === "string", "a token is text");
  return signed.jws;
}
