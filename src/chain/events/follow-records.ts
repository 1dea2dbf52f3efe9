/**
 * How far the follower of a network's logs has come, durable. Events are published in the commits that move it.
 *
 *   checkpoint   ["chain_log_follow", network]               -> Checkpoint
 *   cursor       ["chain_log_contract", network, contract]   -> ContractCursor
 *   recent       ["chain_log_recent", network, block, part]  -> PublishedLog[], of blocks that may still be replaced
 */
import type { SubjectKind } from "../../platform/auth/principal.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";

export type Checkpoint = {
  /** First block that was not read yet. */
  readonly next_block: number;
  /** Number and hash of blocks that were read, oldest first. */
  readonly hashes: readonly (readonly [number, string])[];
  /** Hash of block 0: tells another chain from one that lags. */
  readonly genesis: string;
};

/** Null: the contract is at the checkpoint. A number: it was added later, and this block is the next for it. */
export type ContractCursor = { readonly next_block: number | null };

/** Enough of a published event to retract it. */
export type PublishedLog = {
  readonly owner: { readonly kind: SubjectKind; readonly id: string };
  readonly subjects: readonly string[];
  readonly contract_id: string;
  readonly address: string;
  readonly type: string | null;
  readonly tx_hash: string;
  readonly block_number: number;
  readonly block_hash: string;
  readonly log_index: number;
};

const CHECKPOINT = "chain_log_follow";
const CURSOR = "chain_log_contract";
const RECENT = "chain_log_recent";
/** More than one step of a follower at the head adds. */
const DROPPED_AT_ONCE = 64;
/** Logs of one commit, each an append with its index; a commit may touch five times as many keys. */
export const LOGS_PER_COMMIT = 2000;

export class FollowRecords {
  readonly #store: Store;
  readonly #networkId: string;

  constructor(options: { readonly networkId: string }, dependencies: { readonly store: Store }) {
    this.#networkId = options.networkId;
    this.#store = dependencies.store;
  }

  /** Returns the checkpoint; undefined before the first step. */
  checkpoint(): StoreRecord<Checkpoint> | undefined {
    return this.#store.get<Checkpoint>(this.#checkpointKey());
  }

  /** Returns the cursors by contract id. */
  cursors(): Map<string, ContractCursor> {
    return new Map(
      this.#store.range<ContractCursor>([CURSOR, this.#networkId]).map(({ key, value }) => [String(key[2]), value]),
    );
  }

  /** Returns what was published of blocks after this one, newest first, and the keys of the records. */
  publishedAfter(block: number): { readonly logs: PublishedLog[]; readonly keys: StoreKey[] } {
    const records = this.#store.range<PublishedLog[]>([RECENT, this.#networkId], {
      after: [RECENT, this.#networkId, block, "\u{10ffff}"],
    });
    return { logs: records.flatMap(({ value }) => value).reverse(), keys: records.map(({ key }) => key) };
  }

  /** Returns the commit that moves the checkpoint; it conflicts when another follower moved it. */
  checkpointCommit(current: StoreRecord<Checkpoint> | undefined, next: Checkpoint): StoreCommit {
    const key = this.#checkpointKey();
    return { checks: [{ key, version: current?.version ?? "absent" }], puts: [{ key, value: next }] };
  }

  /** Returns the commit that sets cursors. */
  cursorCommit(cursors: ReadonlyMap<string, ContractCursor>): StoreCommit {
    return { puts: [...cursors].map(([contractId, value]) => ({ key: [CURSOR, this.#networkId, contractId], value })) };
  }

  /** Returns the commit that deletes the cursors of contracts. */
  forgetCommit(contractIds: readonly string[]): StoreCommit {
    return { deletes: contractIds.map((contractId) => [CURSOR, this.#networkId, contractId]) };
  }

  /** Returns the commit that records what was published of a block. */
  recentCommit(block: number, part: string, logs: readonly PublishedLog[]): StoreCommit {
    return { puts: [{ key: [RECENT, this.#networkId, block, part], value: logs }] };
  }

  /** Returns the commit that drops the records of what was published of blocks before this one. */
  dropRecentCommit(before: number): StoreCommit {
    const old = this.#store
      .range([RECENT, this.#networkId], { limit: DROPPED_AT_ONCE })
      .filter(({ key }) => Number(key[2]) < before);
    return { deletes: old.map(({ key }) => key) };
  }

  /** Writes a commit. Resolves once it is durable. */
  async commit(commit: StoreCommit): Promise<void> {
    await this.#store.commit(commit);
  }

  #checkpointKey(): StoreKey {
    return [CHECKPOINT, this.#networkId];
  }
}
