/** Whether blocks that were read are still part of the chain. */
import type { Rpc } from "../rpc/rpc.js";
import type { Checkpoint } from "./follow-records.js";
import { blockHead, type BlockHead } from "./node-logs.js";

/**
 * Returns the number of the last block that is still part of the chain when one that was read was replaced
 * (-1 when the chain is another one), undefined when all of them are part of it, and `behind` when the node knows too
 * few blocks to tell.
 * @param head the newest block of the node
 */
export async function findFork(
  rpc: Rpc,
  { hashes, genesis }: Checkpoint,
  head: BlockHead,
): Promise<number | "behind" | undefined> {
  const newest = hashes.at(-1);
  if (newest === undefined || isAtEndOf(head, newest)) return undefined;
  if (newest[0] <= head.number && (await blockHead(rpc, newest[0]))?.hash === newest[1]) return undefined;
  const reachable = hashes.filter(([number]) => number <= head.number);
  // From the newest on: a node that merely lags agrees with the first block that it has.
  for (const [index, [number, hash]] of [...reachable].reverse().entries()) {
    const block = await blockHead(rpc, number);
    if (block === undefined) return "behind";
    if (block.hash === hash) return index === 0 && newest[0] > head.number ? "behind" : number;
  }
  const isOtherChain = (await blockHead(rpc, 0))?.hash !== genesis;
  if (isOtherChain) return -1;
  return reachable.length === 0 ? "behind" : (hashes[0]?.[0] ?? 0) - 1;
}

/** True when a block is the head or its parent; the head does not tell of older blocks. */
function isAtEndOf(head: BlockHead, [number, hash]: readonly [number, string]): boolean {
  return number === head.number ? hash === head.hash : number + 1 === head.number && hash === head.parentHash;
}
