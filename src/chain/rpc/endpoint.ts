/**
 * One JSON-RPC URL of a network. Checks that the node is of the right chain on first use, on every new connection
 * before anything that it answers is used, and from time to time, because another node may take over the address behind
 * a proxy that keeps the connection. Remembers how it fares.
 */
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { JsonOutline } from "../../platform/json/json-outline.js";
import type { Egress, EgressAnswer } from "../../platform/net/egress.js";
import { isTraced, traced, traceHeaders, type StepAttributes } from "../../platform/tracing/steps.js";
import {
  EndpointHealthRecord,
  type EndpointChange,
  type EndpointHealth,
  type EndpointNote,
} from "./endpoint-health.js";
import { BatchRefused, invalidAnswer, rateLimitOf, readBatchReply, readReply } from "./rpc-reply.js";
import type { RpcCall, RpcOutcome } from "./rpc.js";

export interface EndpointOptions {
  readonly url: string;
  /** EIP-155 number that the node must have; undefined: any. */
  readonly chainId: number | undefined;
  readonly authorization?: Authorization | undefined;
  /** Called for each change of the endpoint's state, not for each request. */
  readonly onChange?: ((change: EndpointChange) => void) | undefined;
}

/** Returns the Authorization header; called for each request. Throws an AppError when it cannot be had. */
export type Authorization = () => Promise<string>;

/** The limits of one request. */
export interface EndpointCall {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** As RpcOptions.isOutline. */
  readonly isOutline?: boolean | undefined;
}

/** The node failed before the call was sent to it. */
export class Unheard extends Error {
  override readonly name = "Unheard";
  readonly failure: unknown;

  constructor(failure: unknown) {
    super("the node did not hear the call");
    this.failure = failure;
  }
}

/** What a node answered, and whether the connection was opened for it. */
interface Answered<T> {
  readonly value: T;
  readonly isNewConnection: boolean;
}

/** Full blocks and pages of logs are longer than the guard's usual answers. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Of answers of which an outline is kept: the receipt of all logs that 16 million gas pay for (EIP-7825), and more. */
const OUTLINED_BYTES_MAX = 64 * 1024 * 1024;
/** A node that refused a batch is sent one again after this, because another may have replaced it. */
const BATCH_RETRY_MS = 600_000;
/** A node of another chain gets what is sent to it for this long at most. */
const CHAIN_CHECK_MS = 60_000;
/** A connection that was silent for this long may be closed: a transaction is sent after the node told its chain. */
const SILENT_MS = 3_000;
/** Up to 2^52 - 1. */
const CHAIN_ID = /^0x[0-9a-f]{1,13}$/i;

export class RpcEndpoint {
  readonly url: string;
  readonly #chainId: number | undefined;
  readonly #authorization: Authorization | undefined;
  readonly #egress: Egress;
  readonly #clock: Clock;
  readonly #health: EndpointHealthRecord;
  /** When the node last told the right chain; undefined when that must be asked. */
  #chainCheckedAtMs: number | undefined;
  #answeredAtMs = -Infinity;
  #checking: Promise<void> | undefined;
  #lastId = 0;
  #takesBatchesFromMs = -Infinity;

  constructor(
    { url, chainId, authorization, onChange }: EndpointOptions,
    { egress, clock }: { readonly egress: Egress; readonly clock: Clock },
  ) {
    this.url = url;
    this.#chainId = chainId;
    this.#authorization = authorization;
    this.#egress = egress;
    this.#clock = clock;
    this.#health = new EndpointHealthRecord(onChange ?? (() => undefined), { clock });
  }

  /** False during the pause after a failure. */
  get isReady(): boolean {
    return this.#health.isReady;
  }

  /** False for a while after the node refused several calls in one request. */
  get takesBatches(): boolean {
    return this.#clock.monotonicMs() >= this.#takesBatchesFromMs;
  }

