/** Sends several calls to a node: in batches where the client has them, otherwise some at a time. */
import { assert } from "../../platform/errors.js";
import type { Rpc, RpcCall, RpcOptions, RpcOutcome } from "./rpc.js";

/** Requests under way at the same time where each call is one. */
const AT_ONCE = 32;

/** As `Rpc.requestMany`, for any client. */
export async function requestMany(
  rpc: Rpc,
  calls: readonly RpcCall[],
  options: RpcOptions = {},
): Promise<readonly RpcOutcome[]> {
  if (calls.length > 1 && rpc.requestMany !== undefined) return await rpc.requestMany(calls, options);
  return await requestOneByOne(rpc, calls, options);
}

/** Sends each call as a request of its own, begun in their order; outcomes in that order. */
export async function requestOneByOne(
  rpc: Pick<Rpc, "request">,
  calls: readonly RpcCall[],
  options: RpcOptions = {},
): Promise<readonly RpcOutcome[]> {
  const outcomes: RpcOutcome[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < calls.length; at = next++) {
      const call = calls[at];
      if (call === undefined) return;
      options.signal?.throwIfAborted();
      outcomes[at] = await rpc.request(call.method, call.params, options).then(
        (result): RpcOutcome => ({ ok: true, result }),
        (error: unknown): RpcOutcome => ({ ok: false, error }),
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, calls.length) }, worker));
  options.signal?.throwIfAborted();
  return outcomes;
}

/** Returns the result of a call; throws what it failed with. */
export function resultOf(outcome: RpcOutcome | undefined): unknown {
  assert(outcome !== undefined, "each call has an outcome");
  if (!outcome.ok) throw outcome.error;
  return outcome.result;
}
