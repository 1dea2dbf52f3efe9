/**
 * Follows the logs of one network's contracts and has them published: in the chain's order, at least once, from a
 * durable checkpoint. The events of a replaced block are retracted, and the chain is read again from the last block
 * that is still part of it.
 */
import { AppError } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { StoreRecord } from "../../platform/store/store.js";
import type { ContractAbi } from "../contracts/abi/abi.js";
import type { WatchedContract } from "../contracts/abi/contract-abis.js";
import { RpcRefusal, type Rpc } from "../rpc/rpc.js";
import { contractEvent, type ContractEvent } from "./contract-event.js";
import { LOGS_PER_COMMIT, type Checkpoint, type ContractCursor, type FollowRecords } from "./follow-records.js";
import { findFork } from "./fork.js";
import type { ChainLog } from "./log-decoding.js";
import { LogPublisher, type StepRange } from "./log-publisher.js";
import { blockHead, blockSince, fetchLogs, fetchSenders, newestHead, type BlockHead } from "./node-logs.js";

export interface LogFollowerOptions {
  readonly networkId: string;
  /** Blocks that must follow a block before its logs are published. */
  readonly confirmations: number;
}

export interface LogFollowerDependencies {
  readonly records: FollowRecords;
  readonly events: Events;
  /** Called in each step, because the network's record may change. */
  readonly rpc: () => Rpc;
  /** Returns the deployed contracts of the network. */
  readonly contracts: () => readonly WatchedContract[];
  /** Returns the contracts of all owners at an address, with their ABIs. */
  readonly find: (address: string) => readonly { readonly contract: WatchedContract; readonly abi: ContractAbi }[];
}

/** `waiting`: nothing to do before the chain moves. */
export type StepOutcome = "advanced" | "waiting";

const RANGE_BLOCKS_MAX = 1000;
const ADDRESSES_MAX = 200;
/** The chain's clock may be behind the server's. */
const CLOCK_MARGIN_SEC = 60;

export class LogFollower {
  readonly #options: LogFollowerOptions;
  readonly #dependencies: LogFollowerDependencies;
  readonly #publisher: LogPublisher;
  /** Blocks and addresses that one request asks for; fewer after a node found them too many. */
  #rangeBlocks = RANGE_BLOCKS_MAX;
  #addresses = ADDRESSES_MAX;

  constructor(options: LogFollowerOptions, dependencies: LogFollowerDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#publisher = new LogPublisher({ networkId: options.networkId }, dependencies);
  }

  /**
   * Reads one more range of blocks. Rejects with what the node or the store refused; nothing is half done then,
   * and the next step begins where this one did.
   */
  async step(): Promise<StepOutcome> {
    const { records } = this.#dependencies;
    const contracts = this.#dependencies.contracts();
    if (contracts.length === 0) return "waiting";
    const rpc = this.#dependencies.rpc();
    const head = await newestHead(rpc);
    const checkpoint = records.checkpoint();
    if (checkpoint !== undefined) {
      const fork = await findFork(rpc, checkpoint.value, head);
      if (fork === "behind") return "waiting";
      if (fork !== undefined) {
        await this.#publisher.retractAfter(fork, checkpoint);
        return "advanced";
      }
    }
    if (await this.#updateContracts(rpc, { contracts, checkpoint, head: head.number })) return "advanced";
    const range = this.#nextRange(
      contracts,
      checkpoint?.value.next_block ?? 0,
      head.number - this.#options.confirmations,
    );
    if (range === undefined) return "waiting";
    await this.#advance(rpc, range, head);
    return "advanced";
  }

