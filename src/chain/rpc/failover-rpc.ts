/**
 * The nodes of a network as one: asks the first that answers, turns to the next when it fails, and comes back once it
 * has recovered.
 */
import type { Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/net/egress.js";
import { AppError, assert } from "../../platform/errors.js";
import type { EndpointChange, EndpointHealth } from "./endpoint-health.js";
import { RpcEndpoint, Unheard, type Authorization, type EndpointCall } from "./endpoint.js";
import { isNodeFault } from "./node-faults.js";
import { requestOneByOne } from "./rpc-batch.js";
import { BatchRefused } from "./rpc-reply.js";
import { RpcRefusal, type Rpc, type RpcCall, type RpcOptions, type RpcOutcome } from "./rpc.js";

export interface FailoverOptions {
  /** In the order of preference; at least one. */
  readonly urls: readonly string[];
  /** EIP-155. */
  readonly chainId: number;
  /** By URL. */
  readonly authorizations?: ReadonlyMap<string, Authorization>;
  /** Called for each change of a node's state. */
  readonly onChange?: (change: EndpointChange) => void;
}

/** All attempts of one call together: below the 15 s that a request to this server may take. */
const TIMEOUT_MS = 9_000;
/** One attempt, so that a node that hangs leaves time for another. */
const ATTEMPT_TIMEOUT_MS = 5_000;
/**
 * Calls of one request, and characters of their parameters: within what public nodes take (geth: 1,000 calls, 5 MiB).
 */
const BATCH_CALLS_MAX = 64;
const BATCH_CHARACTERS_MAX = 256 * 1024;

export class FailoverRpc implements Rpc {
  readonly endpoints: readonly RpcEndpoint[];
  readonly #clock: Clock;

  constructor(
    { urls, chainId, authorizations, onChange }: FailoverOptions,
    dependencies: { readonly egress: Egress; readonly clock: Clock },
  ) {
    assert(urls.length > 0, "a network that is asked has a URL");
    this.#clock = dependencies.clock;
    this.endpoints = urls.map(
      (url) => new RpcEndpoint({ url, chainId, authorization: authorizations?.get(url), onChange }, dependencies),
    );
  }

  /** Returns how each node fares, in the order of preference. */
  health(): EndpointHealth[] {
    return this.endpoints.map((endpoint) => endpoint.health());
  }

  /** As `Rpc.request`. */
  async request(method: string, params: readonly unknown[], options: RpcOptions = {}): Promise<unknown> {
    const answer = await this.#attempt(options, async (endpoint, call) => await endpoint.request(method, params, call));
    return answer.value;
  }

  /** As `Rpc.requestMany`. */
  async requestMany(calls: readonly RpcCall[], options: RpcOptions = {}): Promise<readonly RpcOutcome[]> {
    const outcomes: RpcOutcome[] = [];
    for (const batch of batchesOf(calls)) outcomes.push(...(await this.#batch(batch, options)));
    return outcomes;
  }

  async #batch(calls: readonly RpcCall[], options: RpcOptions): Promise<readonly RpcOutcome[]> {
    if (calls.length === 1) return await requestOneByOne(this, calls, options);
    try {
      const { value: outcomes, isAfterFailure } = await this.#attempt(options, async (endpoint, call) => {
        if (!endpoint.takesBatches) throw new BatchRefused();
        return await endpoint.requestMany(calls, call);
      });
      return await this.#askAgain(calls, isAfterFailure ? outcomes.map(afterFailure) : outcomes, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof BatchRefused) {
        const outcomes = await requestOneByOne(this, calls, options);
        return error.isAfterFailure ? outcomes.map(afterFailure) : outcomes;
      }
      return calls.map(() => ({ ok: false, error }));
    }
  }

  /** Asks again, each alone, what a node could not answer for reasons of its own, where there is another. */
  async #askAgain(
    calls: readonly RpcCall[],
    outcomes: readonly RpcOutcome[],
    options: RpcOptions,
  ): Promise<readonly RpcOutcome[]> {
    if (this.endpoints.length === 1) return outcomes;
    const failed = calls.flatMap((call, at) => (isFaulty(outcomes[at]) ? [{ call, at }] : []));
    if (failed.length === 0) return outcomes;
    const again = await requestOneByOne(
      this,
      failed.map(({ call }) => call),
      options,
    );
    const byPlace = new Map(failed.map(({ at }, index) => [at, again[index]]));
    return outcomes.map((outcome, at) => {
      const second = byPlace.get(at);
      return second === undefined ? outcome : afterFailure(second);
    });
  }

  /**
   * Asks one node after another until one answers; a refusal is an answer, unless it tells of the node alone. Throws
   * the failure that says most.
   */
  async #attempt<T>(
    { timeoutMs = TIMEOUT_MS, signal, isOutline }: RpcOptions,
    work: (endpoint: RpcEndpoint, call: EndpointCall) => Promise<T>,
  ): Promise<{ readonly value: T; readonly isAfterFailure: boolean }> {
    const endMs = this.#clock.monotonicMs() + timeoutMs;
    const failures: unknown[] = [];
    /** Of nodes that heard the call: each may have done what was asked. */
    let heard = 0;
    const order = this.#inOrder();
    const [first] = order;
    // A kept connection may be closed while a request is sent: a node that answered before is asked again on a new one.
    if (first?.health().state === "up") order.splice(1, 0, first);
    for (const [at, endpoint] of order.entries()) {
      if (at === 1 && endpoint === first && !isConnectionLost(failures[0])) continue;
      const leftMs = endMs - this.#clock.monotonicMs();
      if (leftMs <= 0) break;
      try {
        const value = await work(endpoint, { timeoutMs: Math.min(leftMs, ATTEMPT_TIMEOUT_MS), signal, isOutline });
        return { value, isAfterFailure: heard > 0 };
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof BatchRefused) throw heard > 0 ? new BatchRefused({ isAfterFailure: true }) : error;
        if (error instanceof RpcRefusal && !isNodeFault(error)) throw heard > 0 ? error.afterFailure() : error;
        failures.push(error instanceof Unheard ? error.failure : error);
        if (!(error instanceof Unheard)) heard += 1;
      }
    }
    const failure = mostTelling(failures);
    // The refusal is one node's; what the others that heard the call did with it is not known.
    throw failure instanceof RpcRefusal && heard > 1 ? failure.afterFailure() : failure;
  }

  /** Nodes that pause after failures come last: they are asked when no other is left, rather than none. */
  #inOrder(): RpcEndpoint[] {
    if (this.endpoints.length === 1) return [...this.endpoints];
    const ready = this.endpoints.filter((endpoint) => endpoint.isReady);
    const pausing = this.endpoints
      .filter((endpoint) => !ready.includes(endpoint))
      .sort((a, b) => a.failuresInARow - b.failuresInARow);
    return [...ready, ...pausing];
  }
}

