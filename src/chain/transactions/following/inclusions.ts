/** What a block does to a transaction, and what its loss does: the records' side of the watch. */
import { isoTimestamp } from "../../../platform/clock.js";
import { requestMany, resultOf } from "../../rpc/rpc-batch.js";
import { RpcRefusal } from "../../rpc/rpc.js";
import type { QueuedTransaction } from "../sending/queued-transaction.js";
import type { NonceQueue } from "../sending/nonce-queue.js";
import type { TransactionWriter } from "../transaction-writer.js";
import { readBlock, type BlockHead, type Receipt } from "../node-values.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import { withoutRaw, type TransactionFault, type TransactionRecord } from "../transaction-record.js";
import { revertReason } from "../sending/refusals.js";

export interface InclusionsDependencies {
  readonly ledger: TransactionWriter;
  readonly laneOf: (entry: QueuedTransaction) => NonceQueue | undefined;
  /** Called when a transaction is final. */
  readonly onFinal: (entry: QueuedTransaction) => void;
}

/** Commits that are handed to the writer together; it groups them, and its queue takes a thousand. */
const COMMITS_AT_ONCE = 128;
/** Block times asked for in one round: on a chain with a block for each transaction the rest goes without. */
const BLOCK_TIMES_MAX = 64;

export class Inclusions {
  readonly #dependencies: InclusionsDependencies;

  constructor(dependencies: InclusionsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Transactions whose receipts were found in blocks up to the head. */
  async include(
    network: TransactionNetwork,
    head: BlockHead,
    found: readonly (readonly [QueuedTransaction, Receipt])[],
  ): Promise<void> {
    const times = await blockTimes(
      network,
      head,
      found.map(([, receipt]) => receipt.blockNumber),
    );
    await inGroups(found, async ([entry, receipt]) => {
      const found = this.#dependencies.ledger.find(entry.owner, entry.id);
      const fault = found === undefined || receipt.isSuccess ? null : await failureOf(network, found.value, receipt);
      const isFinal = isDeep(network, head, receipt.blockNumber);
      const stored = await this.#dependencies.ledger.change(
        entry.owner,
        entry.id,
        (current) =>
          this.#included(current, receipt, {
            fault,
            isFinal,
            timestamp: times.get(receipt.blockNumber) ?? null,
            broadcastAt: entry.broadcastAt,
          }),
        found,
      );
      if (stored === undefined) return;
      entry.phase = "included";
      entry.block = { number: receipt.blockNumber, hash: receipt.blockHash };
      if (isFinal) this.#final(entry);
    });
  }

  /** Transactions with enough blocks on top of them. */
  async confirm(network: TransactionNetwork, head: BlockHead, entries: readonly QueuedTransaction[]): Promise<void> {
    const { ledger } = this.#dependencies;
    await inGroups(
      entries.filter(({ block }) => block !== undefined && isDeep(network, head, block.number)),
      async (entry) => {
        const stored = await ledger.change(entry.owner, entry.id, (record) =>
          record.watched && record.block !== null ? confirmed(record, ledger.now()) : undefined,
        );
        if (stored !== undefined) this.#final(entry);
      },
    );
  }

  /** Transactions whose block is gone: they are on their way again. */
  async drop(entries: readonly QueuedTransaction[]): Promise<void> {
    await inGroups(entries, async (entry) => {
      const stored = await this.#dependencies.ledger.change(entry.owner, entry.id, (record) =>
        record.watched ? { ...record, state: "sent", ...NOT_IN_A_BLOCK } : undefined,
      );
      if (stored === undefined) return;
      entry.phase = "sent";
      entry.block = undefined;
    });
  }

  /** Transactions whose nonce the chain has used for something that is not theirs. */
  async replace(entries: readonly QueuedTransaction[]): Promise<void> {
    const fault = { code: "transaction_replaced", message: "another transaction with the same nonce was mined" };
    await inGroups(entries, async (entry) => {
      await this.#dependencies.ledger.fail(entry.owner, entry.id, fault, "replaced");
      this.#final(entry);
    });
  }

  #included(
    record: TransactionRecord,
    receipt: Receipt,
    more: {
      readonly fault: TransactionFault | null;
      readonly isFinal: boolean;
      readonly timestamp: string | null;
      readonly broadcastAt: string | undefined;
    },
  ): TransactionRecord | undefined {
    const attempt = record.attempts.find(({ hash }) => hash === receipt.transactionHash);
    if (!record.watched || attempt === undefined) return undefined;
    const isCancelled = attempt.kind === "cancel";
    const now = this.#dependencies.ledger.now();
    const included: TransactionRecord = {
      ...record,
      state: isCancelled ? "cancelled" : receipt.isSuccess ? "mined" : "failed",
      hash: receipt.transactionHash,
      error: isCancelled ? null : more.fault,
      block: receipt.blockNumber,
      block_hash: receipt.blockHash,
      block_timestamp: more.timestamp,
      gas_used: String(receipt.gasUsed),
      effective_gas_price: receipt.effectiveGasPrice === undefined ? null : String(receipt.effectiveGasPrice),
      contract_address: receipt.contractAddress ?? null,
      broadcast_at: record.broadcast_at ?? more.broadcastAt ?? now,
      finalized_at: now,
    };
    return more.isFinal ? confirmed(included, now) : included;
  }

  #final(entry: QueuedTransaction): void {
    this.#dependencies.laneOf(entry)?.release(entry, { isUsed: true });
    this.#dependencies.onFinal(entry);
  }
}

