/**
 * Transactions in the store: keys start with the owner; the open ones have an index by chain and account, from which
 * the nonce queues are made at start.
 */
import { ownerKey, type Subject } from "../../platform/auth/principal.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";
import {
  defineTable,
  mergeCommits,
  type Listing,
  type Page,
  type Table,
  type Walk,
} from "../../platform/store/tables.js";
import type { TransactionFilters } from "./transaction-schemas.js";
import { ownerOf, statusOf, type TransactionRecord } from "./transaction-record.js";

/** The table of transactions, of whose changes other nodes tell. */
export const TRANSACTION_TABLE = "chain_transaction";
/** Read in one turn of the event loop when an owner has too many that are looked for. */
const DROPPED_AT_ONCE = 16;
/** Transactions of the same bytes that are compared: each was refused but the last. */
const REPEATED_MAX = 16;
type Index = "owner" | "network" | "account" | "open" | "ended" | "hash";

/** What must be known of a transaction to say whether another has its bytes. */
export type RepeatableTransaction = Pick<
  TransactionRecord,
  "id" | "created_at" | "owner_kind" | "owner_id" | "network_id" | "chain_id" | "from" | "attempts"
>;

/** What tells the account of a transaction from others that have nonces of their own. */
export type NonceAccount = Pick<TransactionRecord, "chain_id" | "from" | "owner_kind" | "owner_id">;

export class TransactionRepository {
  readonly #store: Store;
  readonly #table: Table<TransactionRecord, Index, "ref" | "nonce">;

  constructor(dependencies: { readonly store: Store }) {
    this.#store = dependencies.store;
    this.#table = defineTable<TransactionRecord, Index, "ref" | "nonce">(
      {
        name: TRANSACTION_TABLE,
        key: (record) => [...ownerKey(ownerOf(record)), record.id],
        indexes: {
          owner: (record) => ownerKey(ownerOf(record)),
          network: (record) => [...ownerKey(ownerOf(record)), record.network_id],
          account: (record) =>
            record.account_id === null ? undefined : [...ownerKey(ownerOf(record)), record.account_id],
          open: (record) => (record.watched ? [record.chain_id, record.from] : undefined),
          hash: (record) => (record.hash === null ? undefined : hashKey(record, record.hash)),
          ended: (record) => (record.may_be_mined === true ? ownerKey(ownerOf(record)) : undefined),
        },
        uniques: {
          ref: (record) => [...ownerKey(ownerOf(record)), record.ref],
          nonce: (record) =>
            record.holds_nonce === true && record.nonce !== null ? nonceKey(record, record.nonce) : undefined,
        },
      },
      dependencies,
    );
  }

  /** Returns a transaction by its id. */
  find(owner: Subject, id: string): StoreRecord<TransactionRecord> | undefined {
    return this.#table.get([...ownerKey(owner), id]);
  }

  /** Returns the transaction of a whole key of the store. */
  at([, ...key]: StoreKey): StoreRecord<TransactionRecord> | undefined {
    return this.#table.get(key);
  }

  /** Returns a transaction by its ref. */
  findByRef(owner: Subject, ref: string): StoreRecord<TransactionRecord> | undefined {
    return this.#table.findBy("ref", [...ownerKey(owner), ref]);
  }

  /** Returns a page of transactions, newest first. */
  list(owner: Subject, filters: TransactionFilters, page: Page): Listing<TransactionRecord> {
    const filter = filterOf(filters);
    const options = { page, reverse: true, ...(filter === undefined ? {} : { filter }) };
    if (filters.account_id !== undefined)
      return this.#table.list("account", [...ownerKey(owner), filters.account_id], options);
    if (filters.network_id !== undefined)
      return this.#table.list("network", [...ownerKey(owner), filters.network_id], options);
    return this.#table.list("owner", ownerKey(owner), options);
  }

  /** Returns everything that is still to be sent or watched, account by account. */
  open(): TransactionRecord[] {
    return this.#table.list("open", []).rows;
  }

  /** Returns how many transactions of an address are still to be sent or watched, those of all owners. */
  openCount({ chain_id: chainId, from }: NonceAccount): number {
    return this.#table.count("open", [chainId, from]);
  }

  /** Returns true when a transaction ended without a block and may be in one all the same. */
  hasUnsettled(): boolean {
    return this.unsettled({ limit: 1 }).rows.length > 0;
  }

  /** Returns the next that ended without a block and may be in one all the same, owner by owner, oldest first. */
  unsettled(options: { readonly after?: StoreKey | undefined; readonly limit: number }): Walk<TransactionRecord> {
    return this.#table.walk("ended", options);
  }

  /** Returns the oldest of an owner's such transactions beyond a number, a few at a time. */
  unsettledBeyond(owner: Subject, most: number): TransactionRecord[] {
    const excess = this.#table.count("ended", ownerKey(owner)) - most;
    if (excess <= 0) return [];
    const page = { page: 1, rpp: Math.min(excess, DROPPED_AT_ONCE) };
    return this.#table.records("ended", ownerKey(owner), page).map(({ value }) => value);
  }

  /**
   * Returns true when the bytes of a transaction that ended are another's of the owner by now, as those of a repeated
   * transfer can be: one that is open or in a block, or one that was made later.
   */
  isRepeated(record: RepeatableTransaction): boolean {
    const hashes = new Set(record.attempts.map(({ hash }) => hash));
    const isTakenBy = (other: TransactionRecord): boolean =>
      other.id !== record.id && (other.watched || other.block !== null || isLater(other, record));
    for (const hash of hashes) {
      const { rows } = this.#table.list("hash", hashKey(record, hash), {
        page: { page: 1, rpp: REPEATED_MAX },
        reverse: true,
      });
      if (rows.some(isTakenBy)) return true;
    }
    // The hash that counts of an open one is that of its last signature; the chain may have an earlier one.
    const { rows } = this.#table.list("open", [record.chain_id, record.from]);
    return rows.some(
      (other) =>
        isTakenBy(other) &&
        other.network_id === record.network_id &&
        other.owner_id === record.owner_id &&
        other.attempts.some(({ hash }) => hashes.has(hash)),
    );
  }

  /** Returns a page of an owner's records, for their deletion. */
  page(owner: Subject, page: Page): StoreRecord<TransactionRecord>[] {
    return this.#table.records("owner", ownerKey(owner), page);
  }

  /** Returns the commit that stores a new record. */
  insertion(record: TransactionRecord): StoreCommit {
    return this.#table.insertCommit(record);
  }

  /** Returns the commit that replaces a record; it conflicts when the record has changed since it was read. */
  update(current: StoreRecord<TransactionRecord>, next: TransactionRecord): StoreCommit {
    return this.#table.updateCommit(current, next);
  }

  /** Returns the commit that deletes a record. */
  deletion(current: StoreRecord<TransactionRecord>): StoreCommit {
    return this.#table.deleteCommit(current);
  }

  /** Returns true for the key of a conflict whose cause is a ref that another transaction has. */
  isRefConflict(key: StoreKey): boolean {
    return this.#table.uniqueOf(key) === "ref";
  }

  /** Returns true for the key of a conflict whose cause is a nonce that another transaction has. */
  isNonceConflict(key: StoreKey): boolean {
    return this.#table.uniqueOf(key) === "nonce";
  }

  /** Returns the transaction that has a nonce of the account of another one. */
  holderOfNonce(record: NonceAccount, nonce: number): TransactionRecord | undefined {
    return this.#table.findBy("nonce", nonceKey(record, nonce))?.value;
  }

  /** Writes commits as one. Resolves once they are durable. */
  async commit(...parts: readonly StoreCommit[]): Promise<void> {
    const [first, ...others] = parts;
    // Most commits are one part, and merging would encode its keys for nothing.
    if (first !== undefined) await this.#store.commit(others.length === 0 ? first : mergeCommits(...parts));
  }
}

