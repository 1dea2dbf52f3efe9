/** Accounts: a secp256k1 key in the vault and its address, with the balance that the network's node gives. */
import { LRUCache } from "lru-cache";
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, assert, notFound } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Store, StoreCommit, StoreKey } from "../../platform/store/store.js";
import { defineTable, mergeCommits, retryOnConflict, type Page, type Table } from "../../platform/store/tables.js";
import type { AccountDetailJson, AccountFilters, AccountJson, CreateAccountInput } from "./account-schemas.js";
import type { ChainKeyVault } from "./key-vault.js";
import { RpcRefusal } from "../rpc/rpc.js";
import { readHexQuantity } from "../transactions/node-values.js";
import type { TransactionNetworks } from "../transactions/transaction-ports.js";

export type AccountRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly owner: Subject;
  readonly network_id: string;
  readonly vault_id: string;
  readonly key_id: string;
  readonly public_key: string;
  /** Checksummed. */
  readonly address: string;
};

export interface AccountsDependencies {
  readonly store: Store;
  readonly keys: ChainKeyVault;
  readonly networks: TransactionNetworks;
  readonly clock: Clock;
}

const TABLE = "chain_account";
/**
 * When an account last signed, in a record of its own: written without a check, because hundreds of transactions may
 * come at once.
 */
const USED = "chain_account_used";
const USED_EVERY_MS = 60_000;
/** Accounts whose last use is remembered: some hundred bytes each. */
const USED_MAX = 10_000;
const ACCOUNT_NAME = "account";

export class Accounts {
  readonly #dependencies: AccountsDependencies;
  readonly #table: Table<AccountRecord, "owner" | "network", "address">;
  /** When the last use of an account was written, by its id. */
  readonly #usedAtMs = new LRUCache<string, number>({ max: USED_MAX });

