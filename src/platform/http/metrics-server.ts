/** Serves `/metrics` on an address of its own, meant for loopback: it needs no token, so it may expose only figures. */
import type { Log } from "../log.js";
import type { HttpDriver, RawRequest, RawResponse } from "./drivers/driver.js";

export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
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
  dependencies: { readonly metrics: MetricsSource; readonly log: Log; readonly driver: HttpDriver },
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

function serve(
  response: RawResponse,
  request: RawRequest,
  dependencies: { readonly metrics: MetricsSource; readonly log: Log },
): void {
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
  if (request.getCaseSensitiveMethod() !== "GET" || request.getUrl() !== "/metrics") {
    answer("404 Not Found", "text/plain", "only GET /metrics is served here\n");
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
