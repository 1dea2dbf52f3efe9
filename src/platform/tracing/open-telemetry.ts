/**
 * Makes OpenTelemetry spans of the server's steps (steps.ts) and sends them by OTLP over HTTP. Its packages are
 * optional peers, loaded when traces are asked for. Registers nothing globally: other code may trace in its own way.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type * as Api from "@opentelemetry/api";
import type * as Core from "@opentelemetry/core";
import type * as Exporters from "@opentelemetry/exporter-trace-otlp-http";
import type * as Resources from "@opentelemetry/resources";
import type * as Sdk from "@opentelemetry/sdk-trace-base";
import type { Log } from "../log.js";
import { StartError } from "../start-error.js";
import { OUTGOING, STEPS, type MarkedStep } from "./steps.js";

export interface TracingOptions {
  /** Address of a collector's traces, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  /** Share of the traces that begin here or come in as sampled, 0 to 1; by the trace's id, as all servers do. */
  readonly share: number;
  readonly serviceVersion: string;
}

export interface Tracing {
  /** Sends what is left and ends; never rejects, and takes at most ten seconds. */
  stop(): Promise<void>;
}

/** What a step has while it is under way. */
interface Mark {
  readonly span: Api.Span;
}

const PACKAGES =
  "@opentelemetry/api@1.9.1 @opentelemetry/core@2.12.1 @opentelemetry/resources@2.12.1 @opentelemetry/sdk-trace-base@2.12.1 @opentelemetry/exporter-trace-otlp-http@0.223.1";
/** Spans that wait to be sent: a collector that is away costs this much memory, and then spans are dropped. */
const QUEUE_LENGTH_MAX = 4096;
const BATCH_LENGTH_MAX = 512;
const BATCH_DELAY_MS = 2_000;
const EXPORT_TIMEOUT_MS = 5_000;
/** Spans of one length: no attribute of ours is longer, and a mistake must not become a leak of a whole body. */
const ATTRIBUTE_CHARACTERS_MAX = 128;

/**
 * Starts to make and send spans.
 * @throws StartError when the packages are not installed
 */
export async function startTracing(options: TracingOptions, { log }: { readonly log: Log }): Promise<Tracing> {
  const parts = await loadParts();
  const { api, core, resources, sdk, exporter } = parts;
  const samples = new sdk.TraceIdRatioBasedSampler(options.share);
  const provider = new sdk.BasicTracerProvider({
    resource: resources.resourceFromAttributes({
      "service.name": "proofwright",
      "service.version": options.serviceVersion,
    }),
    // A stranger's flag does not raise the share: the decision is by the id alone, or no.
    sampler: new sdk.ParentBasedSampler({ root: samples, remoteParentSampled: samples }),
    spanLimits: { attributeValueLengthLimit: ATTRIBUTE_CHARACTERS_MAX },
    spanProcessors: [
      new sdk.BatchSpanProcessor(
        reporting(new exporter.OTLPTraceExporter({ url: options.url, timeoutMillis: EXPORT_TIMEOUT_MS }), log),
        {
          maxQueueSize: QUEUE_LENGTH_MAX,
          maxExportBatchSize: BATCH_LENGTH_MAX,
          scheduledDelayMillis: BATCH_DELAY_MS,
          exportTimeoutMillis: EXPORT_TIMEOUT_MS,
        },
      ),
    ],
  });
  const listener = new StepListener(api, provider.getTracer("proofwright", options.serviceVersion), {
    propagator: new core.W3CTraceContextPropagator(),
  });
  listener.start();
  return {
    stop: async () => {
      listener.stop();
      await provider.shutdown().catch((error: unknown) => {
        // Said already where sending failed.
        log.debug("traces ended with a failure", () => ({ error }));
      });
    },
  };
}

/** Tells once that the collector takes nothing, and once that it does again. */
function reporting(exporter: Exporters.OTLPTraceExporter, log: Log): Exporters.OTLPTraceExporter {
  const send = exporter.export.bind(exporter);
  let isFailing = false;
  exporter.export = (spans, done) => {
    send(spans, (result) => {
      const failed = result.error !== undefined;
      if (failed && !isFailing) log.warn("traces cannot be sent", { error: result.error });
      if (!failed && isFailing) log.info("traces are sent again");
      isFailing = failed;
      done(result);
    });
  };
  return exporter;
}

/** Keeps the trace of what runs, and makes a span of each step in it. */
class StepListener {
  readonly #api: typeof Api;
  readonly #tracer: Api.Tracer;
  readonly #propagator: Core.W3CTraceContextPropagator;
  readonly #current = new AsyncLocalStorage<Api.Context | undefined>();

  constructor(
    api: typeof Api,
    tracer: Api.Tracer,
    { propagator }: { readonly propagator: Core.W3CTraceContextPropagator },
  ) {
    this.#api = api;
    this.#tracer = tracer;
    this.#propagator = propagator;
  }

  start(): void {
    STEPS.start.bindStore(this.#current, (step) => this.#begin(step));
    subscribe(STEPS.asyncEnd.name, this.#end);
    subscribe(OUTGOING.name, this.#inject);
  }

  stop(): void {
    STEPS.start.unbindStore(this.#current);
    unsubscribe(STEPS.asyncEnd.name, this.#end);
    unsubscribe(OUTGOING.name, this.#inject);
  }

  #begin(step: MarkedStep): Api.Context | undefined {
    const { ROOT_CONTEXT, SpanKind, trace } = this.#api;
    const starts = step.kind === "server" || step.isRoot === true;
    const parent = starts ? this.#incoming(step) : this.#current.getStore();
    if (parent === undefined) return undefined;
    const kind = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }[step.kind];
    const span = this.#tracer.startSpan(step.name, { kind, root: parent === ROOT_CONTEXT }, parent);
    step.mark = { span } satisfies Mark;
    return trace.setSpan(parent, span);
  }

  #incoming({ headers }: MarkedStep): Api.Context {
    const { ROOT_CONTEXT, defaultTextMapGetter } = this.#api;
    return headers === undefined ? ROOT_CONTEXT : this.#propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
  }

  readonly #end = (message: unknown): void => {
    const step = message as MarkedStep;
    const { span } = (step.mark ?? {}) as Partial<Mark>;
    if (span === undefined) return;
    if (step.endName !== undefined) span.updateName(step.endName());
    if (step.attributes !== undefined) span.setAttributes(step.attributes());
    if (step.error !== undefined) span.setAttribute("error.type", errorType(step.error));
    // Without the error's message: it may repeat what a caller sent.
    if (step.error !== undefined || step.isFailed?.() === true)
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    span.end();
  };

  readonly #inject = (message: unknown): void => {
    const context = this.#current.getStore();
    if (context === undefined) return;
    this.#propagator.inject(context, message, this.#api.defaultTextMapSetter);
  };
}

/** A failure's code where it is one of ours, or else the name of its class. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^[A-Za-z0-9_]{1,64}$/.test(code) ? code : error.constructor.name;
}

async function loadParts(): Promise<{
  readonly api: typeof Api;
  readonly core: typeof Core;
  readonly resources: typeof Resources;
  readonly sdk: typeof Sdk;
  readonly exporter: typeof Exporters;
}> {
  try {
    const [api, core, resources, sdk, exporter] = await Promise.all([
      import("@opentelemetry/api"),
      import("@opentelemetry/core"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/sdk-trace-base"),
      import("@opentelemetry/exporter-trace-otlp-http"),
    ]);
    return { api, core, resources, sdk, exporter };
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new StartError(`traces_url needs packages that are not installed: run \`npm install ${PACKAGES}\``);
  }
}
