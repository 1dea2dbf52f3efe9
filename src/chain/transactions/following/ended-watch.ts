/**
 * Looks for transactions that ended without a block although their bytes were signed. A node may have taken bytes that
 * it, or another behind the same URL, refused: the record then follows the chain. A transaction is looked for until the
 * chain has used its nonce for another one and that block is final, or for a month: then it is in no pool any more.
 * What is looked for is in the store and read a page a turn; memory has only since when a nonce was seen to be used,
 * which is found again after a restart.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { StoreKey } from "../../../platform/store/store.js";
import { requestMany, resultOf } from "../../rpc/rpc-batch.js";
import { RpcRefusal, type RpcCall, type RpcOptions } from "../../rpc/rpc.js";
import { readInteger } from "../node-values.js";
import type { TransactionNetwork, TransactionNetworks } from "../transaction-ports.js";
import { ownerOf, type TransactionRecord } from "../transaction-record.js";
import type { RepeatableTransaction, TransactionRepository } from "../transaction-repository.js";
import type { TransactionWriter } from "../transaction-writer.js";
import type { ReceiptAnswer, ReceiptReader } from "./receipt-reader.js";

export interface EndedWatchOptions {
  /** Pause before the first look after a transaction has ended; doubles from look to look. */
  readonly pauseMs: number;
}

export interface EndedWatchDependencies {
  readonly repository: TransactionRepository;
  readonly writer: TransactionWriter;
  readonly networks: TransactionNetworks;
  readonly receipts: ReceiptReader;
  readonly rpcOptions: RpcOptions;
  readonly clock: Clock;
  readonly isStopped: () => boolean;
  /** Called with the record of a transaction that a block has; it is open again. */
  readonly onFound: (record: TransactionRecord) => void;
  /** Called when a look failed for another reason than its node. */
  readonly onFailure: (error: unknown) => void;
}

/** Longest pause: what was refused is rarely mined, and an account may never use the nonce. */
const PAUSE_MAX_MS = 300_000;
/** Looked for in one turn, so that neither memory nor the event loop is full of them. */
const PAGE = 100;
/** After its last signature. Pools drop what they cannot mine within hours or days. */
const AGE_MAX_MS = 30 * 24 * 60 * 60 * 1_000;
const USED_MAX = 10_000;

/** What a look needs of a record: not its data, which can be long. */
type Ended = Pick<TransactionRecord, keyof RepeatableTransaction | "nonce">;

