/**
 * The typed client against the real front: inputs, answers, failures. What does not compile is tested by the compiler.
 */
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, type Client } from "../../src/sdk/client.js";
import { ApiError } from "../../src/sdk/errors.js";
import { THING_ID, TOKEN, startFront, testRoutes, type Front } from "../platform/http/support.js";
import { newFolder } from "../support/temporary-folder.js";

let front: Front;
let client: Client<typeof testRoutes>;
const folder = newFolder("client");
beforeAll(async () => {
  front = await startFront();
  client = createClient({ baseUrl: `${front.url}/`, token: TOKEN }, testRoutes);
});
afterAll(async () => {
  await front.server.stop({ graceMs: 0 });
  rmSync(folder, { recursive: true });
});

const failure = async (call: Promise<unknown>): Promise<ApiError> => {
  const error: unknown = await call.then(
    () => new Error("did not fail"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ApiError) return error;
  throw error as Error;
};

describe("calls", () => {
  it("fill the path and type the answer", async () => {
    const answer = await client.getThing({ params: { id: THING_ID } });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ id: THING_ID, name: "thing" });
    expectTypeOf(answer.body).toEqualTypeOf<{ id: string; name: string }>();
    expectTypeOf(answer.status).toEqualTypeOf<200>();
  });

  it("take query members, lists by repeating, and give the total of lists", async () => {
    const answer = await client.listThings({ query: { name: "a&b", tag: ["x", "y"], rpp: 10 } });
    expect(answer.total).toBe(60);
    expect(JSON.parse(answer.body[0]!.name)).toEqual({ old: true, name: "a&b", tag: ["x", "y"], page: 1, rpp: 10 });
    expect((await client.listThings()).body.length).toBe(1);
    const filtered = await client.listThings({ query: { meta: { order: "7&8", "a b": "c" } } });
    expect(JSON.parse(filtered.body[0]!.name)).toMatchObject({ meta: { order: "7&8", "a b": "c" } });
  });

  it("send bodies, extra headers, the wait and the idempotency key", async () => {
    const created = await client.createThing({
      body: { name: "spoon" },
      idempotencyKey: "k1",
      headers: { "X-Request-Id": "mine" },
    });
    expect(created.status).toBe(201);
    expect(created.headers.get("location")).toContain(THING_ID);
    expect(created.headers.get("x-request-id")).toBe("mine");
    expect((await client.open({ preferWaitSec: 9 })).body).toMatchObject({ preferWaitSec: 9, n: null });
  });

  it("give undefined for an empty answer, bytes for files, JSON for bytes that spell it", async () => {
    expect((await client.deleteThing({ params: { id: THING_ID } })).body).toBeUndefined();
    const path = join(folder, "f");
    writeFileSync(path, "content");
    front.file = { path, bytes: 7, sha256: createHash("sha256").update("content").digest("hex") };
    expect(Buffer.from((await client.getFile()).bytes).toString()).toBe("content");
    expect((await client.newSecret()).body.key).toBe("abandon abandon art");
    expect((await client.rawPost({ body: { key: "x" } })).body.bytes).toBe(11);
  });
});

describe("failures", () => {
  it("reject with what the server said", async () => {
    const error = await failure(client.createThing({ body: { name: "" } }));
    expect(error).toMatchObject({
      status: 422,
      code: "invalid_request",
      message: "name: must not be empty",
      errors: [{ path: "name" }],
      retryAfterSec: undefined,
    });
    expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("carry Retry-After", async () => {
    expect(await failure(client.fail({ query: { how: "busy" } }))).toMatchObject({
      status: 503,
      code: "overloaded",
      retryAfterSec: 7,
    });
  });

  it("say 401 without a token", async () => {
    expect(await failure(createClient({ baseUrl: front.url }, testRoutes).listThings())).toMatchObject({
      status: 401,
      code: "unauthorized",
    });
  });

  it("survive an answer that is not ours", async () => {
    const proxy = createClient(
      { baseUrl: "http://x", fetch: async () => new Response("<h1>Bad gateway</h1>", { status: 502 }) },
      testRoutes,
    );
    expect(await failure(proxy.listThings())).toMatchObject({
      status: 502,
      code: "unknown",
      message: "the server answered 502",
      errors: [],
    });
  });

  it("reject when the caller gives up", async () => {
    await expect(client.listThings({ signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
  });

  it("refuse a path parameter that is missing before anything is sent", async () => {
    await expect(client.getThing({ params: { id: "" } })).rejects.toThrow("the path parameter id is missing");
  });
});

it("encodes path parameters, so that one cannot become two", async () => {
  const seen: string[] = [];
  const spy = createClient(
    {
      baseUrl: "http://x",
      fetch: async (input) => {
        seen.push(new Request(input).url);
        return Response.json({});
      },
    },
    testRoutes,
  );
  await spy.getThing({ params: { id: "../../users?x=1" } });
  expect(seen).toEqual(["http://x/api/v1/things/..%2F..%2Fusers%3Fx%3D1"]);
});
