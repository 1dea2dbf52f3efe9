/**
 * What the follower asks a node. Every member of an answer is checked, and an answer to another question than the one
 * that was asked is refused.
 */
import { isHash, isHex, type Hex } from "../hex.js";
import { AppError } from "../../platform/errors.js";
import { requestMany, resultOf } from "../rpc/rpc-batch.js";
import type { Rpc } from "../rpc/rpc.js";
import type { ChainLog } from "./log-decoding.js";

export interface BlockHead {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  /** Unix seconds. */
  readonly timestamp: number;
}

/** Logs of one answer; a node that sends more is asked for fewer blocks. */
const LOGS_MAX = 20_000;
const TOPICS_MAX = 4;
const QUANTITY = /^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,12})$/;

/** Returns the newest block. */
export async function newestHead(rpc: Rpc): Promise<BlockHead> {
  return readHead(await rpc.request("eth_getBlockByNumber", ["latest", false]));
}

/** Returns a block by its number; undefined when the node has no such block. */
export async function blockHead(rpc: Rpc, number: number): Promise<BlockHead | undefined> {
  const answer = await rpc.request("eth_getBlockByNumber", [hex(number), false]);
  if (answer === null) return undefined;
  const head = readHead(answer);
  if (head.number !== number) throw unsuitable();
  return head;
}

/**
 * Returns the logs of some addresses over a range of blocks, in the chain's order.
 * @param addresses lower case
 */
export async function fetchLogs(
  rpc: Rpc,
  addresses: readonly string[],
  range: { readonly from: number; readonly to: number },
): Promise<ChainLog[]> {
  const answer = await rpc.request("eth_getLogs", [
    { address: addresses, fromBlock: hex(range.from), toBlock: hex(range.to) },
  ]);
  if (!Array.isArray(answer) || answer.length > LOGS_MAX) throw unsuitable();
  const requested = new Set(addresses);
  const logs = (answer as readonly unknown[]).map(readLog);
  if (!logs.every((log) => requested.has(log.address) && log.blockNumber >= range.from && log.blockNumber <= range.to))
    throw unsuitable();
  return logs.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

/** Returns the senders of transactions by hash, as the node writes them; none for those that it does not know. */
export async function fetchSenders(rpc: Rpc, hashes: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const distinct = [...new Set(hashes)];
  const answers = (
    await requestMany(
      rpc,
      distinct.map((hash) => ({ method: "eth_getTransactionByHash", params: [hash] })),
    )
  ).map(resultOf);
  return new Map(
    distinct.flatMap((hash, at): [string, string][] =>
      answers[at] === null ? [] : [[hash, text(objectOf(answers[at]).from)]],
    ),
  );
}

/** Returns the first block that is not older than a time, found by bisection; one past the head when all are older. */
export async function blockSince(rpc: Rpc, sinceSec: number, head: number): Promise<number> {
  let low = 0;
  let high = head + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const block = await blockHead(rpc, middle);
    // A node that keeps only recent blocks counts as having no older ones.
    if (block === undefined || block.timestamp < sinceSec) low = middle + 1;
    else high = middle;
  }
  return low;
}

function readHead(value: unknown): BlockHead {
  const { number, hash, parentHash, timestamp } = objectOf(value);
  if (!isHash(text(hash)) || !isHash(text(parentHash))) throw unsuitable();
  return {
    number: quantity(number),
    hash: text(hash).toLowerCase(),
    parentHash: text(parentHash).toLowerCase(),
    timestamp: quantity(timestamp),
  };
}

function readLog(value: unknown): ChainLog {
  const { address, topics, data, blockNumber: number, blockHash, logIndex, transactionHash, removed } = objectOf(value);
  if (
    !Array.isArray(topics) ||
    topics.length > TOPICS_MAX ||
    !topics.every((topic): topic is Hex => typeof topic === "string" && isHash(topic))
  )
    throw unsuitable();
  const bytes = text(data);
  if (
    removed === true ||
    !isHex(bytes) ||
    !isHash(text(blockHash)) ||
    !isHash(text(transactionHash)) ||
    !/^0x[0-9a-fA-F]{40}$/.test(text(address))
  )
    throw unsuitable();
  return {
    address: text(address).toLowerCase(),
    topics: topics.map((topic) => topic.toLowerCase() as Hex),
    data: bytes,
    blockNumber: quantity(number),
    blockHash: text(blockHash).toLowerCase(),
    logIndex: quantity(logIndex),
    transactionHash: text(transactionHash).toLowerCase(),
  };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) throw unsuitable();
  return value as Readonly<Record<string, unknown>>;
}

function text(value: unknown): string {
  if (typeof value !== "string") throw unsuitable();
  return value;
}

function quantity(value: unknown): number {
  if (typeof value !== "string" || !QUANTITY.test(value)) throw unsuitable();
  return Number(value);
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}

function unsuitable(): AppError {
  return new AppError("network_answer_invalid", {
    message: "the network's node gave an answer that does not fit the question",
  });
}
