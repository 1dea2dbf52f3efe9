/** The stage that runs a route's handler: once per Idempotency-Key where the route creates something. */
import type { AnyReply } from "../../contract/route.js";
import type { CompiledRoute } from "../compiled-route.js";
import type { CheckedRequest } from "../request/checked-request.js";
import type { Exchange } from "../request/exchange.js";
import { checkedIdempotencyKey, hashRequest, runOnce, type IdempotencyStore } from "./idempotency.js";

/** One call of a handler, with what identifies a repeat of it. */
export interface HandlerCall {
  readonly exchange: Exchange;
  readonly compiled: CompiledRoute;
  /** Canonical path. */
  readonly path: string;
  /** The body as sent, or what it means where its bytes differ with each try: a form's boundary, an archive's time. */
  readonly meant: Uint8Array | (() => Uint8Array);
  readonly request: CheckedRequest;
}

export class HandlerRunner {
  readonly #requestHashKey: Uint8Array;
  readonly #store: IdempotencyStore | undefined;

  /** @param options `requestHashKey`: 32 bytes, the same after a restart */
  constructor(
    options: { readonly requestHashKey: Uint8Array },
    dependencies: { readonly idempotency?: IdempotencyStore },
  ) {
    this.#requestHashKey = options.requestHashKey;
    this.#store = dependencies.idempotency;
  }

  /**
   * Runs the handler, or returns the stored answer of the same request.
   * @throws malformed_request, idempotency_key_reused or idempotency_in_progress beside the handler's own failures
   */
  run({ exchange, compiled, path, meant, request }: HandlerCall): AnyReply | Promise<AnyReply> {
    const key = exchange.head.headers["idempotency-key"];
    const { subject } = exchange;
    if (key === undefined || compiled.route.creates !== true || this.#store === undefined || subject === undefined)
      return compiled.handler(request as never);
    const body = typeof meant === "function" ? meant() : meant;
    const requestHash = hashRequest(this.#requestHashKey, { path, query: exchange.head.query, body });
    const { id: routeId, keepsOnce = false } = compiled.route;
    const claim = { subject, routeId, key: checkedIdempotencyKey(key), requestHash, keepsOnce };
    return runOnce(this.#store, claim, (once) => {
      request.once = once;
      return compiled.handler(request as never);
    });
  }
}
