/**
 * What a node's refusal means. Nodes agree on no codes, so that the known sentences of geth, reth, erigon, nethermind,
 * besu and anvil are told apart; what is none of them is final, because sending the same again would be refused again.
 */
import { decodeErrorResult } from "viem";
import { AppError, type ErrorCode } from "../../../platform/errors.js";
import type { RpcRefusal } from "../../rpc/rpc.js";
import type { TransactionFault } from "../transaction-record.js";

export type SendOutcome =
  /** In the node's pool, now or before. */
  | "accepted"
  /** The nonce was mined, with this transaction or another. */
  | "nonce_too_low"
  /** The pool holds another transaction with this nonce. */
  | "underpriced"
  /** Not enough for the present block. */
  | "fee_too_low"
  /** The same bytes may be taken later. */
  | "later"
  | "insufficient_funds"
  | "refused";

/** In order: the more special sentence first. */
const SENTENCES: readonly (readonly [RegExp, SendOutcome])[] = [
  [
    /already known|known transaction|already imported|alreadyknown|already in (the )?(mem)?pool|already exists|duplicate transaction/i,
    "accepted",
  ],
  [
    /nonce (is )?too low|nonce too small|oldnonce|nonce.{0,20}(already|has been) used|invalid nonce.{0,40}(lower|below)|less than (the )?current nonce/i,
    "nonce_too_low",
  ],
  [
    /replacement.{0,30}(underpriced|too low|not allowed|insufficient)|underpriced replacement|(to|could not) replace|feetoolowtocompete/i,
    "underpriced",
  ],
  [
    /less than (the )?(block )?base ?fee|below (the )?base ?fee|fee ?cap.{0,20}(less|below)|max ?fee.{0,60}(less|lower|below)|underpriced|gas price (is )?(too low|below)|fee ?too ?low|gas price below/i,
    "fee_too_low",
  ],
  [
    /insufficient (funds|balance|sender balance)|doesn't have enough funds|not enough funds|upfront cost exceeds|insufficientfunds/i,
    "insufficient_funds",
  ],
  [
    /nonce (is )?too (high|distant|far)|future nonce|nonce gap|nonce.{0,20}higher|queued limit|pool (is )?(full|overflow)|pool.{0,20}(full|limit)|limit exceeded|too many|rate limit|try again|in-flight transaction limit|gapped-nonce/i,
    "later",
  ],
];
/** EIP-1474: limit exceeded. */
const LIMIT_EXCEEDED = -32005;
const NODE_TEXT_CHARACTERS_MAX = 200;

/** What a refusal of eth_sendRawTransaction means. */
export function sendOutcome(refusal: RpcRefusal): SendOutcome {
  const found = SENTENCES.find(([sentence]) => sentence.test(refusal.message));
  if (found !== undefined) return found[1];
  return refusal.code === LIMIT_EXCEEDED ? "later" : "refused";
}

const PANICS: Readonly<Record<string, string>> = {
  "1": "an assertion failed",
  "17": "arithmetic overflow or underflow",
  "18": "division by zero",
  "33": "a value that is none of its enum",
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
 * The reason in a revert's return data (Solidity's Error(string) and Panic(uint256)), or what else can be said of it.
 */
export function revertReason(data: string | undefined): string | undefined {
  if (data === undefined || !/^0x[0-9a-f]+$/i.test(data)) return undefined;
  try {
    const { errorName, args } = decodeErrorResult({ abi: STANDARD_ERRORS, data: data as `0x${string}` });
    if (errorName === "Error") return printable(args[0], REASON_CHARACTERS_MAX);
    return PANICS[String(args[0])] ?? `panic ${String(args[0])}`;
  } catch {
    // An error of the contract's own: its ABI would name it, its selector is what everybody can look up.
    return `custom error ${data.slice(0, 10)}`;
  }
}

/** The failure of an estimate or a call, with its reason decoded. */
export function estimateFailure(refusal: RpcRefusal): AppError {
  const fault = executionFault(refusal);
  return new AppError(fault.code, { message: fault.message, cause: refusal });
}

export function executionFault(refusal: RpcRefusal): { readonly code: ErrorCode; readonly message: string } {
  const reason =
    revertReason(refusal.data) ??
    /revert(?:ed)?(?: with reason(?: string)?)?:? ['"]?(.+?)['"]?$/i.exec(refusal.message)?.[1];
  if (/revert/i.test(refusal.message) || refusal.code === 3) {
    const said = reason === undefined ? "without a reason" : printable(reason, REASON_CHARACTERS_MAX);
    return { code: "execution_reverted", message: `the transaction would revert: ${said}` };
  }
  if (sendOutcome(refusal) === "insufficient_funds")
    return { code: "insufficient_funds", message: "the account has not enough for the value and the gas" };
  return { code: "gas_estimate_failed", message: `the node cannot execute the transaction: ${nodeText(refusal)}` };
}

/** Why a transaction was given up at broadcast. */
export function refusalFault(outcome: SendOutcome, refusal: RpcRefusal): TransactionFault {
  if (outcome === "insufficient_funds")
    return { code: "insufficient_funds", message: "the account has not enough for the value and the gas" };
  return { code: "transaction_refused", message: `the node refused the transaction: ${nodeText(refusal)}` };
}

/** Why a node does not take a transaction at present that it may take later, or with higher fees. */
export function lowFeeFault(outcome: "fee_too_low" | "underpriced", refusal: RpcRefusal): TransactionFault {
  if (outcome === "fee_too_low")
    return {
      code: "fee_too_low",
      message: `the node finds the fees too low; it is asked again until it takes them or they are raised: ${nodeText(refusal)}`,
    };
  return {
    code: "replacement_underpriced",
    message: `the node holds another transaction with this nonce and asks for higher fees to replace it: ${nodeText(refusal)}`,
  };
}

/** A node's own words, fit for an answer: they may be anything. */
export function nodeText({ message }: RpcRefusal): string {
  const text = printable(message, NODE_TEXT_CHARACTERS_MAX);
  return text === "" ? "it gave no reason" : text;
}

function printable(text: string, charactersMax: number): string {
  return text
    .replace(/[^\x20-\x7e\u00a0-\uffff]+/g, " ")
    .trim()
    .slice(0, charactersMax);
}
