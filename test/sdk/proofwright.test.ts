/** The client of a server: logging in, pages, keys of its own for what it makes, and waiting for long work. */
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from "vitest";
import type { Prover } from "../../src/sdk/types.js";
import { Proofwright } from "../../src/sdk/proofwright.js";

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: unknown;
}

let seen: Seen[];
beforeEach(() => {
  seen = [];
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A client whose server is a function. */
function client(answer: (request: Seen, count: number) => unknown): Proofwright {
  return new Proofwright({
    baseUrl: "http://host/api/v1",
    token: "t",
    fetch: async (url, init) => {
      const text = init?.body as string | undefined;
      const request = {
        method: init?.method ?? "GET",
        path: (url as string).slice("http://host".length),
        headers: new Headers(init?.headers),
        body: text === undefined ? undefined : (JSON.parse(text) as unknown),
      };
      seen.push(request);
      const found = answer(request, seen.length);
      return found instanceof Response ? found : Response.json(found);
    },
  });
}

/** The outcome after all waits, which take no time here. */
async function outcome<T>(call: Promise<T>): Promise<T> {
  const settled = call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await vi.runAllTimersAsync();
  const result = await settled;
  if ("error" in result) throw result.error;
  return result.value;
}

describe("the client", () => {
  it("logs in, and uses the token from then on", async () => {
    const fetched: (string | null)[] = [];
    const proofwright = await Proofwright.login({
      baseUrl: "http://host",
      email: "ada@example.com",
      password: "a long phrase of my own",
      fetch: async (_url, init) => {
        fetched.push(new Headers(init?.headers).get("authorization"));
        return Response.json({ token: { access_token: "fresh" } }, { status: 201 });
      },
    });
    await proofwright.status();
    expect(fetched).toEqual([null, "bearer fresh"]);
  });

  it("sends ids, bodies and filters as the routes have them", async () => {
    const found = client(() => ({}));
    await found.keys.sign("v/1", "k", { message: "hello" });
    await found.provers.prove("cube:latest", { witness: { X: "3" } }, { format: "snarkjs" });
    await found.provers.proveWitness("p", new Uint8Array([1])).catch(() => undefined);
    await found.seal.unseal("words");
    expect(seen.map(({ method, path, body }) => [method, path, body]).slice(0, 2)).toEqual([
      ["POST", "/api/v1/vaults/v%2F1/keys/k/sign", { message: "hello" }],
      ["POST", "/api/v1/provers/cube%3Alatest/prove?format=snarkjs", { witness: { X: "3" } }],
    ]);
    expect(seen.at(-1)).toMatchObject({ path: "/api/v1/unseal", body: { key: "words" } });
  });

  it("names what it makes, so that a repeat makes nothing twice", async () => {
    const found = client((_request, count) => (count === 1 ? new Response("busy", { status: 503 }) : { id: "p" }));
    const body = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" };
    expect(await outcome(found.provers.create(body))).toEqual({ id: "p" });
    const keys = seen.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys).toEqual([keys[0], keys[0]]);
    await found.provers.create(body, { idempotencyKey: "mine" });
    expect(seen.at(-1)!.headers.get("idempotency-key")).toBe("mine");
  });

  it("calls any route, typed by its definition", async () => {
    const found = client(() => ({ state: "up" }));
    const { status, body } = await found.request("GET /api/v1/networks/:id/status", { params: { id: "n" } });
    expect(status).toBe(200);
    expectTypeOf(body.state).toBeString();
    expectTypeOf(found.provers.get).returns.resolves.toEqualTypeOf<Prover>();
  });
});

describe("lists", () => {
  const paged = (): Proofwright =>
    client(({ path }) => {
      const { searchParams } = new URL(path, "http://host");
      const [page, rpp] = [Number(searchParams.get("page")), Number(searchParams.get("rpp"))];
      const ids = Array.from({ length: 250 }, (_, index) => ({ id: String(index) })).slice(
        (page - 1) * rpp,
        page * rpp,
      );
      return Response.json(ids, { headers: { "X-Total-Results-Count": "250" } });
    });

  it("ask for nothing until they are read, and then for a page at a time", async () => {
    const list = paged().provers.list({ curve: "BN254" });
    expect(seen).toHaveLength(0);
    const ids: string[] = [];
    for await (const { id } of list) {
      ids.push(id);
      if (ids.length === 101) break;
    }
    expect(ids.at(-1)).toBe("100");
    expect(seen.map(({ path }) => path)).toEqual([
      "/api/v1/provers?curve=BN254&page=1&rpp=100",
      "/api/v1/provers?curve=BN254&page=2&rpp=100",
    ]);
  });

  it("give one page with the number of all, or all", async () => {
    const page = await paged().provers.list().page({ page: 2, rpp: 10 });
    expect([page.total, page.items.length, page.items[0]!.id]).toEqual([250, 10, "10"]);
    expect((await paged().provers.list().all()).length).toBe(250);
    expect(seen).toHaveLength(4);
  });
});

describe("waiting", () => {
  const progress = (status: string, share: number): unknown => ({
    ...{ id: "p", status, step: status, progress: share, errors: [] },
    finished: status === "provisioned" || status === "failed",
  });

  it("tells each change once, and returns the prover", async () => {
    const steps = [progress("compiling", 0.1), progress("compiling", 0.1), progress("provisioned", 1)];
    const found = client(({ path }) => (path.endsWith("/status") ? steps.shift() : { id: "p", status: "provisioned" }));
    const told: string[] = [];
    const wait = { onProgress: ({ step }: { step: string }) => told.push(step) };
    expect(await outcome(found.provers.waitUntilProvisioned("p", wait))).toMatchObject({ status: "provisioned" });
    expect(told).toEqual(["compiling", "provisioned"]);
  });

  it("fails with what the compiler said", async () => {
    const errors = [{ message: "main.circom:3: missing ;", code: "source_invalid", line: 3 }];
    const found = client(() => ({ ...(progress("failed", 1) as object), errors }));
    await expect(outcome(found.provers.waitUntilProvisioned("p"))).rejects.toMatchObject({
      name: "ProvisioningError",
      message: "main.circom:3: missing ;",
      code: "source_invalid",
      errors,
    });
  });

  it("ends after its time", async () => {
    const found = client(() => progress("compiling", 0.1));
    await expect(outcome(found.provers.waitUntilProvisioned("p", { timeoutMs: 5000 }))).rejects.toMatchObject({
      name: "TimeoutError",
      message: "provisioning of p took longer than 5 s",
    });
  });

  it("ends when a transaction is mined or has failed", async () => {
    const states = ["sent", "sent", "mined"];
    const mined = client(() => {
      const state = states.shift();
      return { id: "x", state, status: state === "mined" ? "success" : "pending", error: null };
    });
    expect(await outcome(mined.transactions.waitUntilMined("x"))).toMatchObject({ state: "mined" });
    const failed = client(() => ({
      id: "x",
      state: "failed",
      status: "failed",
      error: { code: "reverted", message: "no" },
    }));
    await expect(outcome(failed.transactions.waitUntilMined("x"))).rejects.toMatchObject({
      name: "TransactionError",
      code: "reverted",
    });
  });
});
