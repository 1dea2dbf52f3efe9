/**
 * The vault as the chain area sees it: keys of accounts and wallets in a vault of each owner's, and signatures under
 * them. A private key never leaves the vault; what comes out are addresses and signed transactions.
 */
import { addressOfPublicKey } from "../../crypto/ethereum/address.js";
import type { HdPath } from "../../crypto/wallets/hd-path.js";
import { addressPublicKeys } from "../../crypto/wallets/hd-wallet.js";
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { VaultService } from "../../vault/service.js";

export interface NewChainKey {
  readonly vaultId: string;
  readonly keyId: string;
  /** 0x-hex, uncompressed; of secp256k1 keys. */
  readonly publicKey: string | undefined;
  /** Checksummed; of secp256k1 keys. */
  readonly address: string | undefined;
  /** Writes the key, and the owner's vault when it is the first. */
  readonly commit: StoreCommit;
}

/** A key, and in a wallet the path. */
export interface ChainKeyUse {
  readonly owner: Subject;
  readonly vaultId: string;
  readonly keyId: string;
  readonly path: string | null;
}

export interface SignedTransaction {
  /** As nodes take it, 0x-hex. */
  readonly raw: string;
  readonly hash: string;
}

export interface DerivedAddress {
  readonly address: string;
  /** 0x-hex, uncompressed. */
  readonly publicKey: string;
}

type VaultPointer = { readonly vault_id: string };

const TABLE = "chain_vault";
const VAULT_NAME = "chain accounts";
/** Extended public keys that are remembered: each is public, and takes 10 ms of a vault thread to make. */
const XPUBS_MAX = 1_000;

export class ChainKeyVault {
  readonly #vault: VaultService;
  readonly #store: Store;
  readonly #xpubs = new Map<string, string>();

  constructor(dependencies: { readonly vault: VaultService; readonly store: Store }) {
    this.#vault = dependencies.vault;
    this.#store = dependencies.store;
  }

  isUnsealed(): boolean {
    return this.#vault.isUnsealed();
  }

  /**
   * Makes a key in the owner's vault for accounts, to be written by the caller's commit. A conflict means: prepare
   * again.
   */
  async prepareKey(owner: Subject, spec: "secp256k1" | "BIP39", name: string): Promise<NewChainKey> {
    const pointer = this.#pointer(owner);
    const input = { spec, name };
    if (pointer !== undefined && this.#exists(owner, pointer.value.vault_id)) {
      const { key, commit } = await this.#vault.prepareKey(owner, pointer.value.vault_id, input);
      return {
        vaultId: pointer.value.vault_id,
        keyId: key.id,
        publicKey: key.public_key,
        address: key.address,
        commit,
      };
    }
    const pendingVault = await this.#vault.prepareVault(owner, {
      name: VAULT_NAME,
      description: "keys of accounts and wallets",
    });
    const vaultId = pendingVault.vault.id;
    const { key, commit } = await this.#vault.prepareKey(owner, vaultId, input, { pendingVault });
    const place: StoreCommit = {
      checks: [{ key: pointerKey(owner), version: pointer?.version ?? "absent" }],
      puts: [{ key: pointerKey(owner), value: { vault_id: vaultId } satisfies VaultPointer }],
    };
    return {
      vaultId,
      keyId: key.id,
      publicKey: key.public_key,
      address: key.address,
      commit: mergeCommits(pendingVault.commit, commit, place),
    };
  }

  /** Forgets which vault an owner's accounts are in; the vault itself is the vault area's to delete. */
  deletion(owner: Subject): StoreCommit {
    return { deletes: [pointerKey(owner)] };
  }

  /**
   * Signs a transaction in the form that the vault reads (crypto/ethereum/transaction.ts).
   * Throws `signer_not_found` when the key is gone or disabled, `vault_sealed`, `overloaded`.
   */
  async sign(use: ChainKeyUse, transaction: Readonly<Record<string, string | number>>): Promise<SignedTransaction> {
    const options = {
      format: "transaction" as const,
      ...(use.path === null ? {} : { hdwallet: { hd_derivation_path: use.path } }),
    };
    const signed = await this.#vault.operations
      .sign({ owner: use.owner, vaultId: use.vaultId, keyId: use.keyId }, { message: transaction, options })
      .catch(signerGone);
    if (!("raw_transaction" in signed) || signed.raw_transaction === undefined || signed.transaction_hash === undefined)
      throw new Error("invariant broken: a signed transaction has its bytes and hash");
    return { raw: signed.raw_transaction, hash: signed.transaction_hash };
  }

  /** Addresses of a wallet from an index on, below m/purpose'/60'/account'/change. */
  async addresses(
    use: Omit<ChainKeyUse, "path">,
    branch: Pick<HdPath, "purpose" | "account" | "change">,
    range: { readonly from: number; readonly count: number },
  ): Promise<DerivedAddress[]> {
    const xpub = await this.#xpub(use, branch);
    return addressPublicKeys(xpub, { change: branch.change, ...range }).map((point) => ({
      address: addressOfPublicKey(point),
      publicKey: `0x${Buffer.from(point).toString("hex")}`,
    }));
  }

  async #xpub(
    { owner, vaultId, keyId }: Omit<ChainKeyUse, "path">,
    { purpose, account }: Pick<HdPath, "purpose" | "account">,
  ): Promise<string> {
    const name = `${keyId}/${String(purpose)}/${String(account)}`;
    const known = this.#xpubs.get(name);
    if (known !== undefined) {
      // Not remembered for a wallet that is gone.
      if (this.#exists(owner, vaultId, keyId)) return known;
      this.#xpubs.delete(name);
    }
    const { xpub } = await this.#vault.wallets.xpub({ owner, vaultId, keyId }, { account, purpose }).catch(signerGone);
    if (this.#xpubs.size >= XPUBS_MAX) this.#xpubs.clear();
    this.#xpubs.set(name, xpub);
    return xpub;
  }

  #pointer(owner: Subject): StoreRecord<VaultPointer> | undefined {
    return this.#store.get<VaultPointer>(pointerKey(owner));
  }

  /** Throws `vault_sealed`. */
  #exists(owner: Subject, vaultId: string, keyId?: string): boolean {
    try {
      // Nothing is found in a vault that is to be deleted.
      if (this.#vault.getVault(owner, vaultId).deletes_at !== undefined) return false;
      if (keyId !== undefined) this.#vault.getKey(owner, vaultId, keyId);
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return false;
      throw error;
    }
  }
}

function pointerKey(owner: Subject): StoreKey {
  return [TABLE, ...ownerKey(owner)];
}

function signerGone(error: unknown): never {
  if (error instanceof AppError && (error.code === "not_found" || error.code === "key_disabled")) {
    throw new AppError("signer_not_found", { message: "the signer's key was deleted or disabled", cause: error });
  }
  throw error;
}
