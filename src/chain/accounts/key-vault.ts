/**
 * What the chain area uses of the vault: each owner has one vault for the keys of accounts and wallets, which makes
 * signatures with them. A private key never leaves the vault; only addresses and signed transactions do.
 */
import { LRUCache } from "lru-cache";
import { addressOfPublicKey } from "../../crypto/ethereum/address.js";
import type { HdPath } from "../../crypto/wallets/hd-path.js";
import { addressPublicKeys } from "../../crypto/wallets/hd-wallet.js";
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { AppError, assert } from "../../platform/errors.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import type { VaultService } from "../../vault/service.js";
import { hasUsableVault, ifFound } from "../vault-lookups.js";

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

/** A key of an owner, and the path of a wallet's address. */
export interface ChainKeyUse {
  readonly owner: Subject;
  readonly vaultId: string;
  readonly keyId: string;
  readonly path: string | null;
}

export interface SignedTransaction {
  /** The signed bytes for eth_sendRawTransaction, 0x-hex. */
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
/** Extended public keys that are remembered: they are public, and each takes a vault worker 10 ms to derive. */
const XPUBS_MAX = 1_000;

export class ChainKeyVault {
  readonly #vault: VaultService;
  readonly #store: Store;
  readonly #xpubs = new LRUCache<string, string>({ max: XPUBS_MAX });

  constructor(dependencies: { readonly vault: VaultService; readonly store: Store }) {
    this.#vault = dependencies.vault;
    this.#store = dependencies.store;
  }

  /** Returns false while no key can be used. */
  isUnsealed(): boolean {
    return this.#vault.isUnsealed();
  }

  /**
   * Makes a key in the owner's vault for accounts, to be written by the caller's commit. After a conflict the caller
   * prepares it again, because another request may have made the owner's vault.
   */
  async prepareKey(owner: Subject, spec: "secp256k1" | "BIP39", name: string): Promise<NewChainKey> {
    const pointer = this.#pointer(owner);
    const input = { spec, name };
    if (pointer !== undefined && hasUsableVault(this.#vault, owner, pointer.value.vault_id)) {
      const vaultId = pointer.value.vault_id;
      const { key, commit } = await this.#vault.prepareKey(owner, vaultId, input);
      return { vaultId, keyId: key.id, publicKey: key.public_key, address: key.address, commit };
    }
    const pendingVault = await this.#vault.prepareVault(owner, {
      name: VAULT_NAME,
      description: "keys of accounts and wallets",
    });
    const vaultId = pendingVault.vault.id;
    const { key, commit } = await this.#vault.prepareKey(owner, vaultId, input, { pendingVault });
    const pointerCommit: StoreCommit = {
      checks: [{ key: pointerKey(owner), version: pointer?.version ?? "absent" }],
      puts: [{ key: pointerKey(owner), value: { vault_id: vaultId } satisfies VaultPointer }],
    };
    return {
      vaultId,
      keyId: key.id,
      publicKey: key.public_key,
      address: key.address,
      commit: mergeCommits(pendingVault.commit, commit, pointerCommit),
    };
  }

  /** Returns what forgets which vault an owner's accounts are in. The vault area deletes the vault itself. */
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
    assert(
      "raw_transaction" in signed && signed.transaction_hash !== undefined,
      "a signed transaction has its bytes and hash",
    );
    return { raw: signed.raw_transaction, hash: signed.transaction_hash };
  }

  /**
   * Derives addresses of a wallet from an index on, below m/purpose'/60'/account'/change.
   * @throws signer_not_found when the key is gone or disabled, vault_sealed
   */
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
    const cached = this.#xpubs.get(name);
    if (cached !== undefined) {
      // A deleted wallet has no addresses any more.
      if (this.#hasKey(owner, vaultId, keyId)) return cached;
      this.#xpubs.delete(name);
    }
    const { xpub } = await this.#vault.wallets.xpub({ owner, vaultId, keyId }, { account, purpose }).catch(signerGone);
    this.#xpubs.set(name, xpub);
    return xpub;
  }

  #pointer(owner: Subject): StoreRecord<VaultPointer> | undefined {
    return this.#store.get<VaultPointer>(pointerKey(owner));
  }

  /** Throws `vault_sealed`. */
  #hasKey(owner: Subject, vaultId: string, keyId: string): boolean {
    if (!hasUsableVault(this.#vault, owner, vaultId)) return false;
    return ifFound(() => this.#vault.getKey(owner, vaultId, keyId)) !== undefined;
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
