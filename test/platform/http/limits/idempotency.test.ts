/** Idempotency-Key: repeats, other requests under the same key, cut-off requests, expiry. */
import { describe, expect, it, vi } from "vitest";
import type { Clock } from "../../../../src/platform/clock.js";
import { AppError, type ErrorCode } from "../../../../src/platform/errors.js";
import { StoredIdempotency } from "../../../../src/platform/http/limits/idempotency-store.js";
import { runOnce, type IdempotencyClaim } from "../../../../src/platform/http/limits/idempotency.js";
import type { Once } from "../../../../src/platform/contract/once.js";
import type { AnyReply } from "../../../../src/platform/contract/route.js";
import { mergeCommits } from "../../../../src/platform/store/commits.js";
import { eventually } from "../../../support/eventually.js";
import { NodesInMemory } from "../../../support/nodes-in-memory.js";
import { MemoryStore } from "../../../support/memory-store.js";
import { JSON_HEADERS, errorOf, startFront } from "../support.js";

const DAY_MS = 24 * 60 * 60 * 1000;

function heldClock(): Clock & { advance(ms: number): void } {
  let ms = 1_700_000_000_000;
  return {
    nowMs: () => ms,
    monotonicMs: () => ms,
    advance: (by) => {
      ms += by;
    },
  };
}

const claim: IdempotencyClaim = { subject: "user:1", routeId: "create", key: "k", requestHash: "h" };
const reply = { status: 201, body: { id: 1 }, headers: { Location: "/1" } };

