/** Wallets: a BIP39 key in the vault and the addresses below it (BIP-44). The words never leave the vault. */
import {
  COIN_ETHER,
  formatAccountPath,
  formatHdPath,
  HARDENED,
  parseHdPath,
  type HdPath,
} from "../../crypto/wallets/hd-path.js";
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { assert, invalidMember, notFound } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import { defineTable, mergeCommits, retryOnConflict, type Page, type Table } from "../../platform/store/tables.js";
import { ownerMembers } from "./accounts.js";
import {
  WALLET_ADDRESSES,
  type CreateWalletInput,
  type WalletAccountJson,
  type WalletAccountsInput,
  type WalletJson,
} from "./account-schemas.js";
import type { ChainKeyVault } from "./key-vault.js";

export type WalletRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly owner: Subject;
  readonly vault_id: string;
  readonly key_id: string;
  readonly purpose: number;
};

const TABLE = "chain_wallet";
const WALLET_NAME = "wallet";
const PURPOSE = 44;

export class Wallets {
  readonly #store: Store;
  readonly #keys: ChainKeyVault;
  readonly #clock: Clock;
  readonly #table: Table<WalletRecord, "owner", never>;

  constructor(dependencies: { readonly store: Store; readonly keys: ChainKeyVault; readonly clock: Clock }) {
    this.#store = dependencies.store;
    this.#keys = dependencies.keys;
    this.#clock = dependencies.clock;
    this.#table = defineTable<WalletRecord, "owner">(
      {
        name: TABLE,
        key: (wallet) => [...ownerKey(wallet.owner), wallet.id],
        indexes: { owner: (wallet) => ownerKey(wallet.owner) },
      },
      dependencies,
    );
  }

  /**
   * Makes a key in the vault and the wallet of its addresses, in one commit with what `keep` returns of it.
   * @throws vault_sealed
   */
  async create(
    owner: Subject,
    input: CreateWalletInput,
    keep?: (made: WalletJson) => StoreCommit,
  ): Promise<WalletJson> {
    return await retryOnConflict(async () => {
      const key = await this.#keys.prepareKey(owner, "BIP39", input.name ?? WALLET_NAME);
      const wallet: WalletRecord = {
        id: newId(),
        created_at: isoTimestamp(this.#clock.nowMs()),
        owner,
        vault_id: key.vaultId,
        key_id: key.keyId,
        purpose: input.purpose ?? PURPOSE,
      };
      const made = walletJson(wallet);
      await this.#store.commit(mergeCommits(key.commit, this.#table.insertCommit(wallet), keep?.(made) ?? {}));
      return made;
    });
  }

  /** Returns a page of wallets, newest first. */
  list(owner: Subject, page: Page): { body: WalletJson[]; total: number } {
    const { rows, total } = this.#table.list("owner", ownerKey(owner), { page, reverse: true });
    return { body: rows.map(walletJson), total };
  }

  /** Returns the record of a wallet. Throws `not_found`. */
  find(owner: Subject, id: string): WalletRecord {
    const found = this.#table.get([...ownerKey(owner), id]);
    if (found === undefined) throw notFound("wallet");
    return found.value;
  }

  /** Returns a wallet as clients see it. Throws `not_found`. */
  get(owner: Subject, id: string): WalletJson {
    return walletJson(this.find(owner, id));
  }

  /**
   * Returns a page of the addresses below an account of the wallet; page n + 1 begins where page n ended.
   * @throws not_found, signer_not_found when the key is gone, vault_sealed
   */
  async addresses(
    owner: Subject,
    id: string,
    input: WalletAccountsInput,
    page: Page,
  ): Promise<{ body: WalletAccountJson[]; total: number }> {
    const wallet = this.find(owner, id);
    const branch = {
      purpose: wallet.purpose,
      coin: COIN_ETHER,
      account: input.index ?? 0,
      change: input.chain_path ?? 0,
    };
    const from = (page.page - 1) * page.rpp;
    const count = Math.max(0, Math.min(page.rpp, WALLET_ADDRESSES - from));
    const derived = await this.#keys.addresses({ owner, vaultId: wallet.vault_id, keyId: wallet.key_id }, branch, {
      from,
      count,
    });
    const body = derived.map(({ address, publicKey }, at) => ({
      address,
      hd_derivation_path: formatHdPath({ ...branch, index: from + at }),
      public_key: publicKey,
    }));
    return { body, total: WALLET_ADDRESSES };
  }

  /**
   * Returns the address at a path, for signing.
   * @param text the path in any form that BIP-44 allows
   * @throws derivation_path_invalid for what is no path of this wallet, for other coins, and for hardened last levels,
   *   which no list of addresses has
   */
  async addressAt(
    owner: Subject,
    id: string,
    text: string,
  ): Promise<{ readonly wallet: WalletRecord; readonly path: string; readonly address: string }> {
    const wallet = this.find(owner, id);
    const path = requirePath(parseHdPath(text), wallet);
    const [derived] = await this.#keys.addresses({ owner, vaultId: wallet.vault_id, keyId: wallet.key_id }, path, {
      from: path.index,
      count: 1,
    });
    assert(derived !== undefined, "a path has an address");
    return { wallet, path: formatHdPath(path), address: derived.address };
  }

  /** Deletes all wallets of an owner. Their keys are deleted with the vault. */
  async purge(owner: Subject): Promise<void> {
    for (;;) {
      const records = this.#table.records("owner", ownerKey(owner), { page: 1, rpp: 100 });
      if (records.length === 0) return;
      await this.#store.commit(mergeCommits(...records.map((record) => this.#table.deleteCommit(record))));
    }
  }
}

function requirePath(path: HdPath | undefined, { purpose }: WalletRecord): HdPath {
  if (path !== undefined && path.coin === COIN_ETHER && path.purpose === purpose && path.index < HARDENED) return path;
  const message = `\`hd_derivation_path\` is not a path m/${String(purpose)}'/60'/account'/change/index`;
  throw invalidMember("hd_derivation_path", message, "derivation_path_invalid");
}

function walletJson({ owner, ...wallet }: WalletRecord): WalletJson {
  return {
    ...wallet,
    ...ownerMembers(owner),
    path: formatAccountPath({ purpose: wallet.purpose, coin: COIN_ETHER, account: 0 }),
  };
}