/** Splits calls so that each request stays within what public nodes take. */
function batchesOf(calls: readonly RpcCall[]): RpcCall[][] {
  const batches: RpcCall[][] = [];
  let room = 0;
  for (const call of calls) {
    const characters = call.params.reduce(
      (sum: number, param) => sum + (typeof param === "string" ? param.length : 0),
      0,
    );
    const last = batches.at(-1);
    if (last === undefined || last.length >= BATCH_CALLS_MAX || characters > room) {
      batches.push([call]);
      room = BATCH_CHARACTERS_MAX - characters;
    } else {
      last.push(call);
      room -= characters;
    }
  }
  return batches;
}

/** True when the connection was refused or lost, rather than the request. */
function isConnectionLost(error: unknown): boolean {
  return (
    error instanceof AppError &&
    error.code === "network_unreachable" &&
    error.cause instanceof AppError &&
    error.cause.code === "egress_unreachable"
  );
}

/** The outcome of a call that another node heard before. */
function afterFailure(outcome: RpcOutcome): RpcOutcome {
  return !outcome.ok && outcome.error instanceof RpcRefusal
    ? { ok: false, error: outcome.error.afterFailure() }
    : outcome;
}

function isFaulty(outcome: RpcOutcome | undefined): boolean {
  return outcome?.ok === false && outcome.error instanceof RpcRefusal && isNodeFault(outcome.error);
}

/** What a node said; a wrong chain, which only a change of the configuration mends; otherwise the last failure. */
function mostTelling(failures: readonly unknown[]): unknown {
  return (
    failures.find((error) => error instanceof RpcRefusal) ??
    failures.find((error) => error instanceof AppError && error.code === "network_chain_mismatch") ??
    failures.at(-1) ??
    new AppError("network_timeout", { message: "the node did not answer in time" })
  );
}