describe("idempotency keys over the store", () => {
  it("runs once and gives the same answer again, marked, also to a new process", async () => {
    const store = new MemoryStore();
    const clock = heldClock();
    let runs = 0;
    const run = async (): Promise<unknown> =>
      await runOnce(new StoredIdempotency({ store, clock }), claim, () => {
        runs += 1;
        return reply;
      });
    expect(await run()).toEqual(reply);
    expect(await run()).toEqual({ ...reply, headers: { Location: "/1", "Idempotency-Replayed": "true" } });
    clock.advance(DAY_MS - 1);
    await run();
    expect(runs).toBe(1);
    clock.advance(1);
    await run();
    expect(runs).toBe(2);
    expect([store.count(["idempotency"]), store.count(["idempotency_expiry"])]).toEqual([1, 1]);
  });

  it("keeps subjects, routes and keys apart", async () => {
    const idempotency = new StoredIdempotency({ store: new MemoryStore(), clock: heldClock() });
    let runs = 0;
    for (const change of [{}, { subject: "user:2" }, { routeId: "other" }, { key: "l" }])
      await runOnce(idempotency, { ...claim, ...change }, () => {
        runs += 1;
        return reply;
      });
    expect(runs).toBe(4);
  });

  it("refuses another request under the same key", async () => {
    const idempotency = new StoredIdempotency({ store: new MemoryStore(), clock: heldClock() });
    await runOnce(idempotency, claim, () => reply);
    await expect(runOnce(idempotency, { ...claim, requestHash: "i" }, () => reply)).rejects.toMatchObject({
      code: "idempotency_key_reused",
    });
  });

  it("refuses a repeat while the first runs, and one whose first was cut off", async () => {
    const store = new MemoryStore();
    const clock = heldClock();
    const idempotency = new StoredIdempotency({ store, clock });
    expect(await idempotency.claim(claim)).toBeUndefined();
    await expect(idempotency.claim(claim)).rejects.toMatchObject({
      code: "idempotency_in_progress",
      message: expect.stringContaining("still running") as string,
    });
    const afterCrash = new StoredIdempotency({ store, clock });
    await expect(afterCrash.claim(claim)).rejects.toMatchObject({
      code: "idempotency_in_progress",
      message: expect.stringContaining("not known") as string,
    });
  });

  it("lets one of two claims at the same moment through", async () => {
    const idempotency = new StoredIdempotency({ store: new MemoryStore(), clock: heldClock() });
    const both = await Promise.allSettled([idempotency.claim(claim), idempotency.claim(claim)]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("knows of a first request on another node whether it still runs", async () => {
    const cluster = new NodesInMemory();
    const clock = heldClock();
    const [first, second] = ["a", "b"].map((name) => new StoredIdempotency({ ...cluster.node(name), clock })) as [
      StoredIdempotency,
      StoredIdempotency,
    ];
    const both = await Promise.allSettled([first.claim(claim), second.claim(claim)]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    const refusal = (words: string): object => ({
      code: "idempotency_in_progress",
      message: expect.stringContaining(words) as string,
    });
    await expect(second.claim(claim)).rejects.toMatchObject(refusal("still running"));
    cluster.end("a");
    await expect(second.claim(claim)).rejects.toMatchObject(refusal("not known"));

    const other = { ...claim, key: "other" };
    const third = new StoredIdempotency({ ...cluster.node("c"), clock });
    const answer = await runOnce(third, other, () => reply);
    expect(await runOnce(second, other, () => ({ ...reply, status: 500 }))).toMatchObject({
      status: answer.status,
      body: answer.body,
    });
  });

  it("runs a request again that was cut off before it took effect, where its handler keeps what it does", async () => {
    const store = new MemoryStore();
    const clock = heldClock();
    const keeping = { ...claim, keepsOnce: true };
    expect(await new StoredIdempotency({ store, clock }).claim(keeping)).toBeUndefined();
    const next = new StoredIdempotency({ store, clock });
    expect(await runOnce(next, keeping, () => reply)).toEqual(reply);
    expect(await runOnce(next, keeping, () => ({ ...reply, status: 500 }))).toMatchObject({ body: reply.body });
    expect([store.count(["idempotency"]), store.count(["idempotency_expiry"])]).toEqual([1, 1]);
  });

  it("answers a request that was cut off behind the commit that kept its answer", async () => {
    const store = new MemoryStore();
    const clock = heldClock();
    const keeping = { ...claim, keepsOnce: true };
    const first = new StoredIdempotency({ store, clock });
    const cut = runOnce(first, keeping, async (once) => {
      await store.commit(mergeCommits({ puts: [{ key: ["made"], value: 1 }] }, once.answered(reply)));
      return await new Promise<never>(() => undefined);
    });
    void cut;
    await eventually(() => {
      expect(store.get(["made"])).toBeDefined();
    });
    const replayed = { ...reply, headers: { ...reply.headers, "Idempotency-Replayed": "true" } };
    expect(await runOnce(new StoredIdempotency({ store, clock }), keeping, () => reply)).toEqual(replayed);
  });

  it("answers with what a request lacks once that was cut off, and not while it runs", async () => {
    const store = new MemoryStore();
    const clock = heldClock();
    const keeping = { ...claim, keepsOnce: true };
    const first = new StoredIdempotency({ store, clock });
    let finish = (): void => undefined;
    const running = runOnce(first, keeping, async (once) => {
      await store.commit(once.cutOff({ ...reply, body: { id: 1, lacks: "more" } }));
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return reply;
    });
    await eventually(() => {
      expect(JSON.stringify(store.range(["idempotency"]))).toContain("lacks");
    });
    await expect(first.claim(keeping)).rejects.toMatchObject({
      message: expect.stringContaining("still running") as string,
    });
    const next = new StoredIdempotency({ store, clock });
    expect(await runOnce(next, keeping, () => reply)).toMatchObject({ status: 201, body: { id: 1, lacks: "more" } });
    finish();
    expect(await running).toEqual(reply);
    expect(await runOnce(next, keeping, () => ({ ...reply, status: 500 }))).toMatchObject({ body: reply.body });
  });

  it("tells that a request took effect that was cut off before its answer was known", async () => {
    for (const begin of [
      async (store: MemoryStore, once: Once) => await store.commit(once.begun()),
      async (_store: MemoryStore, once: Once) => await once.begin(),
      // An answer that is too long to be kept.
      async (store: MemoryStore, once: Once) =>
        await store.commit(once.answered({ status: 201, body: "x".repeat(300_000) })),
    ]) {
      const store = new MemoryStore();
      const clock = heldClock();
      const keeping = { ...claim, keepsOnce: true };
      let hasBegun = false;
      void runOnce(new StoredIdempotency({ store, clock }), keeping, async (once) => {
        await begin(store, once);
        hasBegun = true;
        return await new Promise<never>(() => undefined);
      });
      await eventually(() => {
        expect(hasBegun).toBe(true);
      });
      await expect(new StoredIdempotency({ store, clock }).claim(keeping)).rejects.toMatchObject({
        code: "idempotency_in_progress",
        message: expect.stringContaining("began to take effect") as string,
      });
    }
  });

  it("keeps the answer of a request that fails behind its commit, unless it is refused then", async () => {
    const store = new MemoryStore();
    const clock = heldClock();
    const failing = (code: ErrorCode) => {
      const keeping = { ...claim, key: code, keepsOnce: true };
      const run = async (handler: (once: Once) => Promise<AnyReply>): Promise<AnyReply> =>
        await runOnce(new StoredIdempotency({ store, clock }), keeping, handler);
      const first = run(async (once) => {
        await store.commit(once.answered(reply));
        throw new AppError(code, { message: "behind the commit" });
      });
      return { first, again: async () => await run(async () => await Promise.resolve({ status: 201, body: "again" })) };
    };
    const cutOff = failing("deadline_exceeded");
    await expect(cutOff.first).rejects.toMatchObject({ code: "deadline_exceeded" });
    expect(await cutOff.again()).toMatchObject({ status: reply.status, body: reply.body });
    const refused = failing("transaction_refused");
    await expect(refused.first).rejects.toMatchObject({ code: "transaction_refused" });
    expect(await refused.again()).toMatchObject({ body: "again" });
  });

  it("frees the key of a request that fails where its commit did, and where it has only said that it begins", async () => {
    const store = new MemoryStore();
    const idempotency = new StoredIdempotency({ store, clock: heldClock() });
    const fails = async (begins: (once: Once) => unknown): Promise<void> => {
      const ran = runOnce(idempotency, { ...claim, keepsOnce: true }, async (once) => {
        await begins(once);
        throw new AppError("storage_failed", { message: "no commit" });
      });
      await expect(ran).rejects.toThrow("no commit");
      expect(store.count([])).toBe(0);
    };
    await fails((once) => once.answered(reply));
    await fails(async (once) => await once.begin());
  });

  it("stores an answer once that was kept, and in its place another one that was given", async () => {
    for (const [kept, writes] of [
      [reply, 2],
      [{ ...reply, body: { id: 1, state: "begun" } }, 3],
      [{ ...reply, headers: {} }, 3],
      [{ ...reply, status: 202 }, 3],
    ] as const) {
      const store = new MemoryStore();
      const commit = vi.spyOn(store, "commit");
      const idempotency = new StoredIdempotency({ store, clock: heldClock() });
      await runOnce(idempotency, claim, async (once) => {
        await store.commit(once.answered(kept));
        return reply;
      });
      expect(commit).toHaveBeenCalledTimes(writes);
      const replayed = { ...reply, headers: { ...reply.headers, "Idempotency-Replayed": "true" } };
      expect(await runOnce(idempotency, claim, () => ({ status: 201 }))).toEqual(replayed);
    }
  });

  it("says what a request made whose answer is too long to be kept", async () => {
    const idempotency = new StoredIdempotency({ store: new MemoryStore(), clock: heldClock() });
    // Fewer characters than the limit, and more bytes.
    const long = { status: 201, body: "€".repeat(100_000), headers: { Location: "/api/v1/things/7" } };
    expect(await runOnce(idempotency, claim, () => long)).toEqual(long);
    await expect(runOnce(idempotency, claim, () => reply)).rejects.toMatchObject({
      code: "idempotency_in_progress",
      message: expect.stringContaining("made /api/v1/things/7, and its answer was too long") as string,
    });
  });

  it("runs a request again on another node only once the first node is given up", async () => {
    const cluster = new NodesInMemory();
    const clock = heldClock();
    const keeping = { ...claim, keepsOnce: true };
    const [first, second] = ["a", "b"].map((name) => new StoredIdempotency({ ...cluster.node(name), clock })) as [
      StoredIdempotency,
      StoredIdempotency,
    ];
    expect(await first.claim(keeping)).toBeUndefined();
    await expect(second.claim(keeping)).rejects.toMatchObject({ message: expect.stringContaining("still") as string });
    // What a living process has abandoned may still be written.
    first.abandon(keeping);
    await expect(first.claim(keeping)).rejects.toMatchObject({
      message: expect.stringContaining("not known") as string,
    });
    cluster.end("a");
    expect(await runOnce(second, keeping, () => reply)).toEqual(reply);
    await expect(first.settle(keeping, { answer: { status: 201, headers: {}, body: null } })).rejects.toThrow(
      "given up",
    );
  });

  it("frees the key of a request that failed, or whose answer is bytes", async () => {
    const store = new MemoryStore();
    const idempotency = new StoredIdempotency({ store, clock: heldClock() });
    await expect(
      runOnce(idempotency, claim, () => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    await runOnce(idempotency, claim, () => ({ status: 201, bytes: Buffer.from("secret") }));
    await runOnce(idempotency, claim, () => ({ status: 409, body: {} }));
    expect(store.count([])).toBe(0);
  });

  it("keeps the key of a request whose outcome is unknown, and runs no repeat of it", async () => {
    const idempotency = new StoredIdempotency({ store: new MemoryStore(), clock: heldClock() });
    let runs = 0;
    const run = async (): Promise<unknown> =>
      await runOnce(idempotency, claim, () => {
        runs += 1;
        throw new AppError("outcome_unknown", { message: "nobody knows" });
      });
    await expect(run()).rejects.toMatchObject({ code: "outcome_unknown" });
    const repeat = { code: "idempotency_in_progress", message: expect.stringContaining("is not known") as string };
    await expect(run()).rejects.toMatchObject(repeat);
    expect(runs).toBe(1);
  });

  it("tells of the failure, and not that the key could not be freed", async () => {
    const store = new MemoryStore();
    const idempotency = new StoredIdempotency({ store, clock: heldClock() });
    const failing = runOnce(idempotency, claim, () => {
      store.commit = () => Promise.reject(new AppError("store_unreachable", { message: "away" }));
      throw new AppError("not_found", { message: "gone" });
    });
    await expect(failing).rejects.toMatchObject({ code: "not_found" });
  });

  it("sweeps what has expired and nothing else", async () => {
    const store = new MemoryStore();
    const clock = heldClock();
    const idempotency = new StoredIdempotency({ store, clock });
    for (let n = 0; n < 300; n += 1) await runOnce(idempotency, { ...claim, key: `old-${String(n)}` }, () => reply);
    clock.advance(DAY_MS / 2);
    await runOnce(idempotency, { ...claim, key: "new" }, () => reply);
    clock.advance(DAY_MS / 2);
    await runOnce(idempotency, { ...claim, key: "newest" }, () => reply);
    expect(store.count(["idempotency"])).toBe(298);
    expect(await idempotency.sweep()).toBe(296);
    await idempotency.release({ ...claim, key: "newest" });
    expect(store.count(["idempotency"])).toBe(1);
    expect(store.count(["idempotency_expiry"])).toBe(1);
  });
});

describe("Idempotency-Key over HTTP", () => {
  it("replays creates, refuses reuse and odd keys, and keeps no body in the store", async () => {
    const store = new MemoryStore();
    const front = await startFront({ idempotency: new StoredIdempotency({ store, clock: heldClock() }) });
    const create = async (name: string, key: string): Promise<Response> =>
      await fetch(`${front.url}/api/v1/things`, {
        method: "POST",
        headers: { ...JSON_HEADERS, "Idempotency-Key": key },
        body: JSON.stringify({ name }),
      });
    const first = await create("spoon", "key-1");
    const again = await create("spoon", "key-1");
    expect([first.status, again.status, front.created]).toEqual([201, 201, 1]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect(await again.text()).toBe(await first.text());
    const reused = await create("fork", "key-1");
    expect(reused.status).toBe(422);
    expect((await errorOf(reused)).errors[0]?.code).toBe("idempotency_key_reused");
    expect((await create("spoon", "ä".repeat(3))).status).toBe(400);
    expect((await create("spoon", "k".repeat(256))).status).toBe(400);
    expect((await create("taken", "key-2")).status).toBe(409);
    expect((await create("knife", "key-2")).status).toBe(201);
    expect(JSON.stringify(store.range([]).map(({ value }) => value))).not.toContain('"name":"spoon"');
    await front.server.stop({ graceMs: 0 });
  });
});
