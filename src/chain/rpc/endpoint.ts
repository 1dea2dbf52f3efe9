/**
 * One JSON-RPC URL of a network, with the memory of how it fared: whether it is of the right chain, how fast it
 * answers, when it may be tried again. Checks the chain's number on first use and on every new connection, before
 * anything that it said is believed.
 */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Egress, EgressAnswer } from "../../platform/net/egress.js";
import { AppError, type ErrorCode } from "../../platform/errors.js";
import { findJsonFault, parseJson } from "../../platform/json/json-scan.js";
import { RpcRefusal, type RpcCall, type RpcOutcome } from "./rpc.js";

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

/** That it began to fail, fails in another way, or is well again. */
export interface EndpointChange {
  readonly state: Exclude<EndpointState, "untried">;
  /** Why it fails. */
  readonly code?: ErrorCode;
}

export interface EndpointOptions {
  readonly url: string;
  /** EIP-155 number that the node must have; undefined: any. */
  readonly chainId: number | undefined;
  readonly authorization?: Authorization | undefined;
  /** Told of changes only, not of every request. */
  readonly onChange?: ((change: EndpointChange) => void) | undefined;
}

/** The Authorization header of a request, fetched for each. Throws an AppError when it cannot be had. */
export type Authorization = () => Promise<string>;

/** The node takes calls one at a time only, or not so many at once. Nothing was done. */
export class BatchRefused extends Error {
  override readonly name = "BatchRefused";
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
/** A node that refused a batch is given one again after this: it may have been replaced by another. */
const BATCHES_AGAIN_MS = 600_000;
/** Statuses by which nodes and the proxies before them say that a body of this form or size is not for them. */
const NOT_THIS_BODY: ReadonlySet<number> = new Set([400, 404, 405, 411, 413, 415, 422, 501]);

export class RpcEndpoint {
  readonly url: string;
  readonly #chainId: number | undefined;
  readonly #authorization: Authorization | undefined;
  readonly #onChange: EndpointOptions["onChange"];
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
  #batchesNotBeforeMs = -Infinity;

  constructor(
    { url, chainId, authorization, onChange }: EndpointOptions,
    { egress, clock }: { readonly egress: Egress; readonly clock: Clock },
  ) {
    this.url = url;
    this.#chainId = chainId;
    this.#authorization = authorization;
    this.#onChange = onChange;
    this.#egress = egress;
    this.#clock = clock;
  }

  /** False while it rests after failures. */
  get isReady(): boolean {
    return this.#clock.monotonicMs() >= this.#notBeforeMs;
  }

  /** False for a while after it refused several calls in one request. */
  get takesBatches(): boolean {
    return this.#clock.monotonicMs() >= this.#batchesNotBeforeMs;
  }

  get failuresInARow(): number {
    return this.#failuresInARow;
  }

  health(): EndpointHealth {
    return {
      url: this.url,
      state: this.#state,
      latencyMs: this.#latencyMs,
      requests: this.#requests,
      failures: this.#failures,
      lastError: this.#lastError,
    };
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
    this.#checking ??= this.#checkOnce(call.timeoutMs).finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
    call.signal?.throwIfAborted();
  }

