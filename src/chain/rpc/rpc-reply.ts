/**
 * Reads the answers of nodes (JSON-RPC 2.0 over HTTP) and tells apart a result, a refusal of the call (RpcRefusal) and
 * an answer that is no JSON-RPC at all (AppError).
 */
import { AppError } from "../../platform/errors.js";
import { findJsonFault, parseJson } from "../../platform/json/json-scan.js";
import type { EgressAnswer } from "../../platform/net/egress.js";
import { RpcRefusal, type RpcOutcome } from "./rpc.js";

/** The node takes calls one at a time only, or not so many at once. It executed none of them. */
export class BatchRefused extends Error {
  override readonly name = "BatchRefused";
  /** True when a node that was asked before heard the calls, and failed. */
  readonly isAfterFailure: boolean;

  constructor({ isAfterFailure = false }: { readonly isAfterFailure?: boolean } = {}) {
    super("the node does not take these calls in one request");
    this.isAfterFailure = isAfterFailure;
  }
}

const JSON_LIMITS = { depthMax: 32, tokensMax: 500_000, keyBytesMax: 256, numberBytesMax: 80 };
/** EIP-1474: the node limits how often it is asked; another may not. */
const LIMIT_EXCEEDED = -32_005;
const REASON_CHARACTERS_MAX = 500;
/** Statuses with which nodes and the proxies before them reject a body of this form or size. */
const BODY_REJECTED: ReadonlySet<number> = new Set([400, 404, 405, 411, 413, 415, 422, 501]);

/** HTTP statuses from here on are the fault of the node or of a proxy before it (RFC 9110, section 15.6). */
const SERVER_ERROR = 500;
/** A proxy before the node lets this server not in, not now, or not so often: the call was not heard. */
const NOT_SERVED: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 429]);

/** What came of a single call. */
export type Reply =
  { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly error: RpcRefusal };

/**
 * Returns the result or the refusal of a single call. An answer of HTTP 500 and above is neither, whatever it contains:
 * the node, or a proxy before it, failed, and another node may not. So is one that lets the caller not in (401, 429).
 * @param id the id of the call
 * @throws network_unreachable, network_answer_invalid when the answer is no JSON-RPC, or is that of another call
 */
export function readReply(answer: EgressAnswer, id: number): Reply {
  if (isUnserved(answer)) throw notJsonRpc(answer.status);
  const reply = readJson(answer);
  if (!isObject(reply)) throw notJsonRpc(answer.status);
  if ("error" in reply && reply.error !== null && reply.error !== undefined) {
    if (typeof reply.error !== "object") throw malformedError();
    if (!isOfCall(reply, id) && !isOfUnreadCall(reply)) throw otherCall();
    return { ok: false, error: refusalOf(reply.error) };
  }
  if (answer.status !== 200 || !("result" in reply)) throw notJsonRpc(answer.status);
  if (!isOfCall(reply, id)) throw otherCall();
  return { ok: true, result: reply.result };
}

/**
 * Returns the outcomes of a batch in the order of its calls, which have consecutive ids.
 * @param ids the id of the first call, and how many calls there are
 * @throws BatchRefused when the answer is no list: the node takes no batches
 * @throws network_unreachable, network_answer_invalid when the answer is no JSON-RPC
 */
export function readBatchReply(
  answer: EgressAnswer,
  ids: { readonly first: number; readonly count: number },
): RpcOutcome[] {
  if (BODY_REJECTED.has(answer.status)) throw new BatchRefused();
  if (isUnserved(answer)) throw notJsonRpc(answer.status);
  const replies = readJson(answer);
  if (!Array.isArray(replies)) {
    if (isObject(replies) && "error" in replies) throw new BatchRefused();
    throw notJsonRpc(answer.status);
  }
  if (answer.status !== 200) throw notJsonRpc(answer.status);
  const outcomes = new Map<unknown, RpcOutcome>();
  for (const reply of replies as readonly unknown[])
    if (isObject(reply) && "id" in reply) outcomes.set(reply.id, outcomeOf(reply));
  const missing = invalidAnswer("the node left a call of a batch without an answer");
  return Array.from({ length: ids.count }, (_, at) => outcomes.get(ids.first + at) ?? { ok: false, error: missing });
}

/** Returns the failure of a call that the node refused because of a rate limit; undefined for other refusals. */
export function rateLimitOf(refusal: RpcRefusal): AppError | undefined {
  // Besu has the same code for a transaction whose gas limit is too high.
  if (refusal.code !== LIMIT_EXCEEDED || /gas limit/i.test(refusal.message)) return undefined;
  return new AppError("network_unreachable", { message: "the node limits how often it is asked", cause: refusal });
}

/** Returns the failure of an answer that is not what JSON-RPC and EIP-1474 prescribe. */
export function invalidAnswer(message: string): AppError {
  return new AppError("network_answer_invalid", { message });
}

/** The outcome of one call of a batch; a malformed answer concerns its call alone. */
function outcomeOf(reply: object): RpcOutcome {
  if ("error" in reply && reply.error !== null && reply.error !== undefined) {
    if (typeof reply.error !== "object") return { ok: false, error: malformedError() };
    const refusal = refusalOf(reply.error);
    return { ok: false, error: rateLimitOf(refusal) ?? refusal };
  }
  return "result" in reply
    ? { ok: true, result: reply.result }
    : { ok: false, error: invalidAnswer("the node's answer is not JSON-RPC") };
}

function refusalOf(error: object): RpcRefusal {
  const { message, code, data } = error as { message?: unknown; code?: unknown; data?: unknown };
  return new RpcRefusal(
    typeof message === "string" ? message.slice(0, REASON_CHARACTERS_MAX) : "",
    typeof code === "number" ? code : 0,
    returnData(data),
  );
}

/** The return data of a reverted call: nodes put it into `data`, or one or two objects deeper. */
function returnData(data: unknown, depth = 0): string | undefined {
  if (typeof data === "string") return /0x(?:[0-9a-f]{2})*$/i.exec(data)?.[0];
  if (typeof data !== "object" || data === null || depth > 2) return undefined;
  const { data: inner, originalError } = data as { data?: unknown; originalError?: unknown };
  return returnData(inner ?? originalError, depth + 1);
}

function isUnserved({ status }: EgressAnswer): boolean {
  return status >= SERVER_ERROR || NOT_SERVED.has(status);
}

function readJson({ status, body }: EgressAnswer): unknown {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (findJsonFault(bytes, JSON_LIMITS) !== undefined) throw notJsonRpc(status);
  return parseJson(bytes);
}

function isOfCall(reply: object, id: number): boolean {
  return "id" in reply && reply.id === id;
}

/** An error without the id of a call: the node could not read the request (JSON-RPC 2.0, section 5). */
function isOfUnreadCall(reply: object): boolean {
  return !("id" in reply) || reply.id === null;
}

function otherCall(): AppError {
  return invalidAnswer("the node's answer is that of another call");
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function notJsonRpc(status: number): AppError {
  if (status !== 200)
    return new AppError("network_unreachable", { message: `the node answers HTTP ${String(status)}` });
  return invalidAnswer("the node's answer is not JSON-RPC");
}

function malformedError(): AppError {
  return invalidAnswer("the node's error is not that of JSON-RPC");
}