export class EndedWatch {
  readonly #options: EndedWatchOptions;
  readonly #dependencies: EndedWatchDependencies;
  /** The newest block when the nonce was first seen to be used, by the transaction's id. */
  readonly #usedSince = new LRUCache<string, number>({ max: USED_MAX });
  #pauseMs: number;
  /** How far the present pass has come; undefined between two. */
  #after: StoreKey | undefined;
  /** Monotonic. */
  #dueAtMs = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: EndedWatchOptions, dependencies: EndedWatchDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#pauseMs = options.pauseMs;
  }

  /** Begins to look, soon; to be called at start and when a transaction has ended. A look that is due sooner stays. */
  wake(): void {
    this.#pauseMs = this.#options.pauseMs;
    if (this.#dueAtMs > this.#dependencies.clock.monotonicMs() + this.#pauseMs) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#schedule();
  }

  /** Begins nothing any more; resolves when the present look has ended. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #schedule(): void {
    const { repository, isStopped } = this.#dependencies;
    if (isStopped() || this.#looking !== undefined || this.#timer !== undefined || !repository.hasUnsettled()) return;
    const isMidway = this.#after !== undefined;
    const pauseMs = isMidway ? this.#options.pauseMs : this.#pauseMs;
    this.#dueAtMs = this.#dependencies.clock.monotonicMs() + pauseMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined;
        this.#schedule();
      });
    }, pauseMs);
    this.#timer.unref();
    if (!isMidway) this.#pauseMs = Math.min(PAUSE_MAX_MS, this.#pauseMs * 2);
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    try {
      await Promise.all(
        [...groups(this.#nextPage()).values()].map(async (records) => {
          await this.#lookOn(records).catch((error: unknown) => {
            this.#report(error);
          });
        }),
      );
    } catch (error) {
      this.#report(error);
    }
  }

  #nextPage(): Ended[] {
    const { rows, next } = this.#dependencies.repository.unsettled({ after: this.#after, limit: PAGE });
    this.#after = next;
    return rows.map(endedOf);
  }

  /** A node that does not answer now does so at a later look. */
  #report(error: unknown): void {
    const isOfNode = error instanceof AppError || error instanceof RpcRefusal;
    if (!isOfNode && !this.#dependencies.isStopped()) this.#dependencies.onFailure(error);
  }

  /** @param all transactions of one owner on one network */
  async #lookOn(all: readonly Ended[]): Promise<void> {
    const oldestMs = this.#dependencies.clock.nowMs() - AGE_MAX_MS;
    const isOld = ({ attempts }: Ended): boolean => Date.parse(attempts.at(-1)?.signed_at ?? "") < oldestMs;
    for (const record of all.filter(isOld)) await this.#end(record);
    const records = all.filter((record) => !isOld(record));
    if (records.length === 0) return;
    const network = this.#networkOf(records);
    if (network === undefined) {
      for (const record of records) await this.#end(record);
      return;
    }
    const head = readInteger(await network.rpc.request("eth_blockNumber", [], this.#dependencies.rpcOptions), "block");
    const accounts = [...new Set(records.map(({ from }) => from))];
    const answers = await this.#ask(
      network,
      accounts.map((from) => ({ method: "eth_getTransactionCount", params: [from, "latest"] })),
    );
    const counts = new Map(accounts.map((from, at) => [from, readInteger(answers[at], "nonce")]));
    const isUsed = ({ from, nonce }: Ended): boolean => (nonce ?? Infinity) < (counts.get(from) ?? 0);
    for (const { id } of records.filter((record) => !isUsed(record))) this.#usedSince.delete(id);
    const used = records.filter(isUsed);
    const { mined, unknown } = await this.#mined(network, used);
    for (const record of used.filter((each) => !unknown.has(each))) {
      // The bytes of a transfer that was submitted again are those of the first, and belong to the second by now.
      const isFound = mined.has(record);
      if (isFound && !this.#dependencies.repository.isRepeated(record)) await this.#reopen(record);
      else if (isFound || head - this.#sinceOf(record, head) >= network.confirmations) await this.#end(record);
    }
  }

  /** Undefined when the network was deleted. */
  #networkOf([first]: readonly Ended[]): TransactionNetwork | undefined {
    try {
      return first === undefined ? undefined : this.#dependencies.networks.find(ownerOf(first), first.network_id);
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  /** Those of which the node has a receipt, and those of which that is not known now. */
  async #mined(
    network: TransactionNetwork,
    records: readonly Ended[],
  ): Promise<{ readonly mined: ReadonlySet<Ended>; readonly unknown: ReadonlySet<Ended> }> {
    const asked = records.flatMap((record) => record.attempts.map(({ hash }) => ({ record, hash })));
    const answers = await this.#dependencies.receipts.read(
      network,
      asked.map(({ hash }) => hash),
    );
    const those = (isMeant: (answer: ReceiptAnswer | undefined) => boolean): Set<Ended> =>
      new Set(asked.filter((_, at) => isMeant(answers[at])).map(({ record }) => record));
    const mined = those((answer) => typeof answer === "object");
    const unknown = those((answer) => answer === "unknown");
    for (const record of mined) unknown.delete(record);
    return { mined, unknown };
  }

  async #ask({ rpc }: TransactionNetwork, calls: readonly RpcCall[]): Promise<unknown[]> {
    return (await requestMany(rpc, calls, this.#dependencies.rpcOptions)).map(resultOf);
  }

  #sinceOf({ id }: Ended, head: number): number {
    const since = this.#usedSince.get(id) ?? head;
    this.#usedSince.set(id, since);
    return since;
  }

  /** The transaction is followed like an open one; the block that has it is recorded by that. */
  async #reopen(record: Ended): Promise<void> {
    this.#usedSince.delete(record.id);
    const { writer, onFound } = this.#dependencies;
    const reopened = await writer.change(ownerOf(record), record.id, ({ may_be_mined: mayBeMined, ...current }) =>
      mayBeMined === true ? { ...current, watched: true } : undefined,
    );
    if (reopened !== undefined) onFound(reopened);
  }

  async #end(record: Ended): Promise<void> {
    this.#usedSince.delete(record.id);
    await this.#dependencies.writer.settle(record);
  }
}

function endedOf(record: TransactionRecord): Ended {
  const { id, created_at, owner_kind, owner_id, network_id, chain_id, from, nonce, attempts } = record;
  return { id, created_at, owner_kind, owner_id, network_id, chain_id, from, nonce, attempts };
}

/** By owner and network: one owner's node may fail, or not be its any more. */
function groups(records: readonly Ended[]): ReadonlyMap<string, readonly Ended[]> {
  const byName = new Map<string, Ended[]>();
  for (const record of records) {
    const name = `${record.owner_kind} ${record.owner_id} ${record.network_id}`;
    const present = byName.get(name);
    if (present === undefined) byName.set(name, [record]);
    else present.push(record);
  }
  return byName;
}
