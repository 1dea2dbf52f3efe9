/**
 * Counters and histograms for Prometheus. Labels are route ids, methods, statuses and names of pools; never the id of a
 * record or a subject.
 */
import type { LaneFigures } from "./pool/lane.js";
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

export interface MetricsDependencies {
  /** Returns what waits and runs in each lane; called at each scrape. */
  readonly lanes?: () => Readonly<Record<string, LaneFigures>>;
  /** Further figures, read at each scrape. */
  readonly figures?: readonly Figure[];
  /** Returns how often verifiers of different code disagreed on a proof; called at each scrape. */
  readonly disagreements?: () => number;
  /** Returns how often the four-lane kernels were given up because a proof was wrong; called at each scrape. */
  readonly wideDiscards?: () => number;
  /** Returns how often a verifier contract and this server have disagreed since the start; called at each scrape. */
  readonly verifierDisagreements?: () => number;
}

/** A figure that others keep, read at each scrape. */
export interface Figure {
  /** `counter` only grows while the process runs. */
  readonly kind: "gauge" | "counter";
  /** With the unit last; a counter's ends in `_total`. */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly read: () => FigureValues | Promise<FigureValues>;
}

/** A number, or a number for each set of labels. */
export type FigureValues =
  number | readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];

/** The end of a prover's provisioning. */
export interface ProverOutcome {
  readonly outcome: "provisioned" | "failed";
  readonly provingScheme: string;
  /** From its creation; undefined where that is not known any more. */
  readonly seconds: number | undefined;
}

/** From a small circuit, a second, to one of a million constraints with a ceremony of an hour. */
const PROVISIONING_BUCKETS = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const TOO_MANY_REQUESTS = 429;

/** From a cached read, a fraction of a millisecond, to a long proof. */
const SECONDS_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export class Metrics {
  readonly #registry = new Registry();
  readonly #seconds: Histogram<"route" | "method" | "status">;
  readonly #abandoned: Counter<"route">;
  readonly #throttled: Counter<"route">;
  readonly #provers: Counter<"outcome" | "proving_scheme">;
  readonly #provisioning: Histogram<"outcome">;
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
    this.#throttled = new Counter({
      name: "proofwright_http_throttled_total",
      help: "Requests refused with 429, for a rate or for too many at once",
      labelNames: ["route"],
      registers,
    });
    this.#provers = new Counter({
      name: "proofwright_provers_total",
      help: "Provers whose provisioning ended, by outcome",
      labelNames: ["outcome", "proving_scheme"],
      registers,
    });
    this.#provisioning = new Histogram({
      name: "proofwright_provisioning_seconds",
      help: "Time from the creation of a prover to the end of its provisioning, with the wait for its turn",
      labelNames: ["outcome"],
      buckets: PROVISIONING_BUCKETS,
      registers,
    });
    for (const figure of dependencies.figures ?? []) registerFigure(figure, registers);
    registerInFlight(this.#inFlight, registers);
    const { verifierDisagreements, wideDiscards } = dependencies;
    if (verifierDisagreements !== undefined) registerDisagreements(verifierDisagreements, registers);
    if (wideDiscards !== undefined) registerWideDiscards(wideDiscards, registers);
    if (dependencies.lanes !== undefined) registerLanes(dependencies.lanes, registers);
    const { disagreements } = dependencies;
    if (disagreements !== undefined)
      new Counter({
        name: "proofwright_assurance_disagreements_total",
        help: "Proofs on which verifiers of different code disagreed; any at all is a fault of one of them",
        registers,
        collect() {
          this.reset();
          this.inc(disagreements());
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
        if (status === TOO_MANY_REQUESTS) this.#throttled.inc({ route });
      },
      requestsInFlight: (count) => {
        this.#inFlight.set(server, count);
      },
    };
  }

  /** Counts a prover whose provisioning ended. */
  proverEnded({ outcome, provingScheme, seconds }: ProverOutcome): void {
    this.#provers.inc({ outcome, proving_scheme: provingScheme });
    if (seconds !== undefined) this.#provisioning.observe({ outcome }, seconds);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Returns all metrics in the text format of Prometheus. */
  async render(): Promise<string> {
    return await this.#registry.metrics();
  }
}

/** One that cannot be read, such as a disk's, is left out of this scrape, which must not fail for it. */
function registerFigure({ kind, name, help, labelNames = [], read }: Figure, registers: Registry[]): void {
  const options = { name, help, labelNames: [...labelNames], registers };
  const valuesOf = async (): Promise<
    readonly { readonly labels: Record<string, string>; readonly value: number }[]
  > => {
    try {
      const values = await read();
      return typeof values === "number" ? [{ labels: {}, value: values }] : values;
    } catch {
      return [];
    }
  };
  if (kind === "gauge")
    new Gauge({
      ...options,
      async collect() {
        const values = await valuesOf();
        this.reset();
        // A reset gauge without labels says 0, which nobody has measured.
        if (values.length === 0) this.remove();
        for (const { labels, value } of values) this.set(labels, value);
      },
    });
  else
    new Counter({
      ...options,
      async collect() {
        const values = await valuesOf();
        this.reset();
        if (values.length === 0) this.remove();
        for (const { labels, value } of values) this.inc(labels, value);
      },
    });
}

function registerInFlight(inFlight: ReadonlyMap<symbol, number>, registers: Registry[]): void {
  new Gauge({
    name: "proofwright_http_requests_in_flight",
    help: "Requests being served",
    registers,
    collect() {
      this.set([...inFlight.values()].reduce((sum, count) => sum + count, 0));
    },
  });
}

/** Anything but 0 is an alarm: a contract on a chain, or this server, may take wrong proofs or refuse right ones. */
function registerDisagreements(countOf: () => number, registers: Registry[]): void {
  new Counter({
    name: "proofwright_verifier_disagreements_total",
    help: "Times that a verifier contract on a chain disagreed with this server, or had other code than was deployed",
    registers,
    collect() {
      this.reset();
      this.inc(countOf());
    },
  });
}

/** 1 is an alarm: this version of Node computes wrongly on this CPU. */
function registerWideDiscards(countOf: () => number, registers: Registry[]): void {
  new Counter({
    name: "proofwright_wide_kernel_discards_total",
    help: "Times that the four-lane kernels were given up for the process because a proof, a key or a verification was wrong on them",
    registers,
    collect() {
      this.reset();
      this.inc(countOf());
    },
  });
}

/** The lanes keep their figures themselves; each scrape reads them. */
function registerLanes(lanes: () => Readonly<Record<string, LaneFigures>>, registers: Registry[]): void {
  const metrics: readonly (readonly [name: string, help: string, valueOf: (figures: LaneFigures) => number])[] = [
    ["proofwright_lane_waiting", "Tasks waiting for a place", ({ waiting }) => waiting],
    ["proofwright_lane_running", "Tasks that run", ({ running }) => running],
  ];
  const totals: typeof metrics = [
    ["proofwright_lane_started_total", "Tasks that began", ({ started }) => started],
    ["proofwright_lane_refused_total", "Tasks refused because the queue was full", ({ refused }) => refused],
    [
      "proofwright_lane_wait_seconds_total",
      "Time that the tasks which began had waited",
      ({ waitSeconds }) => waitSeconds,
    ],
  ];
  const labelNames = ["lane"] as const;
  for (const [name, help, valueOf] of metrics)
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [lane, figures] of Object.entries(lanes())) this.set({ lane }, valueOf(figures));
      },
    });
  for (const [name, help, valueOf] of totals)
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [lane, figures] of Object.entries(lanes())) this.inc({ lane }, valueOf(figures));
      },
    });
}
