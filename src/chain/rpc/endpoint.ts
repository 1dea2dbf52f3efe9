/**
 * One JSON-RPC URL of a network, with the memory of how it fared: whether it is of the right chain, how fast it answers, when it may
 * be tried again. Checks the chain's number on first use and on every new connection, before anything that it said is believed.
 */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Egress, EgressAnswer } from "../../platform/egress/egress.js";
import { AppError, type ErrorCode } from "../../platform/errors.js";
import { findJsonFault, parseJson } from "../../platform/json-scan.js";
import { RpcRefusal } from "./rpc.js";

export type EndpointState = "untried" | "up" | "down" | "mismatch";

export interface EndpointHealth {
  readonly url: string;
  readonly state: EndpointState;
  /** Moving mean; null before the first answer. */
  readonly latencyMs: number | null;
  readonly requests: number;
  readonly failures: number;
  readonly lastError: { readonly code: ErrorCode; readonly message: string; readonly at: string } | null;
}

/** What was seen of an endpoint, in words; changes only, not every request. */
export interface EndpointNote {
  readonly timestamp: string;
  readonly message: string;
}

export interface EndpointOptions {
  readonly url: string;
  /** EIP-155 number that the node must have; undefined: any. */
  readonly chainId: number | undefined;
}

interface Call {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Full blocks and pages of logs are longer than the guard's usual answers. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const JSON_LIMITS = { depthMax: 32, tokensMax: 500_000, keyBytesMax: 256, numberBytesMax: 80 };
const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** Weight of the newest answer in the mean latency. */
const LATENCY_WEIGHT = 0.2;
const NOTES_MAX = 200;
/** EIP-1474: the node has had enough of us; another may not. */
const LIMIT_EXCEEDED = -32_005;
const REASON_CHARACTERS_MAX = 500;

export class RpcEndpoint {
  readonly url: string;
  readonly #chainId: number | undefined;
  readonly #egress: Egress;
  readonly #clock: Clock;
  #state: EndpointState = "untried";
  #isChecked = false;
  #checking: Promise<void> | undefined;
  #failuresInARow = 0;
  #notBeforeMs = 0;
  #latencyMs: number | null = null;
  #requests = 0;
  #failures = 0;
  #lastError: EndpointHealth["lastError"] = null;
  readonly #notes: EndpointNote[] = [];
  #id = 0;

  constructor({ url, chainId }: EndpointOptions, { egress, clock }: { readonly egress: Egress; readonly clock: Clock }) {
    this.url = url;
    this.#chainId = chainId;
    this.#egress = egress;
    this.#clock = clock;
  }

  /** False while it rests after failures. */
  get isReady(): boolean {
    return this.#clock.monotonicMs() >= this.#notBeforeMs;
  }

  get failuresInARow(): number {
    return this.#failuresInARow;
  }