  get failuresInARow(): number {
    return this.#health.failuresInARow;
  }

  /** Returns how the endpoint fares. */
  health(): EndpointHealth {
    return this.#health.read(this.url);
  }

  /** Returns the changes of its state in words, oldest first. */
  notes(): readonly EndpointNote[] {
    return this.#health.notes;
  }

  /** As `Rpc.request`, of this node alone. Throws Unheard, too. */
  async request(method: string, params: readonly unknown[], call: EndpointCall): Promise<unknown> {
    await this.#prepare(call, [method]);
    const { value, isNewConnection } = await this.#send(method, params, call);
    // Another node may have taken over the address: its answer counts only if its chain is the right one.
    if (isNewConnection && method !== "eth_chainId") await this.#checkChain(call);
    return value;
  }

  /**
   * Sends several calls in one request and returns an outcome for each.
   * @throws BatchRefused, and what `request` throws when no sound answer came
   */
  async requestMany(calls: readonly RpcCall[], call: EndpointCall): Promise<readonly RpcOutcome[]> {
    await this.#prepare(
      call,
      calls.map(({ method }) => method),
    );
    const { value, isNewConnection } = await this.#sendBatch(calls, call);
    if (isNewConnection) await this.#checkChain(call);
    return value;
  }

  /** Makes sure that the node is of the right chain. Throws Unheard. */
  async #prepare(call: EndpointCall, methods: readonly string[]): Promise<void> {
    if (!this.#isCheckDue(methods)) return;
    try {
      await this.#checkChain(call);
    } catch (error) {
      call.signal?.throwIfAborted();
      throw new Unheard(error);
    }
  }

  #isCheckDue(methods: readonly string[]): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#chainCheckedAtMs === undefined || nowMs - this.#chainCheckedAtMs >= CHAIN_CHECK_MS) return true;
    return nowMs - this.#answeredAtMs >= SILENT_MS && methods.includes("eth_sendRawTransaction");
  }

  /** Asks for the chain's number, once for all requests that wait for it. Throws `network_chain_mismatch`. */
  async #checkChain(call: EndpointCall): Promise<void> {
    this.#checking ??= this.#askChain(call.timeoutMs).finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
    call.signal?.throwIfAborted();
  }

  async #askChain(timeoutMs: number): Promise<void> {
    const { value } = await this.#send("eth_chainId", [], { timeoutMs, signal: undefined });
    if (typeof value !== "string" || !CHAIN_ID.test(value))
      throw this.#fail(invalidAnswer("the node's chain id is no number"));
    const chainId = Number(value);
    if (this.#chainId !== undefined && chainId !== this.#chainId) {
      const error = new AppError("network_chain_mismatch", {
        message: `the node is of chain ${String(chainId)}, the network of chain ${String(this.#chainId)}`,
      });
      throw this.#fail(error, "mismatch");
    }
    this.#chainCheckedAtMs = this.#clock.monotonicMs();
    this.#health.recover(chainId);
  }

  /** One call. Throws RpcRefusal, and an AppError when no sound answer came. */
  async #send(method: string, params: readonly unknown[], call: EndpointCall): Promise<Answered<unknown>> {
    this.#lastId += 1;
    const id = this.#lastId;
    const body = { jsonrpc: "2.0", id, method, params };
    const { value: reply, isNewConnection } = await this.#post(body, call, (answer) => readReply(answer, id));
    if (reply.ok) return { value: reply.result, isNewConnection };
    const limit = rateLimitOf(reply.error);
    throw limit === undefined ? reply.error : this.#fail(limit);
  }

  /** Several calls in one body. Throws BatchRefused, and an AppError when no sound answer came. */
  async #sendBatch(calls: readonly RpcCall[], call: EndpointCall): Promise<Answered<RpcOutcome[]>> {
    const ids = { first: this.#lastId + 1, count: calls.length };
    this.#lastId += calls.length;
    const body = calls.map(({ method, params }, at) => ({ jsonrpc: "2.0", id: ids.first + at, method, params }));
    return await this.#post(body, call, (answer) => this.#readBatch(answer, ids));
  }

  #readBatch(answer: EgressAnswer, ids: { readonly first: number; readonly count: number }): RpcOutcome[] {
    try {
      return readBatchReply(answer, ids);
    } catch (error) {
      if (error instanceof BatchRefused) {
        this.#takesBatchesFromMs = this.#clock.monotonicMs() + BATCH_RETRY_MS;
        this.#health.addNote("takes one call a request");
      }
      throw error;
    }
  }

  /**
   * Sends a body and reads the answer. Throws BatchRefused, and an AppError when no sound answer came.
   * @param read may throw the same
   */
  async #post<T>(
    body: object,
    { timeoutMs, signal, isOutline = false }: EndpointCall,
    read: (answer: EgressAnswer) => T,
  ): Promise<Answered<T>> {
    const authorization = await this.#authorization?.();
    signal?.throwIfAborted();
    this.#health.countRequest();
    const startedMs = this.#clock.monotonicMs();
    try {
      const fetched = tracedFetch(Array.isArray(body) ? body.length : 1, () =>
        this.#egress.fetch(this.url, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            ...(authorization === undefined ? {} : { authorization }),
            ...traceHeaders(),
          },
          body: JSON.stringify(body),
          timeoutMs,
          answerBytesMax: isOutline ? OUTLINED_BYTES_MAX : ANSWER_BYTES_MAX,
          ...(isOutline ? { reducer: new JsonOutline() } : {}),
          ...(signal === undefined ? {} : { signal }),
        }),
      );
      const answer = await fetched;
      const value = read(answer);
      this.#answeredAtMs = this.#clock.monotonicMs();
      this.#health.addLatency(this.#clock.monotonicMs() - startedMs);
      return { value, isNewConnection: answer.isNewConnection === true };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof BatchRefused) throw error;
      // The answers were too long together; each alone may not be.
      if (Array.isArray(body) && error instanceof AppError && error.code === "egress_answer_too_large")
        throw new BatchRefused();
      const failure = fromEgress(error);
      // A node that has told its chain is none the worse for a long answer.
      throw isTooLong(failure) && this.#chainCheckedAtMs !== undefined ? failure : this.#fail(failure);
    }
  }

  /** Records a failure and returns it. The chain is checked again before the next answer is used. */
  #fail(error: AppError, state: "down" | "mismatch" = "down"): AppError {
    this.#chainCheckedAtMs = undefined;
    this.#health.fail(error, state);
    return error;
  }
}

/** Shows a request as a step: without the node's address, which may hold a key, and without what is asked. */
function tracedFetch(calls: number, fetch: () => Promise<EgressAnswer>): Promise<EgressAnswer> {
  if (!isTraced()) return fetch();
  let status = 0;
  const attributes = (): StepAttributes => ({
    "http.request.method": "POST",
    "proofwright.rpc.calls": calls,
    ...(status === 0 ? {} : { "http.response.status_code": status }),
  });
  return traced({ name: "rpc", kind: "client", attributes, isFailed: () => status >= 400 }, async () => {
    const answer = await fetch();
    ({ status } = answer);
    return answer;
  });
}

/** Returns true for the failure of a call whose answer is longer than what is kept of one. */
export function isTooLong(error: unknown): boolean {
  return (
    error instanceof AppError &&
    error.code === "network_answer_invalid" &&
    error.cause instanceof AppError &&
    error.cause.code === "egress_answer_too_large"
  );
}

/** The failure of a request in the words of networks. */
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
        message: `requests to the node's URL are not allowed: ${error.message}`,
        cause: error,
      });
    case "network_unreachable":
    case "network_answer_invalid":
      return error;
    default:
      return new AppError("network_unreachable", { message: "the node cannot be reached", cause: error });
  }
}
