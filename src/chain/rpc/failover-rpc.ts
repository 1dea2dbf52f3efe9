/** The nodes of a network as one: asks the first that is well, turns to the next when it fails, and comes back when it has recovered. */
import type { Clock } from "../../platform/clock.js";
import type { Egress } from "../../platform/egress/egress.js";
import { AppError, assert } from "../../platform/errors.js";
import { RpcEndpoint, type EndpointHealth } from "./endpoint.js";
import { RpcRefusal, type Rpc, type RpcOptions } from "./rpc.js";

export interface FailoverOptions {
  /** In the order of preference; at least one. */
  readonly urls: readonly string[];
  /** EIP-155. */
  readonly chainId: number;
}

/** All tries of one call together: below the 15 s that a request of ours has. */
const TIMEOUT_MS = 9_000;
/** One node's share, so that a hanging one leaves time for another. */
const TRY_TIMEOUT_MS = 5_000;

export class FailoverRpc implements Rpc {
  readonly endpoints: readonly RpcEndpoint[];
  readonly #clock: Clock;

  constructor({ urls, chainId }: FailoverOptions, dependencies: { readonly egress: Egress; readonly clock: Clock }) {
    assert(urls.length > 0, "a network that is asked has a URL");
    this.#clock = dependencies.clock;
    this.endpoints = urls.map((url) => new RpcEndpoint({ url, chainId }, dependencies));
  }

  health(): EndpointHealth[] {
    return this.endpoints.map((endpoint) => endpoint.health());
  }

  async request(method: string, params: readonly unknown[], { timeoutMs = TIMEOUT_MS, signal }: RpcOptions = {}): Promise<unknown> {
    const end = this.#clock.monotonicMs() + timeoutMs;
    const failures: unknown[] = [];
    const order = this.#inOrder();
    const [first] = order;
    // A connection that was kept open may close under a request: one that answered a moment ago gets a second try on a new one.
    if (first?.health().state === "up") order.splice(1, 0, first);
    for (const [at, endpoint] of order.entries()) {
      if (at === 1 && endpoint === first && !isCutOff(failures[0])) continue;
      const leftMs = end - this.#clock.monotonicMs();
      if (leftMs <= 0) break;
      try {
        return await endpoint.request(method, params, { timeoutMs: Math.min(leftMs, TRY_TIMEOUT_MS), signal });
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof RpcRefusal) throw error;
        failures.push(error);
      }
    }
    throw mostTelling(failures);
  }

  /** Those that rest after failures come last: they are asked when nobody else is left, so that a call never fails untried. */
  #inOrder(): RpcEndpoint[] {
    if (this.endpoints.length === 1) return [...this.endpoints];
    const ready = this.endpoints.filter((endpoint) => endpoint.isReady);
    const resting = this.endpoints.filter((endpoint) => !ready.includes(endpoint)).sort((a, b) => a.failuresInARow - b.failuresInARow);
    return [...ready, ...resting];
  }
}

function isCutOff(error: unknown): boolean {
  return error instanceof AppError && error.code === "network_unreachable" && error.cause instanceof AppError && error.cause.code === "egress_unreachable";
}

/** A wrong chain is what somebody must mend; else the last word counts. */
function mostTelling(failures: readonly unknown[]): unknown {
  return failures.find((error) => error instanceof AppError && error.code === "network_chain_mismatch") ?? failures.at(-1) ?? new AppError("network_timeout", { message: "the node did not answer in time" });
}
