/** Blocks from nodes (Ethereum JSON-RPC): checked before they are used, and listed from the newest down. */
import { AppError } from "../../../platform/errors.js";
import type { Page } from "../../../platform/store/tables.js";
import { askNode } from "../../rpc/node-faults.js";
import type { Rpc } from "../../rpc/rpc.js";
import type { BlockJson } from "../network-schemas.js";

const HASH = /^0x[0-9a-f]{64}$/i;
/** At most 2^52 - 1, so that a double holds it exactly. */
const SMALL = /^0x[0-9a-f]{1,13}$/i;
const LARGE = /^0x[0-9a-f]{1,64}$/i;
/** The last second that a Date can hold. */
const SECONDS_MAX = 8_640_000_000_000;

/** Reads a block of a node's answer. Throws `network_answer_invalid` for any other value. */
export function readBlock(value: unknown): BlockJson {
  if (typeof value !== "object" || value === null) throw invalid();
  const { number, hash, parentHash, timestamp, miner, gasUsed, gasLimit, baseFeePerGas, transactions } =
    value as Record<string, unknown>;
  const seconds = read(timestamp, SMALL);
  if (Number(seconds) > SECONDS_MAX || !Array.isArray(transactions)) throw invalid();
  return {
    number: Number(read(number, SMALL)),
    hash: read(hash, HASH),
    parent_hash: read(parentHash, HASH),
    timestamp: new Date(Number(seconds) * 1000).toISOString(),
    miner: typeof miner === "string" && /^0x[0-9a-f]{40}$/i.test(miner) ? miner : null,
    gas_used: String(BigInt(read(gasUsed, LARGE))),
    gas_limit: String(BigInt(read(gasLimit, LARGE))),
    base_fee_per_gas:
      baseFeePerGas === undefined || baseFeePerGas === null ? null : String(BigInt(read(baseFeePerGas, LARGE))),
    transaction_count: transactions.length,
  };
}

/** Returns one page of blocks, the newest first; the total is the number of blocks on the chain. */
export async function listBlocks(
  rpc: Rpc,
  { page, rpp }: Page,
  signal: AbortSignal,
): Promise<{ body: BlockJson[]; total: number }> {
  const height = Number(read(await askNode(rpc, "eth_blockNumber", [], { signal }), SMALL));
  const first = height - (page - 1) * rpp;
  const numbers = Array.from({ length: Math.max(0, Math.min(rpp, first + 1)) }, (_none, at) => first - at);
  const body = await Promise.all(
    numbers.map(async (number) =>
      readBlock(await askNode(rpc, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false], { signal })),
    ),
  );
  return { body, total: height + 1 };
}

function read(value: unknown, pattern: RegExp): string {
  if (typeof value !== "string" || !pattern.test(value)) throw invalid();
  return value;
}

function invalid(): AppError {
  return new AppError("network_answer_invalid", { message: "the node's answer is no block" });
}
