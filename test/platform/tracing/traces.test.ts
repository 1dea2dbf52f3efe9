/** Traces of requests, from the headers of the caller to those of outgoing requests, as a collector gets them. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import Type from "typebox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RpcEndpoint } from "../../../src/chain/rpc/endpoint.js";
import { systemClock } from "../../../src/platform/clock.js";
import { bindRoutes, defineRoute } from "../../../src/platform/contract/route.js";
import { closed } from "../../../src/platform/contract/schemas.js";
import { AppError } from "../../../src/platform/errors.js";
import { Lane } from "../../../src/platform/pool/lane.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { startTracing } from "../../../src/platform/tracing/open-telemetry.js";
import { isTraced, traced, traceHeaders } from "../../../src/platform/tracing/steps.js";
import { DRIVERS } from "../../support/http-driver.js";
import { loopbackEgress } from "../../support/loopback-egress.js";
import { recordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { startCollector, type CollectedSpan, type TraceCollector } from "../../support/trace-collector.js";
import { BEARER, startFront, TOKEN, type Front } from "../http/support.js";

/** An example of the recommendation (W3C Trace Context, section 3.2.2.5). */
const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";
const SECRET = "s3cret-input-of-a-caller";

const routes = {
  work: defineRoute({
    id: "work",
    area: "prover",
    method: "POST",
    path: "/api/v1/things/:id/work",
    summary: "Works",
    auth: { permissions: ["read"] },
    params: closed({ id: Type.String() }),
    body: closed({ how: Type.String(), secret: Type.String() }),
    responses: { 204: { description: "Done" } },
    errors: ["overloaded"],
  }),
};

interface Node {
  readonly url: string;
  readonly heard: Record<string, string | string[] | undefined>[];
  stop(): Promise<void>;
}

