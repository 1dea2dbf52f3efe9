/** The front over real sockets: order of checks, answers, headers, error form, handlers that misbehave. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BEARER,
  ECHO_BYTES_MAX,
  JSON_HEADERS,
  THING_ID,
  TOKEN,
  errorOf,
  rawExchange,
  rawExchangeAndEnd,
  requestText,
  startFront,
  until,
  type Front,
} from "./support.js";

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

/** SPEC section 1, word for word. */
const CORS = {
  "access-control-allow-credentials": "true",
  "access-control-allow-headers":
    "Accept, Accept-Encoding, Authorization, Cache-Control, Content-Length, Content-Type, Origin, User-Agent, X-CSRF-Token, X-Requested-With",
  "access-control-allow-methods": "GET, POST, PUT, DELETE, OPTIONS",
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "X-Total-Results-Count",
};

describe("headers of every answer (T34)", () => {
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
  ])("has the CORS set of the specification on %s", async (_name, path, method, headers, status) => {
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

describe("who may", () => {
  it.each([
    ["no header", {}],
    ["another scheme", { Authorization: `basic ${TOKEN}` }],
    ["no token", { Authorization: "bearer " }],
    ["a bad token", { Authorization: "bearer nobody" }],
    ["two tokens in one", { Authorization: `bearer ${TOKEN}, bearer ${TOKEN}` }],
  ])("answers 401 to %s", async (_name, headers) => {
    const response = await send("/api/v1/things", { headers });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
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

  it("hands the bearer to public routes unverified, and asks nobody", async () => {
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
    ["//api/v1/things", 200],
    [`//api/v1/things/${THING_ID}/`, 200],
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

  it("answers methods that HTTP does not have like any other wrong one", async () => {
    expect(await rawExchange(front.port, requestText("BREW /api/v1/things"))).toMatch(/^HTTP\/1\.1 405 /);
    expect(await rawExchange(front.port, requestText("get /api/v1/things"))).toMatch(/^HTTP\/1\.1 405 /);
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

describe("bodies", () => {
  it("explains every finding, in words and by member, without repeating values", async () => {
    const response = await post("/api/v1/things", { name: "", owner_id: "LEAK", email: 7, zebra: "LEAK" });
    expect(response.status).toBe(422);
    expect(await errorOf(response)).toEqual({
      message: "name: must not be empty",
      errors: [
        { message: "name: must not be empty", code: "invalid_request", path: "name" },
        { message: "owner_id: expected a UUID", code: "invalid_request", path: "owner_id" },
        { message: "email: expected a string", code: "invalid_request", path: "email" },
        { message: "zebra: is not a member of this request", code: "unknown_member", path: "zebra" },
      ],
    });
  });

  it("lower-cases UUIDs of the body", async () => {
    const body = (await (await post("/api/v1/things", { name: "a", owner_id: THING_ID.toUpperCase() })).json()) as {
      name: string;
    };
    expect(body.name).toContain(THING_ID);
  });

  it.each([
    ["text/plain", 415],
    ["application/jsonp", 415],
    ["application/json; charset=latin1", 415],
    ["APPLICATION/JSON; Charset=UTF-8", 201],
    ['application/json;charset="utf-8"', 201],
  ])("answers a body of %s with %i", async (type, status) => {
    expect((await post("/api/v1/things", { name: "a" }, { "Content-Type": type })).status).toBe(status);
  });

  it("refuses compressed bodies", async () => {
    expect((await post("/api/v1/things", { name: "a" }, { "Content-Encoding": "gzip" })).status).toBe(415);
    expect((await post("/api/v1/things", { name: "a" }, { "Content-Encoding": "identity" })).status).toBe(201);
  });

  it("tells a body that is required from one that is optional", async () => {
    const required = await post("/api/v1/things", "");
    expect(required.status).toBe(422);
    expect((await errorOf(required)).message).toBe("the body: a JSON body is required");
    expect((await send("/api/v1/echo", { method: "POST" })).status).toBe(200);
    expect((await send("/api/v1/empty", { method: "POST" })).status).toBe(204);
    expect((await post("/api/v1/empty", {})).status).toBe(204);
    expect((await post("/api/v1/empty", { surprise: 1 })).status).toBe(422);
  });

  it("adds the members of the route to every failure of it", async () => {
    for (const response of [
      await post("/api/v1/echo", "{"),
      await post("/api/v1/echo", "{}", { Authorization: "bearer nobody" }),
    ]) {
      expect(await errorOf(response)).toMatchObject({ proof: null });
    }
  });

  it.each([
    [ECHO_BYTES_MAX - 1, 200],
    [ECHO_BYTES_MAX, 200],
    [ECHO_BYTES_MAX + 1, 413],
    [ECHO_BYTES_MAX * 100, 413],
  ])("answers a body of %i bytes with %i", async (bytes, status) => {
    const response = await post("/api/v1/echo", `"${"a".repeat(bytes - 2)}"`);
    expect(response.status).toBe(status);
    if (status === 413) {
      expect(response.headers.get("connection")).toBe("close");
      expect(await errorOf(response)).toMatchObject({ proof: null, errors: [{ code: "body_too_large" }] });
    }
  });

  it("counts bytes, not characters, and counts chunked bodies too", async () => {
    expect((await post("/api/v1/echo", `"${"é".repeat(ECHO_BYTES_MAX / 2)}"`)).status).toBe(413);
    const chunked = async (bytes: number): Promise<string> =>
      await rawExchange(
        front.port,
        requestText("POST /api/v1/echo", ["Content-Type: application/json", "Transfer-Encoding: chunked"]),
        `${bytes.toString(16)}\r\n"${"a".repeat(bytes - 2)}"\r\n`,
        "0\r\n\r\n",
      );
    expect(await chunked(ECHO_BYTES_MAX)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await chunked(ECHO_BYTES_MAX + 1)).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("closes at once on a declared length far over the cap", async () => {
    expect(
      await rawExchange(
        front.port,
        requestText("POST /api/v1/echo", ["Content-Type: application/json", "Content-Length: 99999999"], "", true),
      ),
    ).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("refuses a body over the memory of all bodies with 503", async () => {
    const small = await startFront({ limits: { bodiesInFlightBytesMax: 500 } });
    try {
      const init = { method: "POST", headers: JSON_HEADERS };
      const refused = await fetch(`${small.url}/api/v1/echo`, { ...init, body: `"${"a".repeat(600)}"` });
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).toBe("1");
      // What was refused is given back: the next one fits.
      for (let n = 0; n < 20; n += 1)
        expect((await fetch(`${small.url}/api/v1/echo`, { ...init, body: `"${"a".repeat(400)}"` })).status).toBe(200);
    } finally {
      await small.server.stop({ graceMs: 0 });
    }
  });

  it("gives the memory back of bodies whose clients left, and of those that came too late", async () => {
    const small = await startFront({ limits: { bodiesInFlightBytesMax: 500, deadlineMs: 300 } });
    try {
      const half = [
        "POST /api/v1/echo HTTP/1.1",
        "Host: x",
        `Authorization: bearer ${TOKEN}`,
        "Content-Type: application/json",
        "Content-Length: 450",
        "",
        "x".repeat(400),
      ].join("\r\n");
      await rawExchangeAndEnd(small.port, half);
      await until(() => small.ended.length === 1);
      expect(small.ended[0]?.status).toBe(0);
      // This one stays, and is answered at its deadline.
      expect(await rawExchange(small.port, half)).toMatch(/^HTTP\/1\.1 503 [\s\S]*deadline_exceeded/);
      expect(
        (
          await fetch(`${small.url}/api/v1/echo`, {
            method: "POST",
            headers: JSON_HEADERS,
            body: `"${"a".repeat(400)}"`,
          })
        ).status,
      ).toBe(200);
    } finally {
      await small.server.stop({ graceMs: 0 });
    }
  });

  it("overwrites raw bodies after the handler, however many chunks they came in", async () => {
    for (const length of [10, 90_000]) {
      const body = JSON.stringify({ key: "k".repeat(length) });
      const response = await post("/api/v1/raw", body);
      expect(await response.json()).toEqual({ bytes: body.length });
      await until(() => front.rawBody!.every((byte) => byte === 0));
      expect(front.rawBody!.length).toBe(body.length);
    }
    expect((await post("/api/v1/raw", "abc", { "Content-Type": "text/plain" })).status).toBe(415);
  });

  it("overwrites the vault's bytes after sending them", async () => {
    const response = await send("/api/v1/secret", { method: "POST" });
    expect(await response.json()).toEqual({ key: "abandon abandon art" });
    expect(front.secret!.every((byte) => byte === 0)).toBe(true);
  });

  it("ignores the body of a GET, within bounds", async () => {
    expect(await rawExchange(front.port, requestText("GET /api/v1/things", ["Content-Length: 5"], "hello"))).toMatch(
      /^HTTP\/1\.1 200 /,
    );
  });
});

describe("handlers that fail", () => {
  it.each(["now", "later", "string"])(
    "answers 500 with nothing but the request id when one throws (%s)",
    async (how) => {
      front.logged.length = 0;
      const response = await send(`/api/v1/fail?how=${how}`, { headers: { ...BEARER, "X-Request-Id": "find-me" } });
      expect(response.status).toBe(500);
      const text = await response.text();
      expect(text).toContain("find-me");
      expect(text).not.toContain("secret words");
      const line = front.logged.find(({ level }) => level === "error");
      expect(line?.fields).toMatchObject({ request_id: "find-me", route: "fail", status: 500, code: "internal_error" });
      expect(JSON.stringify(front.logged)).not.toContain("secret words");
    },
  );

  it("answers 502 when another system failed, which is no failure of its own in the log", async () => {
    front.logged.length = 0;
    const response = await send("/api/v1/fail?how=beyond");
    expect([response.status, await response.text()]).toEqual([
      502,
      expect.stringContaining("the node cannot be reached"),
    ]);
    await expect.poll(() => front.logged.length).toBeGreaterThan(1);
    expect(front.logged.every(({ level, fields }) => level === "debug" && fields?.stack === undefined)).toBe(true);
    expect(front.logged).toContainEqual(
      expect.objectContaining({
        message: "another system failed a request",
        fields: expect.objectContaining({ status: 502, code: "network_unreachable" }) as unknown,
      }),
    );
  });

  it("answers expected failures with their status and code", async () => {
    const response = await send("/api/v1/fail?how=app");
    expect(response.status).toBe(409);
    expect(await errorOf(response)).toEqual({
      message: "as it was to be",
      errors: [{ message: "as it was to be", code: "conflict" }],
    });
  });

  it("rounds Retry-After up", async () => {
    expect((await send("/api/v1/fail?how=busy")).headers.get("retry-after")).toBe("7");
  });

  it("answers problem details when asked for (RFC 9457)", async () => {
    const response = await send("/api/v1/fail?how=app", { headers: { ...BEARER, Accept: "application/problem+json" } });
    expect(response.headers.get("content-type")).toBe("application/problem+json; charset=UTF-8");
    expect(await errorOf(response)).toMatchObject({
      type: "about:blank",
      title: "Conflict",
      status: 409,
      detail: "as it was to be",
      message: "as it was to be",
      errors: [{ code: "conflict" }],
    });
  });

  it("answers 503 at the deadline and aborts the work", async () => {
    const answered = send("/api/v1/brief");
    const signal = await front.entered();
    const response = await answered;
    expect(response.status).toBe(503);
    expect((await errorOf(response)).errors[0]?.code).toBe("deadline_exceeded");
    expect(response.headers.get("retry-after")).toBe("1");
    expect(signal.aborted).toBe(true);
  });

  it("fires the signal when the client goes away", async () => {
    const controller = new AbortController();
    const answered = send("/api/v1/slow", { method: "POST", signal: controller.signal }).catch(() => "gone");
    const signal = await front.entered();
    expect(signal.aborted).toBe(false);
    controller.abort();
    expect(await answered).toBe("gone");
    await until(() => signal.aborted);
    await until(() => front.ended.some(({ route, status }) => route === "slow" && status === 0));
  });
});

describe("long lives", () => {
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
    // One after the other comes from the library: a request that arrives before the answer is out waits in the socket.
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