  async #checkOnce(timeoutMs: number): Promise<void> {
    const { result } = await this.#ask("eth_chainId", [], { timeoutMs, signal: undefined });
    const found = typeof result === "string" && /^0x[0-9a-f]{1,13}$/i.test(result) ? Number(result) : undefined;
    if (found === undefined) throw this.#failed(invalid("the node's chain id is no number"), "down");
    if (this.#chainId !== undefined && found !== this.#chainId) {
      throw this.#failed(
        new AppError("network_chain_mismatch", {
          message: `the node is of chain ${String(found)}, the network of chain ${String(this.#chainId)}`,
        }),
        "mismatch",
      );
    }
    this.#isChecked = true;
    const before = this.#state;
    this.#state = "up";
    this.#failuresInARow = 0;
    this.#notBeforeMs = 0;
    if (before !== "up") this.#note(`answers as chain ${String(found)}`);
    if (before === "down" || before === "mismatch") this.#onChange?.({ state: "up" });
  }

  /**
   * Several calls in one request, each with an outcome of its own. Throws BatchRefused, and as `request` when no sound
   * answer came.
   */
  async requestMany(calls: readonly RpcCall[], call: Call): Promise<readonly RpcOutcome[]> {
    if (!this.#isChecked) await this.#check(call);
    const first = this.#id + 1;
    this.#id += calls.length;
    const { reply, answer } = await this.#post(
      calls.map(({ method, params }, at) => ({ jsonrpc: "2.0", id: first + at, method, params })),
      call,
      (received) => this.#readBatch(received, first, calls.length),
    );
    if (answer.isNewConnection === true) await this.#check(call);
    return reply;
  }

  async #ask(
    method: string,
    params: readonly unknown[],
    call: Call,
  ): Promise<{ result: unknown; isNewConnection: boolean }> {
    this.#id += 1;
    const { reply, answer } = await this.#post({ jsonrpc: "2.0", id: this.#id, method, params }, call, readReply);
    if (reply instanceof RpcRefusal) {
      if (reply.code === LIMIT_EXCEEDED) throw this.#failed(limited(reply), "down");
      throw reply;
    }
    return { result: reply, isNewConnection: answer.isNewConnection === true };
  }

  async #post<T>(
    body: object,
    { timeoutMs, signal }: Call,
    read: (answer: EgressAnswer) => T,
  ): Promise<{ readonly reply: T; readonly answer: EgressAnswer }> {
    const authorization = await this.#authorization?.();
    signal?.throwIfAborted();
    this.#requests += 1;
    const started = this.#clock.monotonicMs();
    try {
      const answer = await this.#egress.fetch(this.url, {
        method: "POST",
        headers: { "content-type": "application/json", ...(authorization === undefined ? {} : { authorization }) },
        body: JSON.stringify(body),
        timeoutMs,
        answerBytesMax: ANSWER_BYTES_MAX,
        ...(signal === undefined ? {} : { signal }),
      });
      const reply = read(answer);
      const tookMs = this.#clock.monotonicMs() - started;
      this.#latencyMs =
        this.#latencyMs === null ? tookMs : this.#latencyMs + LATENCY_WEIGHT * (tookMs - this.#latencyMs);
      return { reply, answer };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof BatchRefused) throw error;
      // Together they were too long; each alone may not be.
      if (Array.isArray(body) && error instanceof AppError && error.code === "egress_answer_too_large")
        throw new BatchRefused();
      throw this.#failed(fromEgress(error), "down");
    }
  }

  /** The outcomes in the order of the calls. An answer that is no list is the node's refusal of batches. */
  #readBatch(answer: EgressAnswer, first: number, count: number): RpcOutcome[] {
    const refuse = (): never => {
      this.#batchesNotBeforeMs = this.#clock.monotonicMs() + BATCHES_AGAIN_MS;
      this.#note("takes one call a request");
      throw new BatchRefused();
    };
    if (NOT_THIS_BODY.has(answer.status)) return refuse();
    const replies = readJson(answer);
    if (!Array.isArray(replies))
      return typeof replies === "object" && replies !== null && "error" in replies
        ? refuse()
        : failNotRpc(answer.status);
    if (answer.status !== 200) return failNotRpc(answer.status);
    const outcomes = new Map<unknown, RpcOutcome>();
    for (const reply of replies as readonly unknown[])
      if (typeof reply === "object" && reply !== null && "id" in reply) outcomes.set(reply.id, outcomeOf(reply));
    return Array.from(
      { length: count },
      (_, at) =>
        outcomes.get(first + at) ?? { ok: false, error: invalid("the node left a call of a batch without an answer") },
    );
  }

  #failed(error: AppError, state: "down" | "mismatch"): AppError {
    this.#failures += 1;
    this.#failuresInARow += 1;
    this.#isChecked = false;
    const before = this.#state;
    this.#state = state;
    if (before !== state) {
      this.#note(error.message);
      this.#onChange?.({ state, code: error.code });
    }
    this.#lastError = { code: error.code, message: error.message, at: isoTimestamp(this.#clock.nowMs()) };
    this.#notBeforeMs =
      this.#clock.monotonicMs() + Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failuresInARow - 1, 10));
    return error;
  }

  #note(message: string): void {
    this.#notes.push({ timestamp: isoTimestamp(this.#clock.nowMs()), message });
    if (this.#notes.length > NOTES_MAX) this.#notes.shift();
  }
}

