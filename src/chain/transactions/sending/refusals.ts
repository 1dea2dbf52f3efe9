/**
 * What a node's refusal means, and what clients of this server read of it. A sentence that is not in the table says
 * nothing of the transaction: a node, or a proxy before it, may fail after it took the bytes.
 */
import { decodeErrorResult } from "viem";
import { AppError } from "../../../platform/errors.js";
import { isExecutionFault, nodeFault, nodeText, printable } from "../../rpc/node-faults.js";
import type { RpcRefusal } from "../../rpc/rpc.js";
import type { TransactionFault } from "../transaction-record.js";
import { REFUSAL_SENTENCES, type SendOutcome } from "./refusal-sentences.js";

/** EIP-1474: limit exceeded. */
const LIMIT_EXCEEDED = -32005;

/** Returns what a refusal of eth_sendRawTransaction means. */
export function sendOutcome(refusal: RpcRefusal): SendOutcome {
  const sentence = REFUSAL_SENTENCES.find(({ pattern }) => pattern.test(refusal.message));
  if (sentence !== undefined) return sentence.outcome;
  return refusal.code === LIMIT_EXCEEDED ? "later" : "unexplained";
}

/** Codes of Panic(uint256), as the Solidity documentation lists them. */
const PANICS: Readonly<Record<string, string>> = {
  "1": "an assertion failed",
  "17": "arithmetic overflow or underflow",
  "18": "division by zero",
  "33": "a value outside its enum",
  "34": "badly encoded storage",
  "49": "pop on an empty array",
  "50": "index out of bounds",
  "65": "too much memory",
  "81": "a call to an uninitialised function",
};
const STANDARD_ERRORS = [
  { type: "error", name: "Error", inputs: [{ name: "message", type: "string" }] },
  { type: "error", name: "Panic", inputs: [{ name: "code", type: "uint256" }] },
] as const;
const REASON_CHARACTERS_MAX = 500;

/**
 * Returns the reason in a revert's return data (Solidity's Error(string) and Panic(uint256)), or the selector of a
 * contract's own error.
 * @param data 0x-hex; anything else has no reason
 */
export function revertReason(data: string | undefined): string | undefined {
  if (data === undefined || !/^0x[0-9a-f]+$/i.test(data)) return undefined;
  try {
    const { errorName, args } = decodeErrorResult({ abi: STANDARD_ERRORS, data: data as `0x${string}` });
    if (errorName === "Error") return printable(args[0], REASON_CHARACTERS_MAX);
    return PANICS[String(args[0])] ?? `panic ${String(args[0])}`;
  } catch {
    // An error of the contract's own: only its ABI could name it, but its selector can be looked up.
    return `custom error ${data.slice(0, 10)}`;
  }
}

const FINAL: ReadonlySet<SendOutcome> = new Set(["invalid", "refused", "fee_too_low"]);

/**
 * Returns the error that answers a refused call or estimate, with the reason decoded: 422 where the node executed it
 * and it failed, `network_answer_invalid` where the node did not.
 */
export function executionFailure(refusal: RpcRefusal): AppError {
  const reason =
    revertReason(refusal.data) ??
    /revert(?:ed)?(?: with reason(?: string)?)?:? ['"]?(.+?)['"]?$/i.exec(refusal.message)?.[1];
  if (/revert/i.test(refusal.message) || refusal.code === 3) {
    const words = reason === undefined ? "without a reason" : printable(reason, REASON_CHARACTERS_MAX);
    return new AppError("execution_reverted", { message: `the transaction would revert: ${words}`, cause: refusal });
  }
  const outcome = sendOutcome(refusal);
  if (outcome === "insufficient_funds")
    return new AppError("insufficient_funds", {
      message: "the account has not enough for the value and the gas",
      cause: refusal,
    });
  if (!FINAL.has(outcome) && !isExecutionFault(refusal)) return nodeFault(refusal);
  return new AppError("gas_estimate_failed", {
    message: `the node cannot execute the transaction: ${nodeText(refusal)}`,
    cause: refusal,
  });
}

/** Returns why a transaction failed at broadcast. */
export function refusalFault(outcome: SendOutcome, refusal: RpcRefusal): TransactionFault {
  if (outcome === "insufficient_funds")
    return { code: "insufficient_funds", message: "the account has not enough for the value and the gas" };
  return { code: "transaction_refused", message: `the node refused the transaction: ${nodeText(refusal)}` };
}

/** Returns why a transaction is not taken at present whose bytes a node may have all the same. */
export function heldFault(outcome: SendOutcome, refusal: RpcRefusal): TransactionFault {
  if (outcome === "insufficient_funds")
    return {
      code: "insufficient_funds",
      message: "the account has not enough for the value and the gas; the transaction is sent again",
    };
  return {
    code: "transaction_refused",
    message: `the node refuses the transaction, which it or another node may have all the same; it is sent again until it is mined or cancelled: ${nodeText(refusal)}`,
  };
}

/** Returns why a node does not take a transaction at present that it may take later, or with higher fees. */
export function lowFeeFault(outcome: "fee_too_low" | "underpriced", refusal: RpcRefusal): TransactionFault {
  if (outcome === "fee_too_low")
    return {
      code: "fee_too_low",
      message: `the node finds the fees too low; the transaction is sent again until it is taken or its fees are raised: ${nodeText(refusal)}`,
    };
  return {
    code: "replacement_underpriced",
    message: `the node holds another transaction with this nonce and asks for higher fees to replace it: ${nodeText(refusal)}`,
  };
}