/** A node of chain 1 that answers each call with "0x1". */
async function startNode(): Promise<Node> {
  const heard: Node["heard"] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers);
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      const { id } = JSON.parse(text) as { id: number };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: "0x1" }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = String((server.address() as AddressInfo).port);
  return {
    url: `http://127.0.0.1:${port}/${SECRET}`,
    heard,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const folder = newFolder("traces");
let collector: TraceCollector;
let node: Node;
let store: DurableStore;
beforeAll(async () => {
  [collector, node] = await Promise.all([startCollector(), startNode()]);
  store = await openStore({ path: join(folder, "store") }, { log: recordedLog() });
});
afterAll(async () => {
  await Promise.all([collector.stop(), node.stop(), store.close()]);
  removeFolder(folder);
});

/** A front whose one route waits for a place, commits, and asks a node. */
async function startWorking(driver: (typeof DRIVERS)[number]): Promise<Front> {
  const lane = new Lane({ name: "prove", places: 1, queueLengthMax: 1 });
  const endpoint = new RpcEndpoint(
    { url: node.url, chainId: 1, authorization: async () => `Basic ${SECRET}` },
    { egress: loopbackEgress, clock: systemClock },
  );
  const call = { timeoutMs: 5_000, signal: undefined };
  const bound = bindRoutes(routes, {
    work: async ({ params, body }) => {
      await lane.run({ owner: `user:${params.id}` }, async () => {
        if (body.how === "fail") throw new AppError("overloaded", { message: body.secret, retryAfterSec: 1 });
        await endpoint.request("eth_call", [body.secret], call);
      });
      await store.commit({ puts: [{ key: ["things", params.id], value: { secret: body.secret } }] });
      return { status: 204 } as const;
    },
  });
  return await startFront({ routes: bound, driver });
}

async function work(front: Front, id: string, headers: Record<string, string> = {}, how = "well"): Promise<number> {
  const { status } = await fetch(`${front.url}/api/v1/things/${id}/work`, {
    method: "POST",
    headers: { ...BEARER, "content-type": "application/json", "x-request-id": SECRET, ...headers },
    body: JSON.stringify({ how, secret: SECRET }),
  });
  return status;
}

/** Serves the work with traces and returns the spans that came of it. */
async function spansOf(
  driver: (typeof DRIVERS)[number],
  act: (front: Front) => Promise<void>,
  share = 1,
): Promise<readonly CollectedSpan[]> {
  const { spans } = collector;
  spans.length = 0;
  const tracing = await startTracing({ url: collector.url, share, serviceVersion: "1.2.3" }, { log: recordedLog() });
  const front = await startWorking(driver);
  try {
    await act(front);
  } finally {
    await front.server.stop({ graceMs: 0 });
    await tracing.stop();
  }
  return [...spans];
}

/** The names of a trace as a tree: each span's name with those of its children. */
function tree(spans: readonly CollectedSpan[], parent: string | undefined): unknown[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .sort((a, b) => a.name.localeCompare(b.name))
    .map(({ name, spanId }) => [name, ...tree(spans, spanId)]);
}

describe.each(DRIVERS)("traces over $name", (driver) => {
  it("go from the caller's header through task and commit to the node's header", async () => {
    node.heard.length = 0;
    const spans = await spansOf(driver, async (front) => {
      const tracestate = "congo=t61rcWkgMzE";
      expect(await work(front, "one", { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`, tracestate })).toBe(204);
    });
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE_ID]));
    expect(tree(spans, PARENT_ID)).toEqual([
      ["POST /api/v1/things/:id/work", ["prove task", ["rpc"], ["rpc"]], ["store commit"]],
    ]);
    const clients = spans.filter(({ kind }) => kind === 3);
    for (const { traceparent, tracestate } of node.heard) {
      const [, traceId, spanId, flags] = String(traceparent).split("-");
      expect([traceId, flags, tracestate]).toEqual([TRACE_ID, "01", "congo=t61rcWkgMzE"]);
      expect(clients.map((span) => span.spanId)).toContain(spanId);
    }
    expect(spans.find(({ kind }) => kind === 2)?.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/api/v1/things/:id/work",
      "http.response.status_code": 204,
    });
  });

  it("show the wait in a queue, each request in a trace of its own", async () => {
    const spans = await spansOf(driver, async (front) => {
      expect(await Promise.all(["a", "b"].map(async (id) => await work(front, id)))).toEqual([204, 204]);
    });
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
    expect(new Set(roots.map(({ traceId }) => traceId)).size).toBe(2);
    const shapes = roots.map(({ traceId }) =>
      spans
        .filter((span) => span.traceId === traceId && !["rpc", roots[0]!.name].includes(span.name))
        .map(({ name }) => name)
        .sort(),
    );
    expect(shapes.sort((a, b) => a.length - b.length)).toEqual([
      ["prove task", "store commit"],
      ["prove queue", "prove task", "store commit"],
    ]);
    const beside = spans.filter(({ name }) => name !== "rpc" && name !== roots[0]!.name);
    for (const { parentSpanId, traceId } of beside)
      expect(parentSpanId).toBe(roots.find((root) => root.traceId === traceId)!.spanId);
  });

  it("say that something failed, and not what was sent", async () => {
    collector.texts.length = 0;
    const spans = await spansOf(driver, async (front) => {
      expect(await work(front, SECRET, {}, "fail")).toBe(503);
      expect((await fetch(`${front.url}/${SECRET}?${SECRET}`, { headers: { "user-agent": SECRET } })).status).toBe(404);
      expect(await work(front, SECRET, { traceparent: SECRET, tracestate: `a=${SECRET}` })).toBe(204);
    });
    const failed = spans.find(({ name, status }) => name === "prove task" && status === 2);
    expect(failed?.attributes).toMatchObject({ "error.type": "overloaded" });
    expect(spans.filter(({ kind, status }) => kind === 2 && status === 2)).toHaveLength(1);
    expect(spans.map(({ name }) => name)).toContain("GET");
    const text = collector.texts.join("\n");
    for (const secret of [SECRET, TOKEN, "7a4c1f2e", "127.0.0.1:"]) expect(text).not.toContain(secret);
    const known = /^(http\.(request\.method|route|response\.status_code)|proofwright\.(lane|rpc\.calls)|error\.type)$/;
    for (const { attributes } of spans) for (const name of Object.keys(attributes)) expect(name).toMatch(known);
  });

  it("are left out when the caller's are, and no caller raises their share", async () => {
    const header = (flags: string): Record<string, string> => ({ traceparent: `00-${TRACE_ID}-${PARENT_ID}-${flags}` });
    const notSampled = await spansOf(driver, async (front) => {
      await work(front, "x", header("00"));
    });
    expect(notSampled).toEqual([]);
    const noShare = await spansOf(
      driver,
      async (front) => {
        await work(front, "x", header("01"));
      },
      0,
    );
    expect(noShare).toEqual([]);
  });

  it.each(["", "00-xyz", `00-${"0".repeat(32)}-${PARENT_ID}-01`, `ff-${TRACE_ID}-${PARENT_ID}-01`])(
    "begin anew at a header that is none: %j",
    async (traceparent) => {
      const spans = await spansOf(driver, async (front) => {
        await work(front, "x", { traceparent });
      });
      const root = spans.find(({ kind }) => kind === 2);
      expect(root?.parentSpanId).toBeUndefined();
      expect(root?.traceId).not.toBe(TRACE_ID);
    },
  );
});

describe("steps", () => {
  it("run as they are where nobody listens, and no header goes out", async () => {
    expect(isTraced()).toBe(false);
    const result = Promise.resolve(7);
    expect(traced({ name: "step", kind: "internal" }, () => result)).toBe(result);
    expect(traceHeaders()).toEqual({});
    node.heard.length = 0;
    const front = await startWorking(DRIVERS[0]!);
    expect(await work(front, "quiet", { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` })).toBe(204);
    await front.server.stop({ graceMs: 0 });
    expect(node.heard.length).toBeGreaterThan(0);
    for (const headers of node.heard) expect(headers.traceparent).toBeUndefined();
  });

  it("begin a trace of their own where they say so, outside of the caller's", async () => {
    collector.spans.length = 0;
    const tracing = await startTracing({ url: collector.url, share: 1, serviceVersion: "1" }, { log: recordedLog() });
    const inner = async (): Promise<number> => await traced({ name: "inner", kind: "internal" }, async () => 1);
    expect(await inner()).toBe(1);
    await traced({ name: "outer", kind: "internal", isRoot: true }, async () => {
      await inner();
      await traced({ name: "job", kind: "internal", isRoot: true }, inner);
    });
    const failing = traced({ name: "bad", kind: "internal", isRoot: true }, () => {
      throw new TypeError(SECRET);
    });
    await expect(failing).rejects.toThrow(SECRET);
    await tracing.stop();
    expect(isTraced()).toBe(false);
    expect(tree(collector.spans, undefined)).toEqual([["bad"], ["job", ["inner"]], ["outer", ["inner"]]]);
    expect(collector.spans.find(({ name }) => name === "bad")).toMatchObject({
      status: 2,
      attributes: { "error.type": "TypeError" },
    });
  });

  it("tell once that the collector refuses, and end all the same", async () => {
    const log = recordedLog();
    collector.status = 400;
    const tracing = await startTracing({ url: collector.url, share: 1, serviceVersion: "1" }, { log });
    await traced({ name: "lost", kind: "internal", isRoot: true }, async () => undefined);
    await tracing.stop();
    collector.status = 200;
    const told = log.lines.filter(({ level }) => level !== "debug").map(({ message }) => message);
    expect(told).toEqual(["traces cannot be sent"]);
  });
});