  health(): EndpointHealth {
    return { url: this.url, state: this.#state, latencyMs: this.#latencyMs, requests: this.#requests, failures: this.#failures, lastError: this.#lastError };
  }

  /** Oldest first. */
  notes(): readonly EndpointNote[] {
    return this.#notes;
  }

  /** As Rpc.request of this node alone. */
  async request(method: string, params: readonly unknown[], call: Call): Promise<unknown> {
    if (!this.#isChecked) await this.#check(call);
    const { result, isNewConnection } = await this.#ask(method, params, call);
    // Another node may have taken the address since; what it said does not count before it has shown its number.
    if (isNewConnection && method !== "eth_chainId") await this.#check(call);
    return result;
  }

  /** Asks for the chain's number, for all who wait at once. Throws `network_chain_mismatch`. */
  async #check(call: Call): Promise<void> {
    this.#checking ??= this.#checkOnce(call.timeoutMs).finally(() => { this.#checking = undefined; });
    await this.#checking;
    call.signal?.throwIfAborted();
  }

  async #checkOnce(timeoutMs: number): Promise<void> {
    const { result } = await this.#ask("eth_chainId", [], { timeoutMs, signal: undefined });
    const found = typeof result === "string" && /^0x[0-9a-f]{1,13}$/i.test(result) ? Number(result) : undefined;
    if (found === undefined) throw this.#failed(invalid("the node's chain id is no number"), "down");
    if (this.#chainId !== undefined && found !== this.#chainId) {
      throw this.#failed(new AppError("network_chain_mismatch", { message: `the node is of chain ${String(found)}, the network of chain ${String(this.#chainId)}` }), "mismatch");
    }
    this.#isChecked = true;
    if (this.#state !== "up") this.#note(`answers as chain ${String(found)}`);
    this.#state = "up";
    this.#failuresInARow = 0;
    this.#notBeforeMs = 0;
  }

  async #ask(method: string, params: readonly unknown[], { timeoutMs, signal }: Call): Promise<{ result: unknown; isNewConnection: boolean }> {
    this.#id += 1;
    this.#requests += 1;
    const started = this.#clock.monotonicMs();
    let answer: EgressAnswer;
    let reply: unknown;
    try {
      answer = await this.#egress.fetch(this.url, {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ jsonrpc: "2.0", id: this.#id, method, params }),
        timeoutMs, answerBytesMax: ANSWER_BYTES_MAX, ...(signal === undefined ? {} : { signal }),
      });
      reply = readReply(answer);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#failed(fromEgress(error), "down");
    }
    const tookMs = this.#clock.monotonicMs() - started;
    this.#latencyMs = this.#latencyMs === null ? tookMs : this.#latencyMs + LATENCY_WEIGHT * (tookMs - this.#latencyMs);
    if (reply instanceof RpcRefusal) {
      if (reply.code === LIMIT_EXCEEDED) throw this.#failed(new AppError("network_unreachable", { message: "the node limits how often it is asked", cause: reply }), "down");
      throw reply;
    }
    return { result: reply, isNewConnection: answer.isNewConnection === true };
  }

  #failed(error: AppError, state: "down" | "mismatch"): AppError {
    this.#failures += 1;
    this.#failuresInARow += 1;
    this.#isChecked = false;
    if (this.#state !== state) this.#note(error.message);
    this.#state = state;
    this.#lastError = { code: error.code, message: error.message, at: isoTimestamp(this.#clock.nowMs()) };
    this.#notBeforeMs = this.#clock.monotonicMs() + Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failuresInARow - 1, 10));
    return error;
  }

  #note(message: string): void {
    this.#notes.push({ timestamp: isoTimestamp(this.#clock.nowMs()), message });
    if (this.#notes.length > NOTES_MAX) this.#notes.shift();
  }
}

/** The result, or the refusal. Throws for what is no JSON-RPC answer. */
function readReply({ status, body }: EgressAnswer): unknown {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (findJsonFault(bytes, JSON_LIMITS) !== undefined) throw notRpc(status);
  const reply = parseJson(bytes);
  if (typeof reply !== "object" || reply === null || Array.isArray(reply)) throw notRpc(status);
  if ("error" in reply && reply.error !== null && reply.error !== undefined) return refusalOf(reply.error);
  if (status !== 200 || !("result" in reply)) throw notRpc(status);
  return reply.result;
}

function notRpc(status: number): AppError {
  if (status !== 200) return new AppError("network_unreachable", { message: `the node answers HTTP ${String(status)}` });
  return invalid("the node's answer is not JSON-RPC");
}

function refusalOf(error: unknown): RpcRefusal {
  if (typeof error !== "object" || error === null) throw invalid("the node's error is not that of JSON-RPC");
  const { message, code, data } = error as { message?: unknown; code?: unknown; data?: unknown };
  return new RpcRefusal(typeof message === "string" ? message.slice(0, REASON_CHARACTERS_MAX) : "", typeof code === "number" ? code : 0, returnData(data));
}

/** Nodes put the return data into `data`, or one or two objects deeper. */
function returnData(data: unknown, depth = 0): string | undefined {
  if (typeof data === "string") return /0x(?:[0-9a-f]{2})*$/i.exec(data)?.[0];
  if (typeof data !== "object" || data === null || depth > 2) return undefined;
  const { data: inner, originalError } = data as { data?: unknown; originalError?: unknown };
  return returnData(inner ?? originalError, depth + 1);
}

function fromEgress(error: unknown): AppError {
  if (!(error instanceof AppError)) return new AppError("network_unreachable", { message: "the node cannot be reached", cause: error });
  switch (error.code) {
    case "egress_timeout": return new AppError("network_timeout", { message: "the node did not answer in time", cause: error });
    case "egress_answer_too_large": return new AppError("network_answer_invalid", { message: "the node's answer is too long", cause: error });
    case "egress_refused": return new AppError("network_unreachable", { message: `the node's URL is not reached: ${error.message}`, cause: error });
    case "network_unreachable": case "network_answer_invalid": return error;
    default: return new AppError("network_unreachable", { message: "the node cannot be reached", cause: error });
  }
}

function invalid(message: string): AppError {
  return new AppError("network_answer_invalid", { message });
}
