/** The headers of every answer, over real sockets. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BEARER, THING_ID, rawExchange, requestText, startFront, type Front } from "../support.js";

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(async () => {
  await front.server.stop({ graceMs: 1000 });
});

const send = async (path: string, init: RequestInit = {}): Promise<Response> =>
  await fetch(front.url + path, { headers: BEARER, ...init });

/** Exactly what existing clients depend on. */
const CORS = {
  "access-control-allow-credentials": "true",
  "access-control-allow-headers":
    "Accept, Accept-Encoding, Authorization, Cache-Control, Content-Length, Content-Type, Idempotency-Key, Origin, Prefer, Proofwright-After, User-Agent, X-CSRF-Token, X-Requested-With",
  "access-control-allow-methods": "GET, POST, PUT, DELETE, OPTIONS",
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Link, Location, Preference-Applied, Proofwright-Position, Retry-After, X-Total-Results-Count",
};

describe("headers of every answer", () => {
  it.each([
    ["success", "/api/v1/things", "GET", BEARER, 200],
    ["no token", "/api/v1/things", "GET", {}, 401],
    ["unknown path", "/nothing/here", "GET", {}, 404],
    ["wrong method", "/api/v1/things", "PUT", BEARER, 405],
    ["bad path", "/api/%68", "GET", {}, 400],
    ["a bug", "/api/v1/fail?how=now", "GET", BEARER, 500],
    ["empty", "/api/v1/empty", "POST", BEARER, 204],
    ["preflight of a route", "/api/v1/things", "OPTIONS", {}, 204],
    ["preflight of anything", "/no/such/%68", "OPTIONS", {}, 204],
  ])("has the CORS headers on %s", async (_name, path, method, headers, status) => {
    const response = await send(path, {
      method,
      headers: { ...headers, Origin: "https://evil.example", "X-Request-Id": "abc-1" },
    });
    expect(response.status).toBe(status);
    expect(Object.fromEntries([...response.headers].filter(([name]) => name.startsWith("access-control")))).toEqual(
      CORS,
    );
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("x-request-id")).toBe("abc-1");
    expect(response.headers.has("set-cookie")).toBe(false);
    expect([...response.headers.values()].join()).not.toContain("evil");
  });

  it("makes a request id when the client's is absent or not sane", async () => {
    for (const given of [undefined, "a b", "x".repeat(65)]) {
      const response = await send("/api/v1/things", {
        headers: { ...BEARER, ...(given === undefined ? {} : { "X-Request-Id": given }) },
      });
      expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it("keeps answers of vault and identity out of caches, and no others", async () => {
    expect((await send("/api/v1/empty", { method: "POST" })).headers.get("cache-control")).toBe("no-store");
    expect((await send("/api/v1/open", { method: "POST" })).headers.get("cache-control")).toBe("no-store");
    expect((await send("/api/v1/empty", { method: "POST", headers: {} })).headers.get("cache-control")).toBe(
      "no-store",
    );
    expect((await send("/api/v1/things")).headers.has("cache-control")).toBe(false);
  });

  it("answers 204 without a body and without Content-Length", async () => {
    const text = await rawExchange(front.port, requestText(`DELETE /api/v1/things/${THING_ID}`));
    expect(text).toMatch(/^HTTP\/1\.1 204 No Content\r\n/);
    expect(text).not.toMatch(/^content-length:/im);
    expect(text.endsWith("\r\n\r\n")).toBe(true);
  });

  it("answers JSON as application/json with the charset", async () => {
    expect((await send("/api/v1/things")).headers.get("content-type")).toBe("application/json; charset=UTF-8");
    expect((await send("/nothing")).headers.get("content-type")).toBe("application/json; charset=UTF-8");
  });
});
