/**
 * Reads the answers of nodes (Ethereum JSON-RPC) strictly: a member of another form is `network_answer_invalid`, never
 * a guess. The parameter `what` names the member in the message.
 */
import { AppError } from "../../platform/errors.js";
import { LOG_BYTES_MAX, LOGS_MAX } from "./transaction-schemas.js";

const QUANTITY = /^0x[0-9a-f]{1,64}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const BYTES = /^0x(?:[0-9a-f]{2})*$/i;
const TOPICS_MAX = 4;

export interface BlockHead {
  readonly number: number;
  readonly hash: string;
  readonly timestampSec: number;
  /** Absent before EIP-1559. */
  readonly baseFeePerGas: bigint | undefined;
  /** Absent where the node does not tell it, or tells 0. */
  readonly gasLimit?: bigint;
}

/** A type and not an interface, because only types are values of the store. Hex in lower case. */
export type ReceiptLog = {
  /** Position among the logs of the block. */
  readonly index: number;
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
};

export interface ReceiptLogs {
  /** The first ones, up to LOGS_MAX and LOG_BYTES_MAX of data. */
  readonly first: readonly ReceiptLog[];
  /** How many the receipt has. */
  readonly count: number;
}

export interface Receipt {
  readonly transactionHash: string;
  readonly blockHash: string;
  readonly blockNumber: number;
  readonly isSuccess: boolean;
  readonly contractAddress: string | undefined;
  readonly gasUsed: bigint;
  readonly effectiveGasPrice: bigint | undefined;
  /** Undefined where the node tells none, or none that are sound: the outcome does not hang on them. */
  readonly logs: ReceiptLogs | undefined;
}

/** Reads a quantity of up to 256 bits, 0x-hex. */
export function readHexQuantity(value: unknown, what: string): bigint {
  if (typeof value === "string" && QUANTITY.test(value)) return BigInt(value);
  throw invalid(what);
}

/** Reads a quantity that is a safe integer: a block number, a nonce, seconds. */
export function readInteger(value: unknown, what: string): number {
  const number = Number(readHexQuantity(value, what));
  if (!Number.isSafeInteger(number)) throw invalid(what);
  return number;
}

/** Reads a block without its transactions; undefined when the node has no such block. */
export function readBlock(value: unknown): BlockHead | undefined {
  if (value === null || value === undefined) return undefined;
  const { number, hash, timestamp, baseFeePerGas, gasLimit } = membersOf(value, "block");
  const limit = gasLimit === undefined || gasLimit === null ? 0n : readHexQuantity(gasLimit, "gas limit");
  return {
    number: readInteger(number, "block number"),
    hash: readHash(hash, "block hash"),
    timestampSec: readInteger(timestamp, "block time"),
    baseFeePerGas:
      baseFeePerGas === undefined || baseFeePerGas === null ? undefined : readHexQuantity(baseFeePerGas, "base fee"),
    ...(limit === 0n ? {} : { gasLimit: limit }),
  };
}

/**
 * Reads a receipt; undefined when the node has none. Throws for the receipt of another transaction.
 * @param hash the transaction's, lower case
 */
export function readReceipt(value: unknown, hash: string): Receipt | undefined {
  if (value === null || value === undefined) return undefined;
  const members = membersOf(value, "receipt");
  const transactionHash = readHash(members.transactionHash, "transaction hash");
  if (transactionHash !== hash) throw invalid("receipt");
  const { contractAddress, effectiveGasPrice } = members;
  return {
    transactionHash,
    blockHash: readHash(members.blockHash, "block hash"),
    blockNumber: readInteger(members.blockNumber, "block number"),
    isSuccess: readHexQuantity(members.status, "status") === 1n,
    contractAddress: typeof contractAddress === "string" && ADDRESS.test(contractAddress) ? contractAddress : undefined,
    gasUsed: readHexQuantity(members.gasUsed, "gas used"),
    effectiveGasPrice:
      effectiveGasPrice === undefined || effectiveGasPrice === null
        ? undefined
        : readHexQuantity(effectiveGasPrice, "gas price"),
    logs: readLogs(members.logs),
  };
}

/**
 * Returns true for the transaction of this hash; false when the node has none. Throws for another transaction.
 * @param hash lower case
 */
export function isTransaction(value: unknown, hash: string): boolean {
  if (value === null || value === undefined) return false;
  if (readHash(membersOf(value, "transaction").hash, "transaction hash") !== hash) throw invalid("transaction");
  return true;
}

/** In the outline of an answer a list is the number of its items. */
function readLogs(value: unknown): ReceiptLogs | undefined {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return { first: [], count: value };
  if (!Array.isArray(value)) return undefined;
  const first: ReceiptLog[] = [];
  let room = LOG_BYTES_MAX;
  for (const item of value.slice(0, LOGS_MAX) as unknown[]) {
    const log = readLog(item);
    if (log === undefined) return undefined;
    room -= (log.data.length - 2) / 2;
    if (room < 0) break;
    first.push(log);
  }
  return { first, count: value.length };
}

function readLog(value: unknown): ReceiptLog | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { address, topics, data, logIndex } = value as Readonly<Record<string, unknown>>;
  const isSound =
    Array.isArray(topics) &&
    topics.length <= TOPICS_MAX &&
    topics.every((topic): topic is string => typeof topic === "string" && HASH.test(topic));
  if (!isSound || typeof address !== "string" || !ADDRESS.test(address)) return undefined;
  if (typeof data !== "string" || !BYTES.test(data)) return undefined;
  const index = typeof logIndex === "string" && QUANTITY.test(logIndex) ? Number(logIndex) : NaN;
  if (!Number.isSafeInteger(index)) return undefined;
  return {
    index,
    address: address.toLowerCase(),
    topics: topics.map((topic) => topic.toLowerCase()),
    data: data.toLowerCase(),
  };
}

/** A 32-byte hash in lower case. */
function readHash(value: unknown, what: string): string {
  if (typeof value === "string" && HASH.test(value)) return value.toLowerCase();
  throw invalid(what);
}

function membersOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) throw invalid(what);
  return value as Readonly<Record<string, unknown>>;
}

function invalid(what: string): AppError {
  return new AppError("network_answer_invalid", { message: `the node's answer has no sound ${what}` });
}
