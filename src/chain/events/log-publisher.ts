/**
 * Publishes contract events, and retracts those of replaced blocks, in the commit that moves the follower: so an event
 * is published at least once, whatever ends the process.
 */
import { AppError } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { StoreCommit, StoreRecord } from "../../platform/store/store.js";
import type { WatchedContract } from "../contracts/abi/contract-abis.js";
import { retraction, type ContractEvent } from "./contract-event.js";
import {
  LOGS_PER_COMMIT,
  type Checkpoint,
  type ContractCursor,
  type FollowRecords,
  type PublishedLog,
} from "./follow-records.js";
import type { BlockHead } from "./node-logs.js";

/** The blocks that one step reads, and the contracts whose logs it reads. */
export interface StepRange {
  readonly contracts: readonly WatchedContract[];
  /** First and last block. */
  readonly from: number;
  readonly to: number;
  /** False for contracts that were added later and are still behind the checkpoint. */
  readonly isAtCheckpoint: boolean;
}

export interface LogPublisherDependencies {
  readonly records: FollowRecords;
  readonly events: Events;
}

/** Blocks whose hashes are kept: deeper than any reorganisation that main networks have had since their merge. */
const HASHES_MAX = 64;
/** Logs of older blocks are not retracted any more. */
const REORG_BLOCKS_MAX = 256;

export class LogPublisher {
  readonly #networkId: string;
  readonly #records: FollowRecords;
  readonly #events: Events;

  constructor(options: { readonly networkId: string }, { records, events }: LogPublisherDependencies) {
    this.#networkId = options.networkId;
    this.#records = records;
    this.#events = events;
  }

  /**
   * Publishes the events of a range, and moves the follower with the last of them. All commits but the last only
   * publish: when the process ends between them, the range is published again from its start.
   * @param contractEvents in the chain's order
   * @param last the last block of the range
   */
  async publish(contractEvents: readonly ContractEvent[], range: StepRange, last: BlockHead): Promise<void> {
    for (let at = 0, part = 0; ; at += LOGS_PER_COMMIT, part += 1) {
      const slice = contractEvents.slice(at, at + LOGS_PER_COMMIT);
      const commit = this.#publication(slice, { last, part: partName(range, part) });
      if (at + LOGS_PER_COMMIT >= contractEvents.length) {
        await this.#records.commit(mergeCommits(commit, this.#progress(range, last)));
        return;
      }
      await this.#records.commit(commit);
    }
  }

  /**
   * Retracts what was published of blocks after the fork, newest first, and moves the follower back to the fork with
   * the last of it.
   * @param fork number of the last block that is still part of the chain; -1 when none is
   */
  async retractAfter(fork: number, checkpoint: StoreRecord<Checkpoint>): Promise<void> {
    const { logs, keys } = this.#records.publishedAfter(fork);
    const last = Math.floor(Math.max(0, logs.length - 1) / LOGS_PER_COMMIT) * LOGS_PER_COMMIT;
    for (let at = 0; at < last; at += LOGS_PER_COMMIT)
      await this.#events.publish(this.#retractions(logs.slice(at, at + LOGS_PER_COMMIT)));
    const { next_block: nextBlock, hashes, genesis } = checkpoint.value;
    const next: Checkpoint = {
      next_block: Math.min(nextBlock, fork + 1),
      hashes: hashes.filter(([number]) => number <= fork),
      genesis: fork < 0 ? "" : genesis,
    };
    await this.#records.commit(
      mergeCommits(
        this.#records.checkpointCommit(checkpoint, next),
        this.#records.cursorCommit(this.#cursorsBackTo(fork + 1)),
        { deletes: keys },
        this.#events.commitOf(this.#retractions(logs.slice(last))),
      ),
    );
  }

  #retractions(logs: readonly PublishedLog[]): ReturnType<typeof retraction>[] {
    return logs.map((log) => retraction(log, this.#networkId));
  }

  /** Publishes events, and keeps what retracts them as long as their blocks may be replaced. */
  #publication(
    contractEvents: readonly ContractEvent[],
    { last, part }: { readonly last: BlockHead; readonly part: string },
  ): StoreCommit {
    const retractable = contractEvents
      .map(({ log }) => log)
      .filter((log) => log.block_number > last.number - REORG_BLOCKS_MAX);
    return mergeCommits(
      this.#events.commitOf(contractEvents.map(({ draft }) => draft)),
      ...byBlock(retractable).map(([block, logs]) => this.#records.recentCommit(block, part, logs)),
    );
  }

  /** Moves the checkpoint, or the cursors of contracts that are behind it, to the end of the range. */
  #progress(range: StepRange, last: BlockHead): StoreCommit {
    const checkpoint = this.#records.checkpoint();
    if (checkpoint === undefined) throw new AppError("conflict", { message: "the follower's checkpoint is gone" });
    const { value } = checkpoint;
    const nextBlock = range.to + 1;
    if (!range.isAtCheckpoint) {
      const cursor: ContractCursor = { next_block: nextBlock >= value.next_block ? null : nextBlock };
      return mergeCommits(
        this.#records.checkpointCommit(checkpoint, value),
        this.#records.cursorCommit(new Map(range.contracts.map(({ contractId }) => [contractId, cursor]))),
      );
    }
    const hashes = [...value.hashes, [last.number, last.hash] as const].slice(-HASHES_MAX);
    return mergeCommits(
      this.#records.checkpointCommit(checkpoint, { ...value, next_block: nextBlock, hashes }),
      this.#records.dropRecentCommit(last.number - REORG_BLOCKS_MAX),
    );
  }

  #cursorsBackTo(block: number): Map<string, ContractCursor> {
    const ahead = [...this.#records.cursors()].filter(([, { next_block: next }]) => next !== null && next > block);
    return new Map(ahead.map(([contractId]) => [contractId, { next_block: block }]));
  }
}

function byBlock(logs: readonly PublishedLog[]): [number, PublishedLog[]][] {
  const blocks = new Map<number, PublishedLog[]>();
  for (const log of logs) {
    const block = blocks.get(log.block_number) ?? [];
    block.push(log);
    blocks.set(log.block_number, block);
  }
  return [...blocks];
}

/**
 * Names the part of a block's logs that one commit publishes. Contracts that were added later publish logs of blocks
 * that were published before for others: the name of the first of them keeps the parts apart.
 */
function partName({ isAtCheckpoint, contracts }: StepRange, part: number): string {
  return isAtCheckpoint ? `main.${String(part)}` : `${contracts[0]?.contractId ?? ""}.${String(part)}`;
}
