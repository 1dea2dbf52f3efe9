/** Shows a request as a step of a trace: its method, route and status, and nothing that the client sent. */
import { HTTP_METHODS } from "../contract/route.js";
import { traced } from "../tracing/steps.js";
import type { Exchange } from "./request/exchange.js";

const METHODS: ReadonlySet<string> = new Set([...HTTP_METHODS, "HEAD", "OPTIONS"]);

/**
 * Serves a request as a step that ends with the exchange.
 * @param serve never rejects
 */
export function traceRequest(exchange: Exchange, serve: () => Promise<void>): void {
  const { head } = exchange;
  const method = METHODS.has(head.method) ? head.method : "_OTHER";
  const path = (): string | undefined => exchange.route?.route.path;
  void traced(
    {
      name: method,
      kind: "server",
      headers: head.headers,
      endName: () => [method, path()].filter((part) => part !== undefined).join(" "),
      attributes: () => ({
        "http.request.method": method,
        ...(exchange.route === undefined ? {} : { "http.route": exchange.route.route.path }),
        // 0: the client left before there was an answer.
        ...(exchange.status === 0 ? {} : { "http.response.status_code": exchange.status }),
      }),
      isFailed: () => exchange.status === 0 || exchange.status >= 500,
    },
    async () => {
      const ended = new Promise<void>((resolve) => (exchange.endTrace = resolve));
      await Promise.all([serve(), ended]);
    },
  );
}
