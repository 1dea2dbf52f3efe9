/** How requests are sent: which are sent again and when, what ends them, what a caller hears. No server is asked. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, ConnectionError, TimeoutError } from "../../src/sdk/errors.js";
import { Transport, type TransportOptions } from "../../src/sdk/transport.js";

interface Seen {
  readonly url: string;
  readonly headers: Headers;
  readonly atMs: number;
}
type Step = Response | Error;

let seen: Seen[];
beforeEach(() => {
  seen = [];
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

const failure = (status: number, code: string, retryAfter?: string): Response =>
  Response.json(
    { message: `because of ${code}`, errors: [{ message: `because of ${code}`, code }] },
    { status, headers: { "X-Request-Id": "r1", ...(retryAfter === undefined ? {} : { "Retry-After": retryAfter }) } },
  );
const refused = (): Error => new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });

function transport(steps: Step[], options: Partial<TransportOptions> = {}): Transport {
  return new Transport({
    baseUrl: "http://host/prefix/",
    retries: 3,
    fetch: async (url, init) => {
      seen.push({ url: url as string, headers: new Headers(init?.headers), atMs: Date.now() });
      init?.signal?.throwIfAborted();
      const step = steps.shift();
      if (step === undefined) throw new Error("asked too often");
      if (step instanceof Error) throw step;
      return step;
    },
    ...options,
  });
}

/** The outcome after all waits, which take no time here. */
async function outcome(call: Promise<Response>): Promise<Response | Error> {
  const settled = call.catch((error: unknown) => error as Error);
  await vi.runAllTimersAsync();
  return await settled;
}

const GET = { method: "GET", path: "/api/v1/provers" };
const POST = { method: "POST", path: "/api/v1/provers", body: { name: "x" } };

describe("what is sent again", () => {
  it("is a GET, after the time that Retry-After says", async () => {
    const found = await outcome(transport([failure(429, "too_many_requests", "7"), Response.json([])]).send(GET));
    expect(found).toBeInstanceOf(Response);
    expect(seen.map(({ atMs }) => atMs)).toEqual([0, 7000]);
  });

  it("waits longer each time where the server names no time, and gives up after the last attempt", async () => {
    const busy = (): Response => failure(503, "overloaded");
    const found = await outcome(transport([busy(), busy(), busy(), busy()]).send(GET));
    expect(found).toMatchObject({ name: "ApiError", status: 503, code: "overloaded", requestId: "r1" });
    expect(seen).toHaveLength(4);
    const waits = seen.slice(1).map(({ atMs }, index) => atMs - seen[index]!.atMs);
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(125 * 2 ** index);
      expect(wait).toBeLessThanOrEqual(251 * 2 ** index);
    }
  });

  it("is a POST with an idempotency key, the same one each time, also while the first attempt is worked on", async () => {
    const steps = [refused(), failure(409, "idempotency_in_progress"), Response.json({}, { status: 201 })];
    expect(await outcome(transport(steps).send(POST, { idempotencyKey: "k" }))).toMatchObject({ status: 201 });
    expect(seen.map(({ headers }) => headers.get("idempotency-key"))).toEqual(["k", "k", "k"]);
  });

  it.each([
    ["a POST without a key", POST, failure(503, "overloaded")],
    ["a PUT", { ...POST, method: "PUT" }, failure(503, "overloaded")],
    ["a DELETE", { ...GET, method: "DELETE" }, failure(503, "overloaded")],
    ["a sealed vault", GET, failure(503, "vault_sealed", "5")],
    ["what is wrong for good", GET, failure(404, "not_found")],
    ["a wait of over a minute", GET, failure(429, "too_many_requests", "61")],
  ])("is not %s", async (_name, request, answer) => {
    expect(await outcome(transport([answer]).send(request))).toBeInstanceOf(ApiError);
    expect(seen).toHaveLength(1);
  });

  it("is nothing unless retries are asked for", async () => {
    const options = { baseUrl: "http://host", fetch: async () => failure(503, "overloaded") };
    expect(await outcome(new Transport(options).send(GET))).toBeInstanceOf(ApiError);
  });
});

describe("an attempt", () => {
  it("asks for a token each time where a function gives it", async () => {
    const tokens = ["old", "new"];
    const token = async (): Promise<string> => tokens.shift() ?? "none";
    await outcome(transport([failure(503, "overloaded", "0"), Response.json([])], { token }).send(GET));
    expect(seen.map(({ headers }) => headers.get("authorization"))).toEqual(["bearer old", "bearer new"]);
  });

  it("keeps a path before the API's", async () => {
    await outcome(transport([Response.json([])]).send({ ...GET, query: { tag: ["a", "b"], meta: { team: "x" } } }));
    expect(seen[0]!.url).toBe("http://host/prefix/api/v1/provers?tag=a&tag=b&meta%5Bteam%5D=x");
  });

  it("says what is wrong when there is no answer", async () => {
    const found = await outcome(transport([refused()], { retries: 0 }).send(GET));
    expect(found).toBeInstanceOf(ConnectionError);
    expect(found).toMatchObject({ message: "http://host cannot be reached: connect ECONNREFUSED" });
  });

  it("ends after its time", async () => {
    const never: typeof fetch = async (_url, init) =>
      await new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => {
          reject(init.signal?.reason as Error);
        });
      });
    const found = await outcome(transport([], { fetch: never, timeoutMs: 5000 }).send(GET));
    expect(found).toBeInstanceOf(TimeoutError);
    expect(found).toMatchObject({ message: "the server did not answer within 5 s" });
  });

  it("ends when the caller gives up, also between two attempts", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const call = transport([failure(429, "too_many_requests", "30")]).send(GET, { signal });
    const settled = call.catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1000);
    controller.abort(new Error("enough"));
    expect(await settled).toMatchObject({ message: "enough" });
    expect(seen).toHaveLength(1);
  });
});
