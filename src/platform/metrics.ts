/**
 * Counters and histograms for Prometheus. Labels are route ids, methods, statuses and names of pools; never the id of a
 * record or a subject.
 */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

export interface MetricsDependencies {
  /** Returns the waiting tasks per pool; called at each scrape. */
  readonly lanesWaiting?: () => Readonly<Record<string, number>>;
}

/** From a cached read, a fraction of a millisecond, to a long proof. */
const SECONDS_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export class Metrics {
  readonly #registry = new Registry();
  readonly #seconds: Histogram<"route" | "method" | "status">;
  readonly #abandoned: Counter<"route">;
  readonly #inFlight = new Map<symbol, number>();

  constructor(dependencies: MetricsDependencies) {
    const registers = [this.#registry];
    // Lag of the event loop, garbage collection, memory and file descriptors of the process.
    collectDefaultMetrics({ register: this.#registry });
    this.#seconds = new Histogram({
      name: "proofwright_http_request_seconds",
      help: "Time from the head of a request to the end of its answer",
      labelNames: ["route", "method", "status"],
      buckets: SECONDS_BUCKETS,
      registers,
    });
    this.#abandoned = new Counter({
      name: "proofwright_http_abandoned_total",
      help: "Requests whose client disconnected before the answer",
      labelNames: ["route"],
      registers,
    });
    const inFlight = this.#inFlight;
    new Gauge({
      name: "proofwright_http_requests_in_flight",
      help: "Requests being served",
      registers,
      collect() {
        this.set([...inFlight.values()].reduce((sum, count) => sum + count, 0));
      },
    });
    const { lanesWaiting } = dependencies;
    if (lanesWaiting === undefined) return;
    new Gauge({
      name: "proofwright_lane_waiting",
      help: "Tasks waiting for a thread",
      labelNames: ["lane"],
      registers,
      collect() {
        for (const [lane, count] of Object.entries(lanesWaiting())) this.set({ lane }, count);
      },
    });
  }

  /** Returns the recorder of one HTTP server; the figures of several servers are added up. */
  forServer(): {
    requestEnded(routeId: string, method: string, status: number, seconds: number): void;
    requestsInFlight(count: number): void;
  } {
    const server = Symbol("server");
    return {
      requestEnded: (route, method, status, seconds) => {
        if (status === 0) this.#abandoned.inc({ route });
        else this.#seconds.observe({ route, method, status: String(status) }, seconds);
      },
      requestsInFlight: (count) => {
        this.#inFlight.set(server, count);
      },
    };
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Returns all metrics in the text format of Prometheus. */
  async render(): Promise<string> {
    return await this.#registry.metrics();
  }
}
