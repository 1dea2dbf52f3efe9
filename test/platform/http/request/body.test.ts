/** Bodies over real sockets: form, limits, memory, and what is overwritten. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Clock } from "../../../../src/platform/clock.js";
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
} from "../support.js";

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
    let ms = 0;
    const clock: Clock = { nowMs: () => ms, monotonicMs: () => ms };
    const small = await startFront({ clock, limits: { bodiesInFlightBytesMax: 500, deadlineMs: 300 } });
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
      const late = rawExchange(small.port, half);
      await until(() => {
        ms += 300;
        return small.ended.length === 2;
      });
      expect(await late).toMatch(/^HTTP\/1\.1 503 [\s\S]*deadline_exceeded/);
      const init = { method: "POST", headers: JSON_HEADERS, body: `"${"a".repeat(400)}"` };
      expect((await fetch(`${small.url}/api/v1/echo`, init)).status).toBe(200);
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
