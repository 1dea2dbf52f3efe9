import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { AppError } from "../../../src/platform/errors.js";
import { createLog } from "../../../src/platform/log.js";
import {
  GaveWay,
  ThreadPool,
  type RunOptions,
  type ThreadPoolOptions,
} from "../../../src/platform/pool/thread-pool.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const entry = fileURLToPath(new URL("../../support/pool-fixture.worker.mjs", import.meta.url));
const open: ThreadPool[] = [];

function createPool(options: Partial<ThreadPoolOptions> = {}): ThreadPool {
  const pool = new ThreadPool(
    { name: "fixture", entry, threads: 1, queueLengthMax: 2, niceness: 0, ...options },
    { log: createLog("silent") },
  );
  open.push(pool);
  return pool;
}

/** Holds tasks of the fixture until it is opened. */
function newGate(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4));
}

function openGate(gate: Int32Array): void {
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof AppError ? error.code : String(error);
}

afterEach(async () => {
  await Promise.all(
    open.splice(0).map(async (pool) => {
      await pool.stop();
    }),
  );
});

describe("thread pool", () => {
  it("loads its entry by import(), since a thread that is ended inside require() of a module takes Node 20 down", async () => {
    expect(await createPool().run({ act: "requires-modules" })).toBe(false);
  });

  it("starts its threads with the first task, all of them", async () => {
    const pool = createPool({ threads: 2 });
    expect([pool.threads, pool.isStarted]).toEqual([2, false]);
    await pool.run({ act: "echo" });
    expect([pool.threads, pool.isStarted]).toEqual([2, true]);
  });

  it.each([
    ["its entry is missing", undefined],
    ["its entry throws", "throw new Error('not installed whole');"],
  ])("fails at once while %s, and works when it is there", async (_name, code) => {
    const folder = newFolder("pool");
    const late = join(folder, "late.mjs");
    if (code !== undefined) writeFileSync(late, code);
    try {
      const pool = createPool({ entry: late });
      for (const retryOnCrash of [true, false])
        expect(await codeOf(pool.run({ act: "echo" }, { retryOnCrash }))).toBe("internal_error");
      // The thread ends after its task was answered.
      await expect.poll(() => pool.isStarted).toBe(false);
      copyFileSync(entry, late);
      expect(await pool.run({ act: "echo" })).toHaveProperty("threadId");
    } finally {
      removeFolder(folder);
    }
  });

  it("refuses every task after it was stopped without having started", async () => {
    const pool = createPool();
    await pool.stop();
    expect(await codeOf(pool.run({ act: "echo" }))).toBe("shutting_down");
    expect(pool.isStarted).toBe(false);
  });

  it("refuses a task beyond its queue, with a Retry-After", async () => {
    const pool = createPool();
    const gate = newGate();
    const running = [1, 2, 3].map(async () => await pool.run({ act: "wait", gate }));
    const refused: unknown = await pool.run({ act: "echo" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "overloaded" });
    expect((refused as AppError).retryAfterSec).toBeGreaterThanOrEqual(1);
    openGate(gate);
    await Promise.all(running);
    expect(await pool.run({ act: "echo" })).toHaveProperty("threadId");
  });

  it.each([
    ["a signal", (): RunOptions => ({ signal: new AbortController().signal })],
    ["a deadline", (): RunOptions => ({ deadlineMs: 60_000 })],
  ])("counts waiting tasks that have %s", async (_name, options) => {
    const pool = createPool({ threads: 2 });
    const gate = newGate();
    const outcomes = Array.from({ length: 12 }, async () => await codeOf(pool.run({ act: "wait", gate }, options())));
    expect(pool.waiting).toBe(2);
    expect(await Promise.all(outcomes.slice(4))).toEqual(Array.from({ length: 8 }, () => "overloaded"));
    openGate(gate);
    expect(await Promise.all(outcomes.slice(0, 4))).toEqual(Array.from({ length: 4 }, () => "undefined"));
  });

  it("ends endless tasks of one owner for another that waits, and leaves one alone", async () => {
    const pool = createPool({ threads: 2, giveWayMs: 0 });
    const caller = new AbortController();
    const task = { owner: "a", mayGiveWay: true, signal: caller.signal };
    const [older, younger] = [pool.run({ act: "loop" }, task), pool.run({ act: "loop" }, task)];
    const other = pool.run({ act: "echo" }, { owner: "b" });
    await expect(younger).rejects.toThrow(GaveWay);
    expect(await other).toHaveProperty("threadId");
    caller.abort(new Error("client gone"));
    await expect(older).rejects.toThrow("client gone");
  });

  it("ends an endless task at its deadline and serves the next", async () => {
    const pool = createPool();
    const endless = codeOf(pool.run({ act: "loop" }, { deadlineMs: 300 }));
    const next = pool.run({ act: "echo" });
    expect(await endless).toBe("deadline_exceeded");
    expect(await next).toHaveProperty("threadId");
  });

  it("ends a task whose caller aborted, with the caller's reason", async () => {
    const pool = createPool();
    const caller = new AbortController();
    const task = pool.run({ act: "loop" }, { signal: caller.signal });
    caller.abort(new Error("client gone"));
    await expect(task).rejects.toThrow("client gone");
    expect(await pool.run({ act: "echo" })).toHaveProperty("threadId");
  });

  it("never starts a task whose caller aborted while it waited", async () => {
    const pool = createPool();
    const gate = newGate();
    const first = pool.run({ act: "wait", gate });
    const caller = new AbortController();
    const queued = pool.run({ act: "exit" }, { signal: caller.signal });
    caller.abort(new Error("client gone"));
    await expect(queued).rejects.toThrow("client gone");
    openGate(gate);
    expect(await first).toHaveProperty("threadId");
  });

  it("runs a task once more when its thread dies, then fails with internal_error", async () => {
    const pool = createPool();
    expect(await codeOf(pool.run({ act: "exit" }))).toBe("internal_error");
    expect(await pool.run({ act: "echo" })).toHaveProperty("threadId");
  });

  it("keeps a thrown error's text from the caller", async () => {
    const failure: unknown = await createPool()
      .run({ act: "throw" })
      .catch((error: unknown) => error);
    expect((failure as AppError).code).toBe("internal_error");
    expect((failure as AppError).message).not.toContain("a bug");
  });

  it("gives its threads an empty environment", async () => {
    expect(await createPool().run({ act: "environment" })).toEqual([]);
  });

  it("refuses tasks once it stops", async () => {
    const pool = createPool();
    await pool.stop();
    expect(await codeOf(pool.run({ act: "echo" }))).toBe("shutting_down");
  });
});
