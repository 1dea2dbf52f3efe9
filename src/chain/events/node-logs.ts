/**
 * What the follower asks of a node, and what it believes of the answers: every member checked, nothing that was not
 * asked for.
 */
import { isHash, isHex, type Hex } from "viem";
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

/** Of one answer; a node that sends more is asked for less. */
export const LOGS_MAX = 20_000;
const TOPICS_MAX = 4;
const QUANTITY = /^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,12})$/;

/** Head of the newest block. */
export async function newestHead(rpc: Rpc): Promise<BlockHead> {
  return readHead(await rpc.request("eth_getBlockByNumber", ["latest", false]));
}

/** A block's head; undefined when the node has no such block. */
export async function blockHead(rpc: Rpc, number: number): Promise<BlockHead | undefined> {
  const answer = await rpc.request("eth_getBlockByNumber", [hex(number), false]);
  if (answer === null) return undefined;
  const head = readHead(answer);
  if (head.number !== number) throw unsound();
  return head;
}

/** The logs of some addresses over a range of blocks, in the chain's order. */
export async function fetchLogs(
  rpc: Rpc,
  addresses: readonly string[],
  range: { readonly from: number; readonly to: number },
): Promise<ChainLog[]> {
  const answer = await rpc.request("eth_getLogs", [
    { address: addresses, fromBlock: hex(range.from), toBlock: hex(range.to) },
  ]);
  if (!Array.isArray(answer) || answer.length > LOGS_MAX) throw unsound();
  const wanted = new Set(addresses);
  const logs = (answer as readonly unknown[]).map(readLog);
  if (!logs.every((log) => wanted.has(log.address) && log.blockNumber >= range.from && log.blockNumber <= range.to))
    throw unsound();
  return logs.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

/** Senders of transactions by hash, checksummed by nobody; a transaction that the node does not know has none. */
export async function fetchSenders(rpc: Rpc, hashes: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(hashes)];
  const answers = (
    await requestMany(
      rpc,
      wanted.map((hash) => ({ method: "eth_getTransactionByHash", params: [hash] })),
    )
  ).map(resultOf);
  return new Map(
    wanted.flatMap((hash, at): [string, string][] =>
      answers[at] === null ? [] : [[hash, text(objectOf(answers[at]).from)]],
    ),
  );
}

/** The first block that is not older than a time, found by halving; one past the head when all are older. */
export async function blockSince(rpc: Rpc, sinceSec: number, head: number): Promise<number> {
  let low = 0;
  let high = head + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const block = await blockHead(rpc, middle);
    // A node that keeps recent blocks only has nothing older to tell of.
    if (block === undefined || block.timestamp < sinceSec) low = middle + 1;
    else high = middle;
  }
  return low;
}

function readHead(value: unknown): BlockHead {
  const { number, hash, parentHash, timestamp } = objectOf(value);
  if (!isHash(text(hash)) || !isHash(text(parentHash))) throw unsound();
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
    throw unsound();
  const bytes = text(data);
  if (
    removed === true ||
    !isHex(bytes) ||
    !isHash(text(blockHash)) ||
    !isHash(text(transactionHash)) ||
    !/^0x[0-9a-fA-F]{40}$/.test(text(address))
  )
    throw unsound();
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
  if (typeof value !== "object" || value === null) throw unsound();
  return value as Readonly<Record<string, unknown>>;
}

function text(value: unknown): string {
  if (typeof value !== "string") throw unsound();
  return value;
}

function quantity(value: unknown): number {
  if (typeof value !== "string" || !QUANTITY.test(value)) throw unsound();
  return Number(value);
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}

function unsound(): AppError {
  return new AppError("network_answer_invalid", {
    message: "the network's node answered something that it was not asked",
  });
}
