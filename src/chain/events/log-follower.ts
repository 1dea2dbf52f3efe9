/**
 * Follows the logs of one network's contracts and publishes them: in the chain's order, at least once, from a durable
 * checkpoint. A block that was replaced is taken back by events with `removed: true`, and the chain is read again from
 * the last block that still holds.
 */
import { AppError } from "../../platform/errors.js";
import type { EventDraft, Events } from "../../platform/events/events.js";
import { mergeCommits } from "../../platform/store/commits.js";
import type { StoreCommit, StoreRecord, StoreValue } from "../../platform/store/store.js";
import type { ContractAbi } from "../contracts/abi/abi.js";
import type { WatchedContract } from "../contracts/abi/contract-abis.js";
import { RpcRefusal, type Rpc } from "../rpc/rpc.js";
import type { Checkpoint, ContractCursor, FollowRecords, PublishedLog } from "./follow-records.js";
import { decodeLog, type ChainLog } from "./log-decoding.js";
import { blockHead, blockSince, fetchLogs, fetchSenders, newestHead, type BlockHead } from "./node-logs.js";

export interface LogFollowerOptions {
  readonly networkId: string;
  /** Blocks that must follow a block before its logs are published. */
  readonly confirmations: number;
}

export interface LogFollowerDependencies {
  readonly records: FollowRecords;
  readonly events: Events;
  /** Asked anew each time: the record of a network may change. */
  readonly rpc: () => Rpc;
  /** The deployed contracts of the network. */
  readonly contracts: () => readonly WatchedContract[];
  /** The contracts of all owners at an address, with their ABIs. */
  readonly find: (address: string) => readonly { readonly contract: WatchedContract; readonly abi: ContractAbi }[];
}

/** `waiting`: nothing to do before the chain moves. */
export type StepOutcome = "advanced" | "waiting";

/** Where the contracts of one step stand. */
interface Stretch {
  readonly contracts: readonly WatchedContract[];
  readonly from: number;
  readonly to: number;
  /** They are those that the checkpoint speaks for. */
  readonly isMain: boolean;
}

const RANGE_BLOCKS_MAX = 1000;
const ADDRESSES_MAX = 200;
/** Blocks whose hashes are kept: deeper than any reorganization that main networks have had since their merge. */
const HASHES_MAX = 64;
/** Logs of older blocks are not taken back any more. */
const REORG_BLOCKS_MAX = 256;
/** Logs of one commit, each an append with its index; what a commit may touch is five times that. */
const LOGS_PER_COMMIT = 2000;
/** The chain's clock may be behind ours. */
const CLOCK_MARGIN_SEC = 60;

export class LogFollower {
  readonly #options: LogFollowerOptions;
  readonly #with: LogFollowerDependencies;
  #rangeBlocks = RANGE_BLOCKS_MAX;
  #addresses = ADDRESSES_MAX;

  constructor(options: LogFollowerOptions, dependencies: LogFollowerDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /**
   * Looks through one more stretch of the chain. Rejects with what the node or the store refused; nothing is half done
   * then, and the next step begins where this one did.
   */
  async step(): Promise<StepOutcome> {
    const contracts = this.#with.contracts();
    if (contracts.length === 0) return "waiting";
    const rpc = this.#with.rpc();
    const head = await newestHead(rpc);
    const checkpoint = this.#with.records.checkpoint();
    if (checkpoint !== undefined) {
      const fork = await this.#findFork(rpc, checkpoint.value, head);
      if (fork === "behind") return "waiting";
      if (fork !== undefined) {
        await this.#rewind(checkpoint, fork);
        return "advanced";
      }
    }
    if (await this.#takeIn(rpc, contracts, checkpoint, head.number)) return "advanced";
    const stretch = this.#nextStretch(
      contracts,
      checkpoint?.value.next_block ?? 0,
      head.number - this.#options.confirmations,
    );
    if (stretch === undefined) return "waiting";
    await this.#advance(rpc, stretch, head);
    return "advanced";
  }

  /**
   * The last block that still holds when one that was looked through was replaced; undefined when all hold; `behind`
   * when the node knows too little to tell.
   */
  async #findFork(
    rpc: Rpc,
    { hashes, genesis }: Checkpoint,
    newestThere: BlockHead,
  ): Promise<number | "behind" | undefined> {
    const newest = hashes.at(-1);
    if (newest === undefined || isPartOf(newestThere, newest)) return undefined;
    const head = newestThere.number;
    if (newest[0] <= head && (await blockHead(rpc, newest[0]))?.hash === newest[1]) return undefined;
    const reachable = hashes.filter(([number]) => number <= head);
    // From the newest: a node that merely lags agrees with the first that it knows.
    for (const [index, [number, hash]] of [...reachable].reverse().entries()) {
      const block = await blockHead(rpc, number);
      if (block === undefined) return "behind";
      if (block.hash === hash) return index === 0 && newest[0] > head ? "behind" : number;
    }
    const isOtherChain = (await blockHead(rpc, 0))?.hash !== genesis;
    if (isOtherChain) return -1;
    return reachable.length === 0 ? "behind" : (hashes[0]?.[0] ?? 0) - 1;
  }

