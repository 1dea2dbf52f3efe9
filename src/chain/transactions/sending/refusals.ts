/**
 * What a node's refusal means, and what clients of this server read of it. A sentence that is not in the table says
 * nothing of the transaction: a node, or a proxy before it, may fail after it took the bytes.
 */
import { AppError } from "../../../platform/errors.js";
import { decodeMembers } from "../../contracts/abi/abi-values.js";
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
/** Selectors of Solidity's own errors. */
const ERROR_SELECTOR = "0x08c379a0";
const PANIC_SELECTOR = "0x4e487b71";
const SELECTOR_CHARACTERS = 10;
const MESSAGE = [{ name: "message", type: { kind: "string", text: "string" } }] as const;
const CODE = [{ name: "code", type: { kind: "integer", text: "uint256", bits: 256, isSigned: false } }] as const;
const REASON_CHARACTERS_MAX = 500;

/**
 * Returns the reason in a revert's return data (Solidity's Error(string) and Panic(uint256)), or the selector of a
 * contract's own error.
 * @param data 0x-hex; anything else has no reason
 */
export function revertReason(data: string | undefined): string | undefined {
  if (data === undefined || !/^0x[0-9a-f]+$/i.test(data)) return undefined;
  const selector = data.slice(0, SELECTOR_CHARACTERS).toLowerCase();
  const rest = `0x${data.slice(SELECTOR_CHARACTERS)}` as const;
  const message = selector === ERROR_SELECTOR ? decodeMembers(MESSAGE, rest)?.[0] : undefined;
  if (typeof message === "string") return printable(message, REASON_CHARACTERS_MAX);
  const code = selector === PANIC_SELECTOR ? decodeMembers(CODE, rest)?.[0] : undefined;
  if (typeof code === "string") return PANICS[code] ?? `panic ${code}`;
  // An error of the contract's own: only its ABI could name it, but its selector can be looked up.
  return `custom error ${data.slice(0, SELECTOR_CHARACTERS)}`;
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