  /**
   * Gives new contracts their cursor, a little before they were recorded, and forgets those that were deleted. Returns
   * false when there was nothing to do.
   */
  async #updateContracts(
    rpc: Rpc,
    {
      contracts,
      checkpoint,
      head,
    }: {
      readonly contracts: readonly WatchedContract[];
      readonly checkpoint: StoreRecord<Checkpoint> | undefined;
      readonly head: number;
    },
  ): Promise<boolean> {
    const { records } = this.#dependencies;
    const cursors = records.cursors();
    const present = new Set(contracts.map(({ contractId }) => contractId));
    const deleted = [...cursors.keys()].filter((id) => !present.has(id));
    const added = contracts.filter(({ contractId }) => !cursors.has(contractId)).slice(0, LOGS_PER_COMMIT);
    const needsGenesis = checkpoint === undefined || checkpoint.value.genesis === "";
    if (deleted.length === 0 && added.length === 0 && !needsGenesis) return false;
    const since =
      added.length === 0 ? (checkpoint?.value.next_block ?? 0) : await blockSince(rpc, oldestSec(added), head);
    const genesis = needsGenesis ? ((await blockHead(rpc, 0))?.hash ?? "") : checkpoint.value.genesis;
    const nextBlock = checkpoint?.value.next_block ?? since;
    const cursor: ContractCursor = { next_block: since >= nextBlock ? null : since };
    await records.commit(
      mergeCommits(
        records.checkpointCommit(checkpoint, {
          next_block: nextBlock,
          hashes: checkpoint?.value.hashes ?? [],
          genesis,
        }),
        records.cursorCommit(new Map(added.map(({ contractId }) => [contractId, cursor]))),
        records.forgetCommit(deleted.slice(0, LOGS_PER_COMMIT)),
      ),
    );
    return added.length > 0 || deleted.length > 0;
  }

  /**
   * Returns the range of the contracts that are furthest behind, up to where the next ones are.
   * @param main the first block after the checkpoint
   * @param last the last block that may be published
   */
  #nextRange(contracts: readonly WatchedContract[], main: number, last: number): StepRange | undefined {
    const cursors = this.#dependencies.records.cursors();
    const behind = contracts.flatMap((contract) => {
      const next = cursors.get(contract.contractId)?.next_block;
      return next === undefined || next === null ? [] : [{ contract, next }];
    });
    const from = Math.min(main, ...behind.map(({ next }) => next));
    const isAtCheckpoint = behind.length === 0;
    const later = [main, ...behind.map(({ next }) => next)].filter((next) => next > from);
    const to = Math.min(last, from + this.#rangeBlocks - 1, ...later.map((next) => next - 1));
    if (to < from) return undefined;
    const taken = isAtCheckpoint
      ? contracts.filter(({ contractId }) => cursors.has(contractId))
      : behind.filter(({ next }) => next === from).map(({ contract }) => contract);
    return { contracts: taken, from, to, isAtCheckpoint };
  }

  async #advance(rpc: Rpc, range: StepRange, head: BlockHead): Promise<void> {
    const before = range.to === head.number ? head : await blockHead(rpc, range.to);
    if (before === undefined)
      throw new AppError("network_answer_invalid", { message: "the network's node has no block that it just named" });
    const logs = await this.#readLogs(rpc, range);
    // The next step asks for less.
    if (logs === undefined) return;
    const [after, senders] = await Promise.all([
      blockHead(rpc, range.to),
      fetchSenders(
        rpc,
        logs.map((log) => log.transactionHash),
      ),
    ]);
    if (
      after?.hash !== before.hash ||
      logs.some((log) => log.blockNumber === range.to && log.blockHash !== before.hash)
    ) {
      throw new AppError("network_answer_invalid", { message: "the network's chain changed while it was read" });
    }
    await this.#publisher.publish(this.#eventsOf(logs, range, senders), range, before);
    this.#rangeBlocks = Math.min(RANGE_BLOCKS_MAX, this.#rangeBlocks * 2);
  }

  /** Undefined when the node finds it too much: less is asked for then, down to one block of one contract. */
  async #readLogs(rpc: Rpc, { contracts, from, to }: StepRange): Promise<ChainLog[] | undefined> {
    const addresses = [...new Set(contracts.map(({ address }) => address.toLowerCase()))];
    const logs: ChainLog[] = [];
    try {
      for (let at = 0; at < addresses.length; at += this.#addresses)
        logs.push(...(await fetchLogs(rpc, addresses.slice(at, at + this.#addresses), { from, to })));
    } catch (error) {
      if (!mayBeTooMuch(error) || (to === from && addresses.length === 1)) throw error;
      if (to > from) this.#rangeBlocks = Math.max(1, Math.floor((to - from + 1) / 2));
      else this.#addresses = Math.max(1, Math.floor(Math.min(this.#addresses, addresses.length) / 2));
      return undefined;
    }
    return logs.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  }

  /** One event of a log for each contract of the range at its address. */
  #eventsOf(
    logs: readonly ChainLog[],
    { contracts }: StepRange,
    senders: ReadonlyMap<string, string>,
  ): ContractEvent[] {
    const { networkId } = this.#options;
    const ids = new Set(contracts.map(({ contractId }) => contractId));
    return logs.flatMap((log) =>
      this.#dependencies
        .find(log.address)
        .filter(({ contract }) => ids.has(contract.contractId))
        .map((found) => contractEvent(log, { ...found, networkId, sender: senders.get(log.transactionHash) ?? null })),
    );
  }
}

/** Unix seconds from which on the oldest of the contracts may have logs. */
function oldestSec(contracts: readonly WatchedContract[]): number {
  const oldestMs = Math.min(...contracts.map(({ createdAt }) => Date.parse(createdAt)));
  return Math.floor(oldestMs / 1000) - CLOCK_MARGIN_SEC;
}

/** True for failures with which nodes answer requests for too many logs. */
function mayBeTooMuch(error: unknown): boolean {
  return (
    error instanceof RpcRefusal ||
    (error instanceof AppError && ["network_answer_invalid", "network_timeout"].includes(error.code))
  );
}