  /** Takes back what was published of blocks after the fork, newest first, in the commit that goes back to it. */
  async #rewind(checkpoint: StoreRecord<Checkpoint>, fork: number): Promise<void> {
    const { records, events } = this.#with;
    const { logs, keys } = records.publishedAfter(fork);
    for (let at = 0; at + LOGS_PER_COMMIT < logs.length; at += LOGS_PER_COMMIT) {
      await events.publish(logs.slice(at, at + LOGS_PER_COMMIT).map((log) => this.#removal(log)));
    }
    const rest = logs.slice(Math.floor(Math.max(0, logs.length - 1) / LOGS_PER_COMMIT) * LOGS_PER_COMMIT);
    const late = new Map(
      [...records.cursors()].flatMap(([id, { next_block: next }]): [string, ContractCursor][] =>
        next !== null && next > fork + 1 ? [[id, { next_block: fork + 1 }]] : [],
      ),
    );
    const next: Checkpoint = {
      ...checkpoint.value,
      next_block: Math.min(checkpoint.value.next_block, fork + 1),
      hashes: checkpoint.value.hashes.filter(([number]) => number <= fork),
      genesis: fork < 0 ? "" : checkpoint.value.genesis,
    };
    await records.commit(
      mergeCommits(
        records.moveCommit(checkpoint, next),
        records.cursorCommit(late),
        { deletes: keys },
        events.commitOf(rest.map((log) => this.#removal(log))),
      ),
    );
  }

  /** Gives new contracts their place, a little before they were recorded, and forgets those that are gone. */
  async #takeIn(
    rpc: Rpc,
    contracts: readonly WatchedContract[],
    checkpoint: StoreRecord<Checkpoint> | undefined,
    head: number,
  ): Promise<boolean> {
    const { records } = this.#with;
    const known = records.cursors();
    const present = new Set(contracts.map(({ contractId }) => contractId));
    const gone = [...known.keys()].filter((id) => !present.has(id));
    const added = contracts.filter(({ contractId }) => !known.has(contractId)).slice(0, LOGS_PER_COMMIT);
    const needsGenesis = checkpoint === undefined || checkpoint.value.genesis === "";
    if (gone.length === 0 && added.length === 0 && !needsGenesis) return false;
    const oldest = added.reduce(
      (least, { createdAt }) => Math.min(least, Date.parse(createdAt)),
      Number.POSITIVE_INFINITY,
    );
    const since =
      added.length === 0
        ? (checkpoint?.value.next_block ?? 0)
        : await blockSince(rpc, Math.floor(oldest / 1000) - CLOCK_MARGIN_SEC, head);
    const genesis = needsGenesis ? ((await blockHead(rpc, 0))?.hash ?? "") : checkpoint.value.genesis;
    const main = checkpoint?.value.next_block ?? since;
    const cursor: ContractCursor = { next_block: since >= main ? null : since };
    await records.commit(
      mergeCommits(
        records.moveCommit(checkpoint, { next_block: main, hashes: checkpoint?.value.hashes ?? [], genesis }),
        records.cursorCommit(new Map(added.map(({ contractId }) => [contractId, cursor]))),
        records.forgetCommit(gone.slice(0, LOGS_PER_COMMIT)),
      ),
    );
    return added.length > 0 || gone.length > 0;
  }

  /** Those furthest behind first, up to where the next ones stand. */
  #nextStretch(contracts: readonly WatchedContract[], main: number, last: number): Stretch | undefined {
    const cursors = this.#with.records.cursors();
    const late = contracts.flatMap((contract) => {
      const next = cursors.get(contract.contractId)?.next_block;
      return next === undefined || next === null ? [] : [{ contract, next }];
    });
    const from = Math.min(main, ...late.map(({ next }) => next));
    const isMain = late.length === 0;
    const following = [main, ...late.map(({ next }) => next)].filter((next) => next > from);
    const to = Math.min(last, from + this.#rangeBlocks - 1, ...following.map((next) => next - 1));
    if (to < from) return undefined;
    const taking = isMain
      ? contracts.filter(({ contractId }) => cursors.has(contractId))
      : late.filter(({ next }) => next === from).map(({ contract }) => contract);
    return { contracts: taking, from, to, isMain };
  }

  async #advance(rpc: Rpc, stretch: Stretch, head: BlockHead): Promise<void> {
    const before = stretch.to === head.number ? head : await blockHead(rpc, stretch.to);
    if (before === undefined)
      throw new AppError("network_answer_invalid", { message: "the network's node has no block that it just named" });
    const logs = await this.#read(rpc, stretch);
    // Less is asked for in the next step.
    if (logs === undefined) return;
    const [after, senders] = await Promise.all([
      blockHead(rpc, stretch.to),
      fetchSenders(
        rpc,
        logs.map((log) => log.transactionHash),
      ),
    ]);
    if (
      after?.hash !== before.hash ||
      logs.some((log) => log.blockNumber === stretch.to && log.blockHash !== before.hash)
    ) {
      throw new AppError("network_answer_invalid", { message: "the network's chain changed while it was read" });
    }
    const ids = new Set(stretch.contracts.map(({ contractId }) => contractId));
    const published = logs.flatMap((log) => this.#publications(log, senders.get(log.transactionHash) ?? null, ids));
    await this.#publish(published, stretch, before);
    this.#rangeBlocks = Math.min(RANGE_BLOCKS_MAX, this.#rangeBlocks * 2);
  }

  /** Undefined when the node finds it too much: less is asked for then, down to one block of one contract. */
  async #read(rpc: Rpc, { contracts, from, to }: Stretch): Promise<ChainLog[] | undefined> {
    const addresses = [...new Set(contracts.map(({ address }) => address.toLowerCase()))];
    const logs: ChainLog[] = [];
    try {
      for (let at = 0; at < addresses.length; at += this.#addresses)
        logs.push(...(await fetchLogs(rpc, addresses.slice(at, at + this.#addresses), { from, to })));
    } catch (error) {
      const isTooMuch =
        error instanceof RpcRefusal ||
        (error instanceof AppError && ["network_answer_invalid", "network_timeout"].includes(error.code));
      if (!isTooMuch || (to === from && addresses.length === 1)) throw error;
      if (to > from) this.#rangeBlocks = Math.max(1, Math.floor((to - from + 1) / 2));
      else this.#addresses = Math.max(1, Math.floor(Math.min(this.#addresses, addresses.length) / 2));
      return undefined;
    }
    return logs.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  }

  #publications(
    log: ChainLog,
    sender: string | null,
    ids: ReadonlySet<string>,
  ): { readonly log: PublishedLog; readonly draft: EventDraft }[] {
    return this.#with
      .find(log.address)
      .filter(({ contract }) => ids.has(contract.contractId))
      .map(({ contract, abi }) => {
        const decoded = decodeLog(abi, log);
        const type = decoded?.type ?? null;
        const { networkId } = this.#options;
        const prefix = contract.pubsubPrefix;
        const subjects = [
          `network.${networkId}.contracts.${contract.address}`,
          prefix,
          ...(type === null ? [] : [`${prefix}.${type}`]),
        ];
        const published: PublishedLog = {
          owner: contract.owner,
          subjects,
          contract_id: contract.contractId,
          address: contract.address,
          type,
          tx_hash: log.transactionHash,
          block_number: log.blockNumber,
          block_hash: log.blockHash,
          log_index: log.logIndex,
        };
        const params = decoded?.params ?? null;
        const payload: StoreValue = {
          // Existing clients look for the parameters beside the rest; a parameter of the same name stands in `params`
          // only.
          ...(typeof params === "object" && params !== null && !Array.isArray(params) ? params : {}),
          ...this.#place(published),
          by: sender,
          params,
          removed: false,
          ...(decoded === undefined ? { topics: log.topics, data: log.data } : {}),
        };
        return { log: published, draft: draftOf(published, payload) };
      });
  }

  #place({ subjects: _subjects, owner: _owner, ...place }: PublishedLog): Readonly<Record<string, StoreValue>> {
    return { network_id: this.#options.networkId, ...place };
  }

  #removal(log: PublishedLog): EventDraft {
    return draftOf(log, { ...this.#place(log), removed: true });
  }

  /**
   * Everything but the last commit only publishes: if the process ends in between, the stretch is published again from
   * its start.
   */
  async #publish(
    published: readonly { readonly log: PublishedLog; readonly draft: EventDraft }[],
    stretch: Stretch,
    last: BlockHead,
  ): Promise<void> {
    const { records, events } = this.#with;
    let at = 0;
    for (let part = 0; ; part += 1) {
      const slice = published.slice(at, at + LOGS_PER_COMMIT);
      at += slice.length;
      const told = mergeCommits(
        events.commitOf(slice.map(({ draft }) => draft)),
        ...byBlock(slice.map(({ log }) => log).filter((log) => log.block_number > last.number - REORG_BLOCKS_MAX)).map(
          ([block, logs]) => records.recentCommit(block, recentPart(stretch, part), logs),
        ),
      );
      if (at < published.length) {
        await records.commit(told);
        continue;
      }
      await records.commit(mergeCommits(told, this.#moved(stretch, last)));
      return;
    }
  }

  #moved(stretch: Stretch, last: BlockHead): StoreCommit {
    const { records } = this.#with;
    const checkpoint = records.checkpoint();
    if (checkpoint === undefined) throw new AppError("conflict", { message: "the follower's checkpoint is gone" });
    const { value } = checkpoint;
    if (!stretch.isMain) {
      const next: ContractCursor = { next_block: stretch.to + 1 >= value.next_block ? null : stretch.to + 1 };
      return mergeCommits(
        records.moveCommit(checkpoint, value),
        records.cursorCommit(new Map(stretch.contracts.map(({ contractId }) => [contractId, next]))),
      );
    }
    const hashes = [...value.hashes, [last.number, last.hash] as const].slice(-HASHES_MAX);
    return mergeCommits(
      records.moveCommit(checkpoint, { ...value, next_block: stretch.to + 1, hashes }),
      records.settleCommit(last.number - REORG_BLOCKS_MAX),
    );
  }
}

/** Whether a block that was looked through is the head or the one below it; of older ones the head does not tell. */
function isPartOf(head: BlockHead, [number, hash]: readonly [number, string]): boolean {
  return number === head.number ? hash === head.hash : number + 1 === head.number && hash === head.parentHash;
}

function draftOf(log: PublishedLog, payload: StoreValue): EventDraft {
  const [subject = "", ...also] = log.subjects;
  return { subject, also, payload, audience: [log.owner] };
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
 * A place of its own for what latecomers publish of a block that was looked through before: named by where they came
 * from.
 */
function recentPart({ isMain, contracts }: Stretch, part: number): string {
  return isMain ? `main.${String(part)}` : `${contracts[0]?.contractId ?? ""}.${String(part)}`;
}
