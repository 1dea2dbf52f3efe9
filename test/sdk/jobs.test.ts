/** Proofs as jobs through the client: what is asked, the wait, and who ends it. The server is a function here. */
import { beforeEach, describe, expect, it } from "vitest";
import { JobError } from "../../src/sdk/errors.js";
import { Proofwright } from "../../src/sdk/proofwright.js";
import type { Job } from "../../src/sdk/types.js";

interface Seen {
  readonly call: string;
  readonly headers: Headers;
  readonly body: unknown;
}

const RESULT = { proof: "aa", note_index: 0 };
const job = (changes: object = {}) => ({
  id: "j",
  status: "queued",
  position: 1,
  progress: 0,
  finished_at: null,
  ...changes,
});
const ended = (status: string, changes: object = {}) =>
  job({ status, position: null, progress: 1, finished_at: "2026-01-01T00:00:00.000Z", result: null, ...changes });

let seen: Seen[];
beforeEach(() => {
  seen = [];
});

function client(answer: (call: string, count: number) => unknown): Proofwright {
  return new Proofwright({
    ...{ baseUrl: "http://host", token: "t", retries: 0 },
    fetch: async (url, init) => {
      init?.signal?.throwIfAborted();
      const call = `${init?.method ?? "GET"} ${(url as string).slice("http://host/api/v1".length)}`;
      const text = init?.body as string | undefined;
      seen.push({ call, headers: new Headers(init?.headers), body: text === undefined ? undefined : JSON.parse(text) });
      const found = await answer(call, seen.length);
      return found instanceof Response ? found : Response.json(found);
    },
  });
}

const calls = (): string[] => seen.map(({ call }) => call);
const preferred = (): (string | null)[] => seen.map(({ headers }) => headers.get("prefer"));

describe("a job", () => {
  it("is started by the route of proofs, with a name of its own and a deadline", async () => {
    const found = client(() => job());
    expect(await found.jobs.start("p", { witness: { X: "3" } }, { deadlineSec: 60, format: "snarkjs" })).toEqual(job());
    expect(calls()).toEqual(["POST /provers/p/prove?format=snarkjs&deadline_sec=60"]);
    expect(seen[0]).toMatchObject({ body: { witness: { X: "3" } } });
    expect(preferred()).toEqual(["respond-async"]);
    expect(seen[0]!.headers.get("idempotency-key")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("is waited for by requests that the server holds", async () => {
    const found = client((_call, count) => (count === 1 ? job() : ended("succeeded", { result: RESULT })));
    expect(await found.jobs.waitUntilDone("j")).toEqual(RESULT);
    expect(calls()).toEqual(["GET /jobs/j", "GET /jobs/j"]);
    expect(preferred()).toEqual(["wait=30", "wait=30"]);
  });

  it("tells each change once to whoever follows it", async () => {
    const states = [job(), job(), job({ status: "running", position: null, progress: 0.5 })];
    const found = client(() => states.shift() ?? ended("succeeded", { result: RESULT }));
    const told: string[] = [];
    await found.jobs.waitUntilDone("j", {
      onProgress: ({ status, progress }: Job) => told.push(`${status} ${progress}`),
    });
    expect(told).toEqual(["queued 0", "running 0.5", "succeeded 1"]);
    expect(preferred()).toEqual([null, null, null, null]);
  });

  it.each([
    ["failed", { code: "constraints_unsatisfied", message: "no", status: 422, errors: [{ message: "no", code: "c" }] }],
    ["cancelled", null],
    ["expired", null],
  ])("that has %s is an error with the reason", async (status, error) => {
    const found = client(() => ended(status, { error }));
    const failure: unknown = await found.jobs.waitUntilDone("j").catch((reason: unknown) => reason);
    expect(failure).toBeInstanceOf(JobError);
    expect(failure).toMatchObject({
      ...{ name: "JobError", jobId: "j", status, code: error?.code ?? status },
      ...{ message: error?.message ?? `the job is ${status}`, errors: error?.errors ?? [] },
    });
  });
});

describe("a proof that is made as a job", () => {
  it("is returned, and its job is left to the server", async () => {
    const found = client((call) => (call.startsWith("POST") ? job() : ended("succeeded", { result: RESULT })));
    expect(await found.jobs.prove("p", { witness: {} })).toEqual(RESULT);
    expect(calls()).toEqual(["POST /provers/p/prove", "GET /jobs/j"]);
  });

  it("is cancelled when its caller gives up", async () => {
    const caller = new AbortController();
    const reason = new Error("enough");
    const found = client((call) => {
      if (call.startsWith("GET")) caller.abort(reason);
      return call.startsWith("DELETE") ? new Response(null, { status: 204 }) : job();
    });
    await expect(found.jobs.prove("p", { witness: {} }, { signal: caller.signal })).rejects.toBe(reason);
    expect(calls()).toEqual(["POST /provers/p/prove", "GET /jobs/j", "DELETE /jobs/j"]);
  });

  it("is cancelled after its time, and says so when the server cannot be told", async () => {
    const found = client((call) => (call.startsWith("DELETE") ? new Response("gone", { status: 502 }) : job()));
    await expect(found.jobs.prove("p", { witness: {} }, { timeoutMs: 0 })).rejects.toMatchObject({
      name: "TimeoutError",
    });
    expect(calls()).toEqual(["POST /provers/p/prove", "GET /jobs/j", "DELETE /jobs/j"]);
  });

  it("is left to the server when it has failed, or the connection has", async () => {
    const failed = client((call) => (call.startsWith("POST") ? job() : ended("failed", { error: null })));
    await expect(failed.jobs.prove("p", { witness: {} })).rejects.toBeInstanceOf(JobError);
    const broken = client((call) => {
      if (call.startsWith("GET")) throw new TypeError("fetch failed");
      return job();
    });
    await expect(broken.jobs.prove("p", { witness: {} })).rejects.toMatchObject({ name: "ConnectionError" });
    expect(calls().filter((call) => call.startsWith("DELETE"))).toEqual([]);
  });
});

describe("a batch of jobs", () => {
  it("yields each job in the order of its items, those that failed too", async () => {
    const batch = [job({ id: "a" }), { errors: [{ message: "no", code: "witness_missing" }] }, job({ id: "b" })];
    const found = client((call) => {
      if (call.startsWith("POST")) return { batch_id: "x", batch };
      const id = call.slice(-1);
      return id === "a" ? ended("failed", { id, error: null }) : ended("succeeded", { id, result: RESULT });
    });
    const started = await found.jobs.startBatch("p", [{ witness: {} }, {}, { witness: {} }], { deadlineSec: 9 });
    const outcomes: unknown[] = [];
    for await (const { id, status, result } of found.jobs.results(started)) outcomes.push([id, status, result]);
    expect(outcomes).toEqual([
      ["a", "failed", null],
      ["b", "succeeded", RESULT],
    ]);
    expect(calls()[0]).toBe("POST /provers/p/prove/batch?deadline_sec=9");
    expect(preferred()[0]).toBe("respond-async");
  });
});
