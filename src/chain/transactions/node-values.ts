/**
 * Reads the answers of nodes (Ethereum JSON-RPC) strictly: a member of another form is `network_answer_invalid`, never
 * a guess. The parameter `what` names the member in the message.
 */
import { AppError } from "../../platform/errors.js";

const QUANTITY = /^0x[0-9a-f]{1,64}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

export interface BlockHead {
  readonly number: number;
  readonly hash: string;
  readonly timestampSec: number;
  /** Absent before EIP-1559. */
  readonly baseFeePerGas: bigint | undefined;
  /** Absent where the node does not tell it, or tells 0. */
  readonly gasLimit?: bigint;
}

export interface Receipt {
  readonly transactionHash: string;
  readonly blockHash: string;
  readonly blockNumber: number;
  readonly isSuccess: boolean;
  readonly contractAddress: string | undefined;
  readonly gasUsed: bigint;
  readonly effectiveGasPrice: bigint | undefined;
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
