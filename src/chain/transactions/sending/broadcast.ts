/** What a lane asks of its node: to take signed bytes, and whether one of a transaction's attempts is in a block. */
import { requestMany } from "../../rpc/rpc-batch.js";
import { RpcRefusal, type RpcOutcome } from "../../rpc/rpc.js";
import type { QueuedTransaction } from "./queued-transaction.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import { readReceipt } from "../node-values.js";
import { sendOutcome } from "./refusals.js";
import type { SendResult, SignedBytes } from "./send-queue.js";

type Asking = Pick<NonceQueueContext, "networks" | "rpcOptions">;

/** Sends bytes of one network in their order; what the node says to each. Never rejects. */
export async function broadcast(
  { networks, rpcOptions }: Asking,
  signed: readonly SignedBytes[],
): Promise<SendResult[]> {
  let outcomes: readonly RpcOutcome[] = [];
  try {
    const [first] = signed;
    if (first === undefined) return [];
    const { rpc } = networks.find(first.entry.owner, first.entry.networkId);
    outcomes = await requestMany(
      rpc,
      signed.map(({ raw }) => ({ method: "eth_sendRawTransaction", params: [raw] })),
      rpcOptions,
    );
  } catch {
    // The network is gone or the server stops: as if nobody had answered.
  }
  return signed.map(({ entry }, at) => {
    const said = outcomes[at];
    if (said?.ok === true) return { outcome: "accepted" };
    if (said?.error instanceof RpcRefusal) return { outcome: sendOutcome(said.error), refusal: said.error };
    // No sound answer: the node may have it all the same.
    entry.mayBeKnown = true;
    return { outcome: "unknown" };
  });
}

/** True when the node has a receipt of one of the transaction's attempts. */
export async function isMined({ networks, rpcOptions }: Asking, entry: QueuedTransaction): Promise<boolean> {
  const { rpc } = networks.find(entry.owner, entry.networkId);
  for (const hash of entry.hashes) {
    if (readReceipt(await rpc.request("eth_getTransactionReceipt", [hash], rpcOptions), hash) !== undefined)
      return true;
  }
  return false;
}
