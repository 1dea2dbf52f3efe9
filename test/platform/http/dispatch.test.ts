/** The stages of a request over real sockets: who may call, paths, queries, and connections that live long. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BEARER,
  JSON_HEADERS,
  THING_ID,
  TOKEN,
  errorOf,
  rawExchange,
  requestText,
  startFront,
  type Front,
} from "./support.js";
import { testDriver } from "../../support/http-driver.js";

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(async () => {
  await front.server.stop({ graceMs: 1000 });
});

const send = async (path: string, init: RequestInit = {}): Promise<Response> =>
  await fetch(front.url + path, { headers: BEARER, ...init });
const post = async (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  await send(path, {
    method: "POST",
    headers: { ...JSON_HEADERS, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

describe("callers", () => {
  it.each([
    ["no header", {}],
    ["another scheme", { Authorization: `basic ${TOKEN}` }],
    ["no token", { Authorization: "bearer " }],
    ["a bad token", { Authorization: "bearer nobody" }],
    ["two tokens in one", { Authorization: `bearer ${TOKEN}, bearer ${TOKEN}` }],
  ])("answers 401 to %s", async (name, headers) => {
    const response = await send("/api/v1/things", { headers });
    expect(response.status).toBe(401);
    const said = name === "a bad token" ? 'Bearer error="invalid_token"' : "Bearer";
    expect(response.headers.get("www-authenticate")).toBe(said);
    expect(await errorOf(response)).toEqual({
      message: "unauthorized",
      errors: [{ message: "unauthorized", code: "unauthorized" }],
    });
  });

  it.each(["bearer", "Bearer", "BEARER"])("takes the scheme spelled %s", async (scheme) => {
    expect((await send("/api/v1/things", { headers: { Authorization: `${scheme} ${TOKEN}` } })).status).toBe(200);
  });

  it("answers 401 to two Authorization headers, even when both are good", async () => {
    expect(
      await rawExchange(front.port, requestText("GET /api/v1/things", [`Authorization: bearer ${TOKEN}`])),
    ).toMatch(/^HTTP\/1\.1 401 /);
  });

  it("needs every permission of the route", async () => {
    const response = await post("/api/v1/things", { name: "a" }, { Authorization: "bearer user-read" });
    expect(response.status).toBe(403);
    expect((await errorOf(response)).errors[0]).toEqual({
      message: "this needs the permissions read, create",
      code: "forbidden",
    });
  });

  it("needs the right kind of subject", async () => {
    expect((await send("/api/v1/applications-only")).status).toBe(403);
    expect((await send("/api/v1/applications-only", { headers: { Authorization: "bearer app-read" } })).status).toBe(
      204,
    );
  });

  it("checks in the order 401, 403, sealed, body", async () => {
    front.unsealed = false;
    try {
      const path = `/api/v1/things/${THING_ID}`;
      expect((await send(path, { method: "DELETE", headers: {} })).status).toBe(401);
      expect((await send(path, { method: "DELETE", headers: { Authorization: "bearer user-none" } })).status).toBe(403);
      const sealed = await send("/api/v1/things/not-a-uuid", { method: "DELETE" });
      expect(sealed.status).toBe(503);
      expect((await errorOf(sealed)).errors[0]?.code).toBe("vault_sealed");
      expect(Number(sealed.headers.get("retry-after"))).toBeGreaterThan(0);
      // A hostile body before authentication is never looked at.
      expect((await post("/api/v1/things", "{{{{", { Authorization: "bearer nobody" })).status).toBe(401);
    } finally {
      front.unsealed = true;
    }
  });

  it("passes the bearer to public routes unverified", async () => {
    const response = await send("/api/v1/open", {
      method: "POST",
      headers: { Authorization: "bearer prt_x", Prefer: "respond-async, wait=7" },
    });
    expect(await response.json()).toEqual({
      n: null,
      bearer: "prt_x",
      address: "127.0.0.1",
      preferWaitSec: 7,
      known: false,
    });
  });
});

describe("paths and methods", () => {
  it.each([
    ["/api/v1/things/", 200],
    ["//api/v1/things", 400],
    [`/api/v1/things/${THING_ID}/`, 200],
    ["///api/v1/things", 400],
    ["/api//v1/things", 400],
    ["/api/v1/things//", 400],
    ["/api/v1/%74hings", 400],
    ["/api/v1%2Fthings", 400],
    ["/api/v1/things%5C", 400],
    ["/api/v1/things/%00", 400],
    ["/api/v1/things/%c3%a4", 400],
    ["/api/v1/things/%C3%A4", 400],
    ["/api/v1/things/%C3", 400],
    ["/api/v1/./things", 400],
    ["/api/v1/../v1/things", 400],
    ["/api/v1/things;x=1", 404],
    ["/", 404],
  ])("answers %s with %i", async (path, status) => {
    expect(await rawExchange(front.port, requestText(`GET ${path}`))).toMatch(
      new RegExp(`^HTTP/1\\.1 ${String(status)} `),
    );
  });

  it("lower-cases a UUID of the path once, at the edge", async () => {
    expect(await (await send(`/api/v1/things/${THING_ID.toUpperCase()}`)).json()).toEqual({
      id: THING_ID,
      name: "thing",
    });
  });

  it("answers 400 malformed_path to an id that is no UUID", async () => {
    const response = await send("/api/v1/things/42");
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toEqual({
      message: "id: expected a UUID",
      errors: [{ message: "id: expected a UUID", code: "malformed_path", path: "id" }],
    });
  });

  it("answers 405 with Allow", async () => {
    const response = await send("/api/v1/things", { method: "DELETE" });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")?.split(", ").sort()).toEqual(["GET", "HEAD", "OPTIONS", "POST"]);
    expect((await errorOf(response)).errors[0]?.code).toBe("method_not_allowed");
  });

  it("answers methods that HTTP does not have", async () => {
    // Node's parser reads only those that are registered.
    const status = testDriver.name === "node" ? /^HTTP\/1\.1 501 / : /^HTTP\/1\.1 405 /;
    expect(await rawExchange(front.port, requestText("BREW /api/v1/things"))).toMatch(status);
    expect(await rawExchange(front.port, requestText("get /api/v1/things"))).toMatch(status);
  });

  it("answers HEAD like GET, without the body, and keeps the connection", async () => {
    const text = await rawExchange(
      front.port,
      requestText("HEAD /api/v1/things", [], "", true),
      requestText("GET /api/v1/empty"),
    );
    const [first = "", second = ""] = text.split(/(?<=\r\n\r\n)/);
    expect(first).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(first).toMatch(/Content-Length: \d\d+\r\n/);
    expect(second).toMatch(/^HTTP\/1\.1 405 /);
  });
});

describe("queries and lists", () => {
  it("gives defaults, the total and the links", async () => {
    const response = await send("/api/v1/things?name=a%20b&tag=x&tag=y&page=2&rpp=25");
    expect(response.headers.get("x-total-results-count")).toBe("60");
    expect(response.headers.get("link")).toBe(
      [
        '</api/v1/things?name=a+b&tag=x&tag=y&page=1&rpp=25>; rel="first"',
        '</api/v1/things?name=a+b&tag=x&tag=y&page=1&rpp=25>; rel="prev"',
        '</api/v1/things?name=a+b&tag=x&tag=y&page=3&rpp=25>; rel="next"',
        '</api/v1/things?name=a+b&tag=x&tag=y&page=3&rpp=25>; rel="last"',
      ].join(", "),
    );
    const [thing] = (await response.json()) as { name: string }[];
    expect(JSON.parse(thing!.name)).toEqual({ old: true, name: "a b", tag: ["x", "y"], page: 2, rpp: 25 });
  });

  it("counts members with the text undefined as absent", async () => {
    const [thing] = (await (await send("/api/v1/things?name=undefined&page=undefined&nothing=undefined")).json()) as {
      name: string;
    }[];
    expect(JSON.parse(thing!.name)).toEqual({ old: true, page: 1, rpp: 25 });
  });

  it.each([
    ["rpp=101", "rpp: must be at most 100", "invalid_request"],
    ["rpp=0", "rpp: must be at least 1", "invalid_request"],
    ["page=x", "page: expected an integer", "invalid_request"],
    ["page=1e1", "page: expected an integer", "invalid_request"],
    ["page=0x1", "page: expected an integer", "invalid_request"],
    ["page=", "page: expected an integer", "invalid_request"],
    ["old=1", "old: expected true or false", "invalid_request"],
    ["zebra=1", "zebra: is not a member of this request", "unknown_member"],
    ["name=a&name=b", "name: given more than once", "invalid_request"],
    ["__proto__=1", "__proto__: is not a member of this request", "unknown_member"],
    ["tag=1&tag=2&tag=3&tag=4", "tag: must have at most 3 entries", "invalid_request"],
  ])("answers 422 to %s", async (query, message, code) => {
    const response = await send(`/api/v1/things?${query}`);
    expect(response.status).toBe(422);
    expect((await errorOf(response)).errors[0]).toMatchObject({ message, code });
  });

  it("answers 400 to a query that cannot be decoded", async () => {
    expect((await send("/api/v1/things?name=%E0%A4%A")).status).toBe(400);
    expect((await send(`/api/v1/things?${"tag=1&".repeat(65)}`)).status).toBe(400);
  });
});

describe("connections", () => {
  it("streams a long answer to a reader that takes its time", async () => {
    const response = await send("/api/v1/big?length=7000000");
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let bytes = 0;
    for (let turn = 0; ; turn += 1) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.length;
      if (turn % 8 === 0)
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
    }
    expect(bytes).toBe(7_000_002);
    expect(response.headers.get("content-length")).toBe("7000002");
  });

  it("serves 2000 requests on one connection", async () => {
    const requests = Array.from({ length: 2000 }, (_unused, n) =>
      requestText(`GET /api/v1/things/${THING_ID}`, [`X-Request-Id: n-${String(n)}`], "", n < 1999),
    );
    // The library keeps the order: a request that arrives before the answer is out waits in the socket.
    const text = await rawExchange(front.port, ...requests);
    const ids = [...text.matchAll(/X-Request-Id: (n-\d+)/g)].map((match) => match[1]);
    expect(ids.length).toBe(2000);
    expect(ids).toEqual(Array.from({ length: 2000 }, (_unused, n) => `n-${String(n)}`));
  });

  it("keeps the connection after a refused request whose body follows", async () => {
    const body = "x".repeat(50_000);
    const text = await rawExchange(
      front.port,
      [
        "POST /api/v1/things HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        `Content-Length: ${String(body.length)}`,
        "",
        body,
      ].join("\r\n"),
      requestText("GET /api/v1/things"),
    );
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(["401", "200"]);
  });

  it("serves nobody else's answer to pipelined requests", async () => {
    const text = await rawExchange(
      front.port,
      requestText("GET /api/v1/fail?how=later", ["X-Request-Id: first"], "", true) +
        requestText("GET /api/v1/things", ["X-Request-Id: second"]),
    );
    const ids = [...text.matchAll(/X-Request-Id: (\w+)/g)].map((match) => match[1]);
    expect(["first,second", "first", ""]).toContain(ids.join());
  });
});