/** As the nonce queues tell accounts apart. */
function nonceKey(record: NonceAccount, nonce: number): StoreKey {
  return [record.chain_id, record.from, ...ownerKey(ownerOf(record)), nonce];
}

function hashKey(record: Pick<TransactionRecord, "owner_kind" | "owner_id" | "network_id">, hash: string): StoreKey {
  return [...ownerKey(ownerOf(record)), record.network_id, hash];
}

/** In the order of the store's indexes. */
function isLater(one: RepeatableTransaction, other: RepeatableTransaction): boolean {
  return one.created_at === other.created_at ? one.id > other.id : one.created_at > other.created_at;
}

/** Returns the filter for what no index covers; undefined when the index covers everything. */
function filterOf(filters: TransactionFilters): ((record: TransactionRecord) => boolean) | undefined {
  const statuses = filters.status === undefined ? undefined : new Set(filters.status.split(","));
  const [to, from] = [filters.to?.toLowerCase(), filters.from?.toLowerCase()];
  const creations = filters.filter_contract_creations === true;
  // Lists of an account use its index, so that the network is left to this filter.
  const network = filters.account_id === undefined ? undefined : filters.network_id;
  const { contract_id: contract } = filters;
  const isAny = [statuses, to, from, network, contract].every((filter) => filter === undefined) && !creations;
  if (isAny) return undefined;
  return (record) =>
    (statuses === undefined || statuses.has(record.state) || statuses.has(statusOf(record.state))) &&
    (to === undefined || record.to?.toLowerCase() === to) &&
    (from === undefined || record.from.toLowerCase() === from) &&
    (network === undefined || record.network_id === network) &&
    (contract === undefined || record.contract_id === contract) &&
    (!creations || record.to === null);
}
