/** A collector of traces: takes OTLP as JSON over HTTP, keeps the spans, and can be told to refuse. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** Of OTLP: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of OTLP: 2 is an error. */
  readonly status: number;
}

export interface TraceCollector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** All that was sent, as it came. */
  readonly texts: string[];
  /** Status of its answers; 200 at first. */
  status: number;
  stop(): Promise<void>;
}

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly { readonly key: string; readonly value: OtlpValue }[];
  readonly status?: { readonly code?: number };
}
interface OtlpTraces {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[];
}

/** Starts a collector on a free port of this machine. */
export async function startCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const texts: string[] = [];
  const collector = { url: "", spans, texts, status: 200, stop: () => Promise.resolve() };
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
      if (collector.status !== 200 || request.method !== "POST" || request.url !== "/v1/traces") return;
      texts.push(text);
      for (const { scopeSpans } of (JSON.parse(text) as OtlpTraces).resourceSpans)
        spans.push(...scopeSpans.flatMap((scope) => scope.spans.map(collected)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  collector.url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1/traces`;
  collector.stop = async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return collector;
}

function collected(span: OtlpSpan): CollectedSpan {
  const { traceId, spanId, name, kind } = span;
  const parent = span.parentSpanId;
  return {
    ...{ traceId, spanId, name, kind },
    parentSpanId: parent === undefined || parent === "" ? undefined : parent,
    startNs: BigInt(span.startTimeUnixNano),
    endNs: BigInt(span.endTimeUnixNano),
    attributes: Object.fromEntries(
      (span.attributes ?? []).map(({ key, value }) => [
        key,
        value.stringValue ?? Number(value.intValue ?? value.doubleValue),
      ]),
    ),
    status: span.status?.code ?? 0,
  };
}
