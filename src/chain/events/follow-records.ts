/**
 * Where the follower of a network's logs stands, durable. Whatever is published is published in the commit that moves
 * it.
 *
 *   checkpoint   ["chain_log_follow", network]                    -> Checkpoint
 *   follower     ["chain_log_contract", network, contract]        -> ContractCursor
 *   recent       ["chain_log_recent", network, block, part]       -> PublishedLog[], as far back as blocks may still change
 */
import type { SubjectKind } from "../../platform/auth/principal.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../../platform/store/store.js";

export type Checkpoint = {
  /** First block that is not looked through yet. */
  readonly next_block: number;
  /** Number and hash of blocks that were looked through, oldest first. */
  readonly hashes: readonly (readonly [number, string])[];
  /** Hash of block 0: tells another chain from one that lags. */
  readonly genesis: string;
};

/** Null: looked through as far as the checkpoint says. A number: so far behind it, because it came later. */
export type ContractCursor = { readonly next_block: number | null };

/** Enough of what was published to take it back. */
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
/** More than one step of a follower that keeps up adds. */
const SETTLED_AT_ONCE = 64;

export class FollowRecords {
  readonly #store: Store;
  readonly #networkId: string;

  constructor(options: { readonly networkId: string }, dependencies: { readonly store: Store }) {
    this.#networkId = options.networkId;
    this.#store = dependencies.store;
  }

  checkpoint(): StoreRecord<Checkpoint> | undefined {
    return this.#store.get<Checkpoint>(this.#checkpointKey());
  }

  /** By contract id. */
  cursors(): Map<string, ContractCursor> {
    return new Map(
      this.#store.range<ContractCursor>([CURSOR, this.#networkId]).map(({ key, value }) => [String(key[2]), value]),
    );
  }

  /** What was published of blocks after one, newest first. */
  publishedAfter(block: number): { readonly logs: PublishedLog[]; readonly keys: StoreKey[] } {
    const records = this.#store.range<PublishedLog[]>([RECENT, this.#networkId], {
      after: [RECENT, this.#networkId, block, "\u{10ffff}"],
    });
    return { logs: records.flatMap(({ value }) => value).reverse(), keys: records.map(({ key }) => key) };
  }

  /** Moves the checkpoint; conflicts when another follower moved it. */
  moveCommit(current: StoreRecord<Checkpoint> | undefined, next: Checkpoint): StoreCommit {
    const key = this.#checkpointKey();
    return { checks: [{ key, version: current?.version ?? "absent" }], puts: [{ key, value: next }] };
  }

  cursorCommit(cursors: ReadonlyMap<string, ContractCursor>): StoreCommit {
    return { puts: [...cursors].map(([contractId, value]) => ({ key: [CURSOR, this.#networkId, contractId], value })) };
  }

  forgetCommit(contractIds: readonly string[]): StoreCommit {
    return { deletes: contractIds.map((contractId) => [CURSOR, this.#networkId, contractId]) };
  }

  recentCommit(block: number, part: string, logs: readonly PublishedLog[]): StoreCommit {
    return { puts: [{ key: [RECENT, this.#networkId, block, part], value: logs }] };
  }

  /** Drops what was published of blocks before one. */
  settleCommit(before: number): StoreCommit {
    const old = this.#store
      .range([RECENT, this.#networkId], { limit: SETTLED_AT_ONCE })
      .filter(({ key }) => Number(key[2]) < before);
    return { deletes: old.map(({ key }) => key) };
  }

  async commit(commit: StoreCommit): Promise<void> {
    await this.#store.commit(commit);
  }

  #checkpointKey(): StoreKey {
    return [CHECKPOINT, this.#networkId];
  }
}
