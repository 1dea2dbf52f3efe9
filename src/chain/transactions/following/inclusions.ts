/** Records what blocks mean for transactions: inclusion, confirmation, reorganisation and replacement. */
import { isoTimestamp } from "../../../platform/clock.js";
import { requestMany, resultOf } from "../../rpc/rpc-batch.js";
import { RpcRefusal } from "../../rpc/rpc.js";
import { dropFromBlock, include, type QueuedTransaction } from "../sending/queued-transaction.js";
import type { NonceQueue } from "../sending/nonce-queue.js";
import type { TransactionWriter } from "../transaction-writer.js";
import { readBlock, type BlockHead, type Receipt } from "../node-values.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import { storedReceipt } from "../receipts.js";
import { withoutRaw, type TransactionFault, type TransactionRecord } from "../transaction-record.js";
import { revertReason } from "../sending/refusals.js";

export interface InclusionsDependencies {
  readonly writer: TransactionWriter;
  readonly queueOf: (queued: QueuedTransaction) => NonceQueue | undefined;
  /** Called when a transaction is final. */
  readonly onFinal: (queued: QueuedTransaction) => void;
}

/** Commits that are handed to the writer together; it groups them, and its queue takes a thousand. */
const COMMITS_AT_ONCE = 128;
/** Block times asked for in one round: on a chain with a block for each transaction the others get none. */
const BLOCK_TIMES_MAX = 64;

/** Why a mined transaction failed, with the return data that says so, 0x-hex, where there is any. */
interface Failure {
  readonly fault: TransactionFault;
  readonly data?: string | undefined;
}

export class Inclusions {
  readonly #dependencies: InclusionsDependencies;

  constructor(dependencies: InclusionsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Records transactions whose receipts were found in blocks up to the head. */
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
    await inGroups(found, async ([queued, receipt]) => {
      const before = this.#dependencies.writer.find(queued.owner, queued.id);
      const failure =
        before === undefined || receipt.isSuccess ? undefined : await failureOf(network, before.value, receipt);
      const isFinal = isDeep(network, head, receipt.blockNumber);
      const stored = await this.#dependencies.writer.change(
        queued.owner,
        queued.id,
        (current) =>
          this.#included(current, receipt, {
            failure,
            isFinal,
            timestamp: times.get(receipt.blockNumber) ?? null,
            broadcastAt: queued.state.broadcastAt,
          }),
        before,
      );
      if (stored === undefined) return;
      queued.state = include(queued.state, { number: receipt.blockNumber, hash: receipt.blockHash });
      if (isFinal) this.#end(queued);
    });
  }

  /** Records those of the transactions in blocks that have enough blocks on top of them. */
  async confirm(
    network: TransactionNetwork,
    head: BlockHead,
    transactions: readonly QueuedTransaction[],
  ): Promise<void> {
    const { writer } = this.#dependencies;
    await inGroups(
      transactions.filter(({ state }) => state.phase === "included" && isDeep(network, head, state.block.number)),
      async (queued) => {
        const stored = await writer.change(queued.owner, queued.id, (record) =>
          record.watched && record.block !== null ? confirmed(record, writer.now()) : undefined,
        );
        if (stored !== undefined) this.#end(queued);
      },
    );
  }

  /**
   * Records that the transactions are in no block any more: their block is no longer part of the chain.
   * @param options.resendMs how long the pool is trusted to have them again before it is asked
   */
  async drop(
    transactions: readonly QueuedTransaction[],
    options: { readonly nowMs: number; readonly resendMs: number },
  ): Promise<void> {
    await inGroups(transactions, async (queued) => {
      const stored = await this.#dependencies.writer.change(queued.owner, queued.id, (record) =>
        record.watched ? { ...record, state: "sent", ...NOT_IN_A_BLOCK } : undefined,
      );
      if (stored !== undefined) queued.state = dropFromBlock(queued.state, options);
    });
  }

  /** Ends transactions whose nonce the chain has used for another transaction. */
  async replace(transactions: readonly QueuedTransaction[]): Promise<void> {
    const fault = { code: "transaction_replaced", message: "another transaction with the same nonce was mined" };
    await inGroups(transactions, async (queued) => {
      await this.#dependencies.writer.fail(queued.owner, queued.id, fault, { state: "replaced" });
      this.#end(queued);
    });
  }

  #included(
    record: TransactionRecord,
    receipt: Receipt,
    more: {
      readonly failure: Failure | undefined;
      readonly isFinal: boolean;
      readonly timestamp: string | null;
      readonly broadcastAt: string | undefined;
    },
  ): TransactionRecord | undefined {
    const attempt = record.attempts.find(({ hash }) => hash === receipt.transactionHash);
    if (!record.watched || attempt === undefined) return undefined;
    const isCancelled = attempt.kind === "cancel";
    const now = this.#dependencies.writer.now();
    const included: TransactionRecord = {
      ...record,
      state: isCancelled ? "cancelled" : receipt.isSuccess ? "mined" : "failed",
      hash: receipt.transactionHash,
      error: isCancelled ? null : (more.failure?.fault ?? null),
      block: receipt.blockNumber,
      block_hash: receipt.blockHash,
      block_timestamp: more.timestamp,
      gas_used: String(receipt.gasUsed),
      effective_gas_price: receipt.effectiveGasPrice === undefined ? null : String(receipt.effectiveGasPrice),
      contract_address: receipt.contractAddress ?? null,
      receipt: storedReceipt(receipt, more.failure?.data),
      broadcast_at: record.broadcast_at ?? more.broadcastAt ?? now,
      finalized_at: now,
    };
    return more.isFinal ? confirmed(included, now) : included;
  }

  #end(queued: QueuedTransaction): void {
    this.#dependencies.queueOf(queued)?.release(queued, { isUsed: true });
    this.#dependencies.onFinal(queued);
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
  receipt: null,
  finalized_at: null,
} as const;
/** A transaction that used all of its gas ran out of it; the call need not be repeated. */
const OUT_OF_GAS: TransactionFault = { code: "out_of_gas", message: "the transaction ran out of gas" };

function confirmed(record: TransactionRecord, now: string): TransactionRecord {
  return {
    ...record,
    state: record.state === "mined" ? "confirmed" : record.state,
    confirmed_at: now,
    watched: false,
    holds_nonce: false,
    attempts: withoutRaw(record.attempts),
  };
}

function isDeep(network: TransactionNetwork, head: BlockHead, block: number): boolean {
  return head.number - block + 1 >= network.confirmations;
}

/** Why a mined transaction failed: receipts have no reason, so that the call is repeated on the block before. */
async function failureOf({ rpc }: TransactionNetwork, record: TransactionRecord, receipt: Receipt): Promise<Failure> {
  if (receipt.gasUsed >= BigInt(record.gas)) return { fault: OUT_OF_GAS };
  const call = {
    from: record.from,
    ...(record.to === null ? {} : { to: record.to }),
    data: record.data,
    value: `0x${BigInt(record.value).toString(16)}`,
    gas: `0x${BigInt(record.gas).toString(16)}`,
  };
  const refusal = await rpc.request("eth_call", [call, `0x${Math.max(0, receipt.blockNumber - 1).toString(16)}`]).then(
    () => undefined,
    (error: unknown) => (error instanceof RpcRefusal ? error : undefined),
  );
  const reason = revertReason(refusal?.data) ?? /revert(?:ed)?: (.{1,200})/i.exec(refusal?.message ?? "")?.[1];
  const message = reason === undefined ? "the transaction reverted" : `the transaction reverted: ${reason}`;
  return { fault: { code: "execution_reverted", message }, data: refusal?.data };
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
