/**
 * Serves `/metrics` on an address of its own, meant for loopback: it needs no token, so it may expose only figures.
 * Beside them `/livez` and `/readyz`, for workers, which have no other address.
 */
import type { Log } from "../log.js";
import type { HttpDriver, RawRequest, RawResponse } from "./drivers/driver.js";

export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

interface MetricsServerDependencies {
  readonly metrics: MetricsSource;
  /** The conditions for accepting work, by name. */
  readonly readiness: () => readonly { readonly name: string; readonly ok: boolean }[];
  readonly log: Log;
}

export interface MetricsServer {
  listen(): Promise<{ readonly port: number }>;
  stop(): void;
}

/** Enough for a few scrapers and a person. */
const CONNECTIONS_MAX = 16;
const KEEP_ALIVE_SEC = 75;

/** Makes the server; its address is listened on by `listen`. */
export function createMetricsServer(
  options: { readonly host: string; readonly port: number },
  dependencies: MetricsServerDependencies & { readonly driver: HttpDriver },
): MetricsServer {
  const app = dependencies.driver.createHttpApp(
    { connectionsMax: CONNECTIONS_MAX, keepAliveSec: KEEP_ALIVE_SEC },
    (response, request) => {
      serve(response, request, dependencies);
    },
  );
  return {
    listen: async () => await app.listen(options.host, options.port),
    stop: () => {
      app.close();
    },
  };
}

function serve(response: RawResponse, request: RawRequest, dependencies: MetricsServerDependencies): void {
  let gone = false;
  response.onAborted(() => {
    gone = true;
  });
  const answer = (status: string, type: string, body: string): void => {
    if (gone) return;
    gone = true;
    response.cork(() => {
      response.writeStatus(status);
      response.writeHeader("Content-Type", type);
      response.end(body, true);
    });
  };
  const path = request.getCaseSensitiveMethod() === "GET" ? request.getUrl() : undefined;
  if (path === "/livez") {
    answer("200 OK", "text/plain", "live\n");
    return;
  }
  if (path === "/readyz") {
    const failing = dependencies.readiness().filter(({ ok }) => !ok);
    if (failing.length === 0) answer("200 OK", "text/plain", "ready\n");
    else answer("503 Service Unavailable", "text/plain", `not ready: ${failing.map(({ name }) => name).join(", ")}\n`);
    return;
  }
  if (path !== "/metrics") {
    answer("404 Not Found", "text/plain", "only GET /metrics, /livez and /readyz are served here\n");
    return;
  }
  dependencies.metrics.render().then(
    (text) => {
      answer("200 OK", dependencies.metrics.contentType, text);
    },
    () => {
      dependencies.log.error("metrics not rendered");
      answer("500 Internal Server Error", "text/plain", "failed\n");
    },
  );
}