const NOT_IN_A_BLOCK = {
  error: null,
  block: null,
  block_hash: null,
  block_timestamp: null,
  gas_used: null,
  effective_gas_price: null,
  contract_address: null,
  finalized_at: null,
} as const;
/** With the gas used up to the last unit there is nothing else to say. */
const OUT_OF_GAS: TransactionFault = { code: "out_of_gas", message: "the transaction ran out of gas" };

function confirmed(record: TransactionRecord, now: string): TransactionRecord {
  return {
    ...record,
    state: record.state === "mined" ? "confirmed" : record.state,
    confirmed_at: now,
    watched: false,
    attempts: withoutRaw(record.attempts),
  };
}

function isDeep(network: TransactionNetwork, head: BlockHead, block: number): boolean {
  return head.number - block + 1 >= network.confirmations;
}

/** Why a mined transaction failed: the call repeated on its block, which has the reason that receipts lack. */
async function failureOf(
  { rpc }: TransactionNetwork,
  record: TransactionRecord,
  receipt: Receipt,
): Promise<TransactionFault> {
  if (receipt.gasUsed >= BigInt(record.gas)) return OUT_OF_GAS;
  const call = {
    from: record.from,
    ...(record.to === null ? {} : { to: record.to }),
    data: record.data,
    value: `0x${BigInt(record.value).toString(16)}`,
    gas: `0x${BigInt(record.gas).toString(16)}`,
  };
  const reason = await rpc.request("eth_call", [call, `0x${Math.max(0, receipt.blockNumber - 1).toString(16)}`]).then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof RpcRefusal)) return undefined;
      return revertReason(error.data) ?? /revert(?:ed)?: (.{1,200})/i.exec(error.message)?.[1];
    },
  );
  return {
    code: "execution_reverted",
    message: reason === undefined ? "the transaction reverted" : `the transaction reverted: ${reason}`,
  };
}

async function blockTimes(
  { rpc }: TransactionNetwork,
  head: BlockHead,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const times = new Map([[head.number, isoTimestamp(head.timestampSec * 1000)]]);
  const others = [...new Set(numbers)].filter((number) => number !== head.number).slice(0, BLOCK_TIMES_MAX);
  const answers = await requestMany(
    rpc,
    others.map((number) => ({ method: "eth_getBlockByNumber", params: [`0x${number.toString(16)}`, false] })),
  );
  for (const [at, number] of others.entries()) {
    const block = readBlock(resultOf(answers[at]));
    if (block !== undefined) times.set(number, isoTimestamp(block.timestampSec * 1000));
  }
  return times;
}

async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += COMMITS_AT_ONCE)
    await Promise.all(items.slice(from, from + COMMITS_AT_ONCE).map(work));
}