/** The result, or the refusal. Throws for what is no JSON-RPC answer. */
function readReply(answer: EgressAnswer): unknown {
  const reply = readJson(answer);
  if (typeof reply !== "object" || reply === null || Array.isArray(reply)) throw notRpc(answer.status);
  if ("error" in reply && reply.error !== null && reply.error !== undefined) return refusalOf(reply.error);
  if (answer.status !== 200 || !("result" in reply)) throw notRpc(answer.status);
  return reply.result;
}

function readJson({ status, body }: EgressAnswer): unknown {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (findJsonFault(bytes, JSON_LIMITS) !== undefined) throw notRpc(status);
  return parseJson(bytes);
}

/** Of one answer in a batch; what is wrong with it concerns its call alone. */
function outcomeOf(reply: object): RpcOutcome {
  if ("error" in reply && reply.error !== null && reply.error !== undefined) {
    if (typeof reply.error !== "object")
      return { ok: false, error: invalid("the node's error is not that of JSON-RPC") };
    const refusal = refusalOf(reply.error);
    return { ok: false, error: refusal.code === LIMIT_EXCEEDED ? limited(refusal) : refusal };
  }
  return "result" in reply
    ? { ok: true, result: reply.result }
    : { ok: false, error: invalid("the node's answer is not JSON-RPC") };
}

function limited(cause: RpcRefusal): AppError {
  return new AppError("network_unreachable", { message: "the node limits how often it is asked", cause });
}

function failNotRpc(status: number): never {
  throw notRpc(status);
}

function notRpc(status: number): AppError {
  if (status !== 200)
    return new AppError("network_unreachable", { message: `the node answers HTTP ${String(status)}` });
  return invalid("the node's answer is not JSON-RPC");
}

function refusalOf(error: unknown): RpcRefusal {
  if (typeof error !== "object" || error === null) throw invalid("the node's error is not that of JSON-RPC");
  const { message, code, data } = error as { message?: unknown; code?: unknown; data?: unknown };
  return new RpcRefusal(
    typeof message === "string" ? message.slice(0, REASON_CHARACTERS_MAX) : "",
    typeof code === "number" ? code : 0,
    returnData(data),
  );
}

/** Nodes put the return data into `data`, or one or two objects deeper. */
function returnData(data: unknown, depth = 0): string | undefined {
  if (typeof data === "string") return /0x(?:[0-9a-f]{2})*$/i.exec(data)?.[0];
  if (typeof data !== "object" || data === null || depth > 2) return undefined;
  const { data: inner, originalError } = data as { data?: unknown; originalError?: unknown };
  return returnData(inner ?? originalError, depth + 1);
}

function fromEgress(error: unknown): AppError {
  if (!(error instanceof AppError))
    return new AppError("network_unreachable", { message: "the node cannot be reached", cause: error });
  switch (error.code) {
    case "egress_timeout":
      return new AppError("network_timeout", { message: "the node did not answer in time", cause: error });
    case "egress_answer_too_large":
      return new AppError("network_answer_invalid", { message: "the node's answer is too long", cause: error });
    case "egress_refused":
      return new AppError("network_unreachable", {
        message: `the node's URL is not reached: ${error.message}`,
        cause: error,
      });
    case "network_unreachable":
    case "network_answer_invalid":
      return error;
    default:
      return new AppError("network_unreachable", { message: "the node cannot be reached", cause: error });
  }
}

function invalid(message: string): AppError {
  return new AppError("network_answer_invalid", { message });
}