  constructor(dependencies: AccountsDependencies) {
    this.#dependencies = dependencies;
    this.#table = defineTable<AccountRecord, "owner" | "network", "address">(
      {
        name: TABLE,
        key: (account) => [...ownerKey(account.owner), account.id],
        indexes: {
          owner: (account) => ownerKey(account.owner),
          network: (account) => [...ownerKey(account.owner), account.network_id],
        },
        uniques: { address: (account) => [...ownerKey(account.owner), account.address.toLowerCase()] },
      },
      dependencies,
    );
  }

  /**
   * Makes a key in the vault and the account that it signs for, in one commit with what `keep` returns of it.
   * @throws not_found for an unknown network, vault_sealed
   */
  async create(
    owner: Subject,
    input: CreateAccountInput,
    keep?: (made: AccountJson) => StoreCommit,
  ): Promise<AccountJson> {
    const { keys, networks, clock, store } = this.#dependencies;
    networks.find(owner, input.network_id);
    return await retryOnConflict(async () => {
      const key = await keys.prepareKey(owner, "secp256k1", input.name ?? ACCOUNT_NAME);
      assert(key.publicKey !== undefined && key.address !== undefined, "a secp256k1 key has an address");
      const account: AccountRecord = {
        id: newId(),
        created_at: isoTimestamp(clock.nowMs()),
        owner,
        network_id: input.network_id,
        vault_id: key.vaultId,
        key_id: key.keyId,
        public_key: key.publicKey,
        address: key.address,
      };
      const made = this.#onWire(account);
      await store.commit(mergeCommits(key.commit, this.#table.insertCommit(account), keep?.(made) ?? {}));
      return made;
    });
  }

  /** Returns a page of accounts, newest first or last used first. */
  list(owner: Subject, filters: AccountFilters, page: Page): { body: AccountJson[]; total: number } {
    // An account has no wallet: the addresses of a wallet are listed under it.
    if (filters.wallet_id !== undefined) return { body: [], total: 0 };
    const [index, prefix]: ["owner" | "network", StoreKey] =
      filters.network_id === undefined
        ? ["owner", ownerKey(owner)]
        : ["network", [...ownerKey(owner), filters.network_id]];
    if (filters.sort !== "recent") {
      const { rows, total } = this.#table.list(index, prefix, { page, reverse: true });
      return { body: rows.map((account) => this.#onWire(account)), total };
    }
    const all = this.#table.list(index, prefix, { reverse: true }).rows.map((account) => this.#onWire(account));
    all.sort((one, other) => (other.accessed_at ?? "").localeCompare(one.accessed_at ?? ""));
    const from = (page.page - 1) * page.rpp;
    return { body: all.slice(from, from + page.rpp), total: all.length };
  }

  /** Returns an account. Throws `not_found`. */
  find(owner: Subject, id: string): AccountRecord {
    const found = this.#table.get([...ownerKey(owner), id]);
    if (found === undefined) throw notFound("account");
    return found.value;
  }

  /** Returns the owner's account of an address in any case; undefined when there is none. */
  findByAddress(owner: Subject, address: string): AccountRecord | undefined {
    return this.#table.findBy("address", [...ownerKey(owner), address.toLowerCase()])?.value;
  }

  /** Returns an account with its balance, which is null while the node does not answer. Throws `not_found`. */
  async get(owner: Subject, id: string, signal?: AbortSignal): Promise<AccountDetailJson> {
    const account = this.find(owner, id);
    return { ...this.#onWire(account), balance: await this.#balance(owner, account, signal) };
  }

  /** Returns what records that an account signs, at most once a minute; part of the commit of what it signs. */
  useCommit(owner: Subject, id: string): StoreCommit {
    const nowMs = this.#dependencies.clock.nowMs();
    if (nowMs - (this.#usedAtMs.get(id) ?? 0) < USED_EVERY_MS) return {};
    this.#usedAtMs.set(id, nowMs);
    return { puts: [{ key: usedKey(owner, id), value: isoTimestamp(nowMs) }] };
  }

  /** Deletes all accounts of an owner. Their keys are deleted with the vault. */
  async purge(owner: Subject): Promise<void> {
    const { store } = this.#dependencies;
    for (;;) {
      const records = this.#table.records("owner", ownerKey(owner), { page: 1, rpp: 100 });
      if (records.length === 0) break;
      await store.commit(mergeCommits(...records.map((record) => this.#table.deleteCommit(record))));
    }
    await store.commit({ deletePrefixes: [[USED, ...ownerKey(owner)]] });
  }

  async #balance(owner: Subject, account: AccountRecord, signal: AbortSignal | undefined): Promise<string | null> {
    try {
      const { rpc } = this.#dependencies.networks.find(owner, account.network_id);
      return String(
        readHexQuantity(await rpc.request("eth_getBalance", [account.address, "latest"], optionsOf(signal)), "balance"),
      );
    } catch (error) {
      // The account can be read whether its network answers or not.
      if (error instanceof AppError || error instanceof RpcRefusal) return null;
      throw error;
    }
  }

  #onWire({ owner, ...account }: AccountRecord): AccountJson {
    const used = this.#dependencies.store.get<string>(usedKey(owner, account.id))?.value ?? null;
    return {
      ...account,
      ...ownerMembers(owner),
      wallet_id: null,
      type: "secp256k1",
      hd_derivation_path: null,
      accessed_at: used,
    };
  }
}

/** Returns the three members that name the owner of a record. */
export function ownerMembers(owner: Subject): {
  application_id: string | null;
  organization_id: string | null;
  user_id: string | null;
} {
  return {
    application_id: owner.kind === "application" ? owner.id : null,
    organization_id: owner.kind === "organization" ? owner.id : null,
    user_id: owner.kind === "user" ? owner.id : null,
  };
}

function optionsOf(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

function usedKey(owner: Subject, id: string): StoreKey {
  return [USED, ...ownerKey(owner), id];
}
