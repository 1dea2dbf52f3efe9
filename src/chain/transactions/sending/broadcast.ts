/** What a nonce queue asks of its node: to take signed bytes, and whether it has one of a transaction's attempts. */
import { requestMany, resultOf } from "../../rpc/rpc-batch.js";
import { RpcRefusal, type RpcOutcome } from "../../rpc/rpc.js";
import { isTransaction, readReceipt } from "../node-values.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import { noteUnanswered, type QueuedTransaction } from "./queued-transaction.js";
import { sendOutcome } from "./refusals.js";
import type { SendResult, SignedBytes } from "./send-queue.js";

type BroadcastContext = Pick<NonceQueueContext, "networks" | "rpcOptions">;

/**
 * Sends bytes of one network in their order. Never rejects.
 * @returns what the node answered to each, in the same order
 */
export async function broadcast(
  { networks, rpcOptions }: BroadcastContext,
  signed: readonly SignedBytes[],
): Promise<SendResult[]> {
  let outcomes: readonly RpcOutcome[] = [];
  try {
    const [first] = signed;
    if (first === undefined) return [];
    const { rpc } = networks.find(first.queued.owner, first.queued.networkId);
    outcomes = await requestMany(
      rpc,
      signed.map(({ raw }) => ({ method: "eth_sendRawTransaction", params: [raw] })),
      rpcOptions,
    );
  } catch {
    // The network was deleted or the server stops: treated like a node that did not answer.
  }
  return signed.map(({ queued }, at) => {
    const answer = outcomes[at];
    if (answer?.ok === true) return { outcome: "accepted" };
    if (answer?.error instanceof RpcRefusal) {
      if (answer.error.isAfterFailure) queued.state = noteUnanswered(queued.state);
      return { outcome: sendOutcome(answer.error), refusal: answer.error };
    }
    queued.state = noteUnanswered(queued.state);
    return { outcome: "unknown" };
  });
}

/**
 * Returns true when the node has one of the transaction's attempts, in its pool or in a block. A node without an index
 * of transactions still has the receipt, and the other way round. Throws what the node fails with.
 */
export async function isKnown({ networks, rpcOptions }: BroadcastContext, queued: QueuedTransaction): Promise<boolean> {
  const { rpc } = networks.find(queued.owner, queued.networkId);
  const { hashes } = queued.state;
  const answers = await requestMany(
    rpc,
    [
      ...hashes.map((hash) => ({ method: "eth_getTransactionByHash", params: [hash] })),
      ...hashes.map((hash) => ({ method: "eth_getTransactionReceipt", params: [hash] })),
    ],
    rpcOptions,
  );
  return hashes.some(
    (hash, at) =>
      isTransaction(resultOf(answers[at]), hash) ||
      readReceipt(resultOf(answers[hashes.length + at]), hash) !== undefined,
  );
}
