/** The settings of those who run the server: its log, its metrics, and how it stops. */
import Type from "typebox";
import { Port, setting } from "./setting-spec.js";

export const OPERATION_SETTINGS = {
  log_level: setting({
    env: "PROOFWRIGHT_LOG_LEVEL",
    flag: "log-level",
    schema: Type.Union([
      Type.Literal("error"),
      Type.Literal("warn"),
      Type.Literal("info"),
      Type.Literal("debug"),
      Type.Literal("silent"),
    ]),
    default: "info",
    description: "error, warn, info, debug or silent",
  }),
  access_log: setting({
    env: "PROOFWRIGHT_ACCESS_LOG",
    flag: "access-log",
    schema: Type.Boolean(),
    default: false,
    description:
      "write a line for each request, with its route, method, status, time, subject and the client's address, which is personal data; needs the log level info or debug",
  }),
  shutdown_delay: setting({
    env: "PROOFWRIGHT_SHUTDOWN_DELAY",
    flag: "shutdown-delay",
    schema: Type.Integer({ minimum: 0, maximum: 600 }),
    default: 0,
    unit: "seconds",
    description:
      "how long the server serves on after SIGTERM while /readyz answers 503, so that a load balancer sends its requests elsewhere before the listener closes; longer than its health check takes to notice",
  }),
  shutdown_grace: setting({
    env: "PROOFWRIGHT_SHUTDOWN_GRACE",
    flag: "shutdown-grace",
    schema: Type.Integer({ minimum: 0, maximum: 600 }),
    default: 20,
    unit: "seconds",
    description:
      "how long admitted requests may take after that; what is left is answered 503. Allow both together and 10 s more before a kill",
  }),
  metrics_port: setting({
    env: "PROOFWRIGHT_METRICS_PORT",
    flag: "metrics-port",
    schema: Port,
    description: "serve Prometheus metrics at /metrics on this port of metrics_host, without a token; off by default",
  }),
  traces_url: setting({
    env: "PROOFWRIGHT_TRACES_URL",
    flag: "traces-url",
    schema: Type.String({ minLength: 1, maxLength: 2000, pattern: "^https?://[^\\s]+$" }),
    description:
      "send OpenTelemetry traces to this address of a collector by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces; needs its packages (see README), off by default",
  }),
  traces_share: setting({
    env: "PROOFWRIGHT_TRACES_SHARE",
    flag: "traces-share",
    schema: Type.Number({ minimum: 0, maximum: 1 }),
    default: 1,
    description: "share of the traces that are sent, by the trace's id; those that come in as not sampled never are",
  }),
  metrics_host: setting({
    env: "PROOFWRIGHT_METRICS_HOST",
    flag: "metrics-host",
    schema: Type.String({ minLength: 1, maxLength: 255 }),
    default: "127.0.0.1",
    description:
      "address for the metrics, such as 0.0.0.0 for a scraper on another machine; whoever reaches it reads figures of the server, without a token",
  }),
};
