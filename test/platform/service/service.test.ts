/** The service's own routes, and the metrics on their own address. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openApiDocument } from "../../../src/platform/contract/openapi.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { StaticBytes } from "../../../src/platform/contract/static-bytes.js";
import { createMetricsServer } from "../../../src/platform/http/metrics-server.js";
import { testDriver } from "../../support/http-driver.js";
import { Metrics } from "../../../src/platform/metrics.js";
import { createServiceHandlers, type ReadinessCheck } from "../../../src/platform/service/handlers.js";
import { serviceRoutes } from "../../../src/platform/service/routes.js";
import { recordedLog } from "../../support/silent-log.js";
import { startFront, type Front } from "../http/support.js";

const WORK = {
  prove_threads: 2,
  lanes: { prove: { waiting: 3, running: 2, started: 7, refused: 1, wait_seconds: 0.5 } },
};
const CLUSTER = { position: 12, unconfirmed_ms: 3, clock_ahead_ms: -1, nodes: [] };
let front: Front;
let checks: ReadinessCheck[] = [];
beforeAll(async () => {
  const routes = bindRoutes(
    serviceRoutes,
    createServiceHandlers(
      { name: "Proof<wright>", version: "1.2.3" },
      {
        document: () =>
          new StaticBytes(
            JSON.stringify(
              openApiDocument({ title: "Proof<wright>", version: "1.2.3", schemas: {} }, Object.values(serviceRoutes)),
            ),
          ),
        readiness: () => checks,
        sandbox: { mode: "require", missing: ["network"] },
        work: () => WORK,
        cluster: () => CLUSTER,
        kernels: () => ({ form: "two_lanes", reason: "four lanes are switched off", four_lanes: {}, speedups: {} }),
        isOperator: (token) =>
          token === "forged" ? Promise.reject(new Error("unauthorized")) : Promise.resolve(token === "operator"),
      },
    ),
  );
  front = await startFront({ routes, limits: { rateLimits: true, readsPerSec: 1 } });
});
afterAll(async () => {
  await front.server.stop({ graceMs: 0 });
});

describe("the service's own routes", () => {
  it("say that the service is there, unthrottled and without a token", async () => {
    for (let n = 0; n < 10; n += 1)
      expect(await (await fetch(`${front.url}/status`)).json()).toEqual({
        status: "ok",
        name: "Proof<wright>",
        version: "1.2.3",
      });
    expect(await (await fetch(`${front.url}/livez`)).json()).toEqual({ live: true });
  });

  it("show the sandbox, what runs, the form of the kernels and the cluster to operators, and to nobody else", async () => {
    const statusFor = async (token: string): Promise<unknown> =>
      await (await fetch(`${front.url}/status`, { headers: { authorization: `bearer ${token}` } })).json();
    const open = { status: "ok", name: "Proof<wright>", version: "1.2.3" };
    expect(await statusFor("operator")).toEqual({
      ...open,
      sandbox: {
        mode: "require",
        missing: [{ limit: "network", consequence: "a compiler can open network connections" }],
      },
      work: WORK,
      kernels: { form: "two_lanes", reason: "four lanes are switched off", four_lanes: {}, speedups: {} },
      cluster: CLUSTER,
    });
    for (const token of ["user", "forged"]) expect(await statusFor(token)).toEqual(open);
  });

  it("say whether it is ready, and why not", async () => {
    checks = [
      { name: "store", ok: true },
      { name: "vault_unsealed", ok: true },
    ];
    expect((await fetch(`${front.url}/readyz`)).status).toBe(200);
    checks = [
      { name: "store", ok: true },
      { name: "vault_unsealed", ok: false },
    ];
    const notReady = await fetch(`${front.url}/readyz`);
    expect(notReady.status).toBe(503);
    expect(Number(notReady.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await notReady.json()).toEqual({ ready: false, checks });
  });

  it("give the document, again and again", async () => {
    for (let n = 0; n < 2; n += 1) {
      const response = await fetch(`${front.url}/openapi.json`);
      expect(response.headers.get("content-type")).toBe("application/json; charset=UTF-8");
      expect(await response.json()).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
    }
  });

  it("give what has not changed by its tag, and compressed to those who take it", async () => {
    const get = async (headers: Record<string, string>): Promise<Response> =>
      await fetch(`${front.url}/openapi.json`, { headers });
    const plain = await get({ "accept-encoding": "identity" });
    const small = await get({ "accept-encoding": "br;q=1, gzip;q=0.5" });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(small.headers.get("content-encoding")).toBe("gzip");
    expect(await small.text()).toBe(await plain.text());
    expect(Number(small.headers.get("content-length"))).toBeLessThan(Number(plain.headers.get("content-length")));
    for (const answer of [plain, small]) expect(answer.headers.get("vary")).toBe("Accept-Encoding");
    const [tag, smallTag] = [plain, small].map((answer) => answer.headers.get("etag") ?? "");
    expect(tag).toMatch(/^"[0-9a-f]{64}"$/);
    expect(smallTag).not.toBe(tag);
    const asked = { "if-none-match": `"other", W/${tag!}`, "accept-encoding": "gzip;q=0" };
    const same = await get(asked);
    expect([same.status, await same.text(), same.headers.get("etag")]).toEqual([304, "", tag]);
    expect((await get({ ...asked, "accept-encoding": "gzip" })).status).toBe(200);
    expect((await get({ "if-none-match": smallTag!, "accept-encoding": "*" })).status).toBe(304);
  });
});

describe("metrics", () => {
  it("are served on an address of their own and nowhere else", async () => {
    const metrics = new Metrics({
      lanes: () => ({ prove: { waiting: 3, running: 2, started: 9, refused: 1, waitSeconds: 4.5 } }),
      verifierDisagreements: () => 2,
    });
    const [one, two] = [metrics.forServer(), metrics.forServer()];
    one.requestEnded("listThings", "GET", 200, 0.002);
    one.requestEnded("listThings", "GET", 0, 1);
    one.requestsInFlight(2);
    two.requestsInFlight(3);
    let failing: ReadinessCheck[] = [];
    const server = createMetricsServer(
      { host: "127.0.0.1", port: 0 },
      { metrics, log: recordedLog(), driver: testDriver, readiness: () => failing },
    );
    const { port } = await server.listen();
    const text = await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
    expect(text).toContain('proofwright_http_request_seconds_count{route="listThings",method="GET",status="200"} 1');
    expect(text).toContain('proofwright_http_abandoned_total{route="listThings"} 1');
    expect(text).toContain("proofwright_http_requests_in_flight 5");
    for (const figure of ["waiting", "running", "started_total", "refused_total", "wait_seconds_total"])
      expect(text).toContain(`proofwright_lane_${figure}{lane="prove"}`);
    expect(text).toContain('proofwright_lane_waiting{lane="prove"} 3');
    expect(text).toContain('proofwright_lane_wait_seconds_total{lane="prove"} 4.5');
    expect(text).toContain("proofwright_verifier_disagreements_total 2");
    expect(text).toContain("nodejs_eventloop_lag_p99_seconds");
    const probe = async (path: string): Promise<string> => {
      const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`);
      return `${String(answer.status)} ${await answer.text()}`;
    };
    expect([await probe("/livez"), await probe("/readyz")]).toEqual(["200 live\n", "200 ready\n"]);
    failing = [
      { name: "store", ok: true },
      { name: "vault_unsealed", ok: false },
    ];
    expect([await probe("/livez"), await probe("/readyz")]).toEqual(["200 live\n", "503 not ready: vault_unsealed\n"]);
    expect((await fetch(`http://127.0.0.1:${String(port)}/`)).status).toBe(404);
    expect((await fetch(`${front.url}/metrics`)).status).toBe(404);
    server.stop();
  });
});
