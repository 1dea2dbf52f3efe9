/**
 * Error objects of JSON-RPC that tell of the node and not of the call: something broke in it, or it has not got what it
 * needs to answer. Another node may answer; none of this is ever the caller's fault.
 */
import { AppError } from "../../platform/errors.js";
import { RpcRefusal, type Rpc, type RpcOptions } from "./rpc.js";

/** JSON-RPC 2.0, section 5.1. Some clients use it for reverted calls too. */
const INTERNAL_ERROR = -32_603;
const NODE_TEXT_CHARACTERS_MAX = 200;
/** How clients and the proxies of hosted nodes say that they failed. */
const FAULTS =
  /internal error|server error|upstream|gateway|unavailable|not available|timed? ?out|timeout|temporar|header not found|missing trie node|database|syncing|sync is still in progress|too many requests|rate limit/i;
/**
 * How they say that they executed a call or an estimate and that it failed, besides a revert: geth, erigon and reth
 * with the names of core/vm/errors.go, nethermind, besu and anvil with their own.
 */
const EXECUTION_FAULTS =
  /out of gas|gas required exceeds|exceeds allowance|invalid (fe)?opcode|bad ?instruction|(invalid|bad) ?jump|stack ?(under|over)flow|stack limit|write protection|static (state|call)|return ?data out of bounds|(code|initcode) size|address collision|must not begin with 0xef|\bevm\b|vm (execution )?(error|exception)|transaction execution fails|due to an exception|cannot estimate gas|gas limit/i;
/** How they speak of the transaction itself. */
const OF_THE_CALL = /revert|insufficient|underpriced|nonce|already|\bknown transaction|gas/i;

/** Returns true for a refusal that tells of a failed execution, besides a revert. */
export function isExecutionFault({ message }: RpcRefusal): boolean {
  return EXECUTION_FAULTS.test(message);
}

/** Returns true for a refusal that says nothing of the call, so that another node should be asked. */
export function isNodeFault({ code, message, data }: RpcRefusal): boolean {
  if (data !== undefined && data !== "0x") return false;
  if (OF_THE_CALL.test(message) || EXECUTION_FAULTS.test(message)) return false;
  return code === INTERNAL_ERROR || FAULTS.test(message);
}

/** Returns the error that answers a request which failed because its node refused to do what nodes do. */
export function nodeFault(refusal: RpcRefusal): AppError {
  return new AppError("network_answer_invalid", {
    message: `the network's node failed: ${nodeText(refusal)}`,
    cause: refusal,
  });
}

/**
 * Asks what a node has no reason to refuse: a block, a count, a balance.
 * @throws network_answer_invalid where it refuses all the same, and what `Rpc.request` throws
 */
export async function askNode(
  rpc: Rpc,
  method: string,
  params: readonly unknown[],
  options?: RpcOptions,
): Promise<unknown> {
  try {
    return await rpc.request(method, params, options);
  } catch (error) {
    if (error instanceof RpcRefusal) throw nodeFault(error);
    throw error;
  }
}

/** Returns the node's message, cut and made printable, because it may contain anything. */
export function nodeText({ message }: RpcRefusal): string {
  const text = printable(message, NODE_TEXT_CHARACTERS_MAX);
  return text === "" ? "it gave no reason" : text;
}

/** Returns text of a node or a contract with nothing in it that a terminal or a log obeys. */
export function printable(text: string, charactersMax: number): string {
  return text
    .replace(/[^\x20-\x7e\u00a0-\uffff]+/g, " ")
    .trim()
    .slice(0, charactersMax);
}
