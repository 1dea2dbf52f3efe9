import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../src/platform/errors.js";
import type { JobEvent } from "../../../src/platform/jobs/job-records.js";
import { ATTEMPTS_MAX, CUT_OFFS_MAX } from "../../../src/platform/jobs/job-run.js";
import { JobFailure, type JobRunner } from "../../../src/platform/jobs/job-runner.js";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import type { Job, NewJob } from "../../../src/platform/jobs/job.js";
import type { StoreCommit } from "../../../src/platform/store/store.js";
import { untilAborted } from "../../support/aborted.js";
import { eventually } from "../../support/eventually.js";
import { MemoryStore } from "../../support/memory-store.js";
import { recordedLog } from "../../support/silent-log.js";

const SUBJECT = ["prover", "user", "alice", "p1"];
const setup: NewJob = { kind: "setup", subject_key: SUBJECT, phase: "compile", input: { size: 1 } };

/** A memory store whose disk can be full. */
class FillingStore extends MemoryStore {
  full = false;

  override async commit(commit: StoreCommit): Promise<void> {
    if (this.full) throw new AppError("storage_full", { message: "full" });
    await super.commit(commit);
  }
}

describe("jobs", () => {
  let store: FillingStore;
  let nowMs: number;
  let log: ReturnType<typeof recordedLog>;
  const opened: Jobs[] = [];
  beforeEach(() => {
    store = new FillingStore();
    nowMs = Date.UTC(2026, 0, 1);
    log = recordedLog();
  });
  afterEach(async () => {
    for (const jobs of opened.splice(0)) await jobs.stop();
  });

  /** A server start: its own runner over the same store. */
  function boot(
    runner: JobRunner | JobRunner["run"],
    options: { started?: boolean; takes?: () => boolean } = {},
  ): Jobs & { events: JobEvent[] } {
    const jobs = new Jobs(
      { retryDelayMs: 1, settleDelayMs: 1, ...(options.takes === undefined ? {} : { takes: options.takes }) },
      { store, log, clock: { nowMs: () => nowMs, monotonicMs: () => nowMs } },
    );
    opened.push(jobs);
    jobs.register("setup", typeof runner === "function" ? { run: runner } : runner);
    const events: JobEvent[] = [];
    jobs.subscribe((event) => {
      events.push(event);
    });
    if (options.started !== false) void jobs.start();
    return Object.assign(jobs, { events });
  }

  async function enqueue(jobs: Jobs, job: NewJob = setup): Promise<string> {
    const { job: made, commit } = jobs.enqueueCommit(job);
    await store.commit(commit);
    jobs.wake();
    return made.id;
  }

  function reach(jobs: Jobs, id: string, state: Job["state"]): Promise<Job> {
    return new Promise((resolve) => {
      const look = (): void => {
        const job = jobs.get(id);
        if (job?.state !== state) return;
        stop();
        resolve(job);
      };
      const stop = jobs.subscribe(look);
      look();
    });
  }

  it("gives back what it takes no more, and runs it again when it does, without a count", async () => {
    let isTaken = true;
    let runs = 0;
    const jobs = boot(
      async (_job, { signal }) => {
        runs += 1;
        if (runs === 1) await untilAborted(signal);
      },
      { takes: () => isTaken },
    );
    const id = await enqueue(jobs);
    await eventually(() => {
      expect(runs).toBe(1);
    });
    jobs.giveBack();
    expect(jobs.get(id)?.state).toBe("running");
    isTaken = false;
    jobs.giveBack();
    expect(await reach(jobs, id, "queued")).toMatchObject({ attempt: 0, cut_offs: 0, boot_id: null });
    jobs.wake();
    expect(jobs.get(id)?.state).toBe("queued");
    isTaken = true;
    jobs.wake();
    expect(await reach(jobs, id, "done")).toMatchObject({ attempt: 1 });
    expect(runs).toBe(2);
  });

  it("gives back the jobs of a kind that it cannot run any more, and goes on with the others", async () => {
    let hasVault = true;
    const runs: unknown[] = [];
    const jobs = boot({
      concurrency: 2,
      isFor: ({ input }) => hasVault || input === "plain",
      run: async ({ input }, { signal }) => {
        runs.push(input);
        await untilAborted(signal);
      },
    });
    const ids: string[] = [];
    for (const input of ["plain", "secret"]) ids.push(await enqueue(jobs, { ...setup, input }));
    await eventually(() => {
      expect(runs).toEqual(["plain", "secret"]);
    });
    hasVault = false;
    jobs.giveBack();
    await eventually(() => {
      expect(ids.map((id) => jobs.get(id)?.state)).toEqual(["running", "queued"]);
    });
    hasVault = true;
    jobs.wake();
    await eventually(() => {
      expect(runs).toEqual(["plain", "secret", "secret"]);
    });
  });

  it("runs a queued job through its phases and marks it done", async () => {
    const jobs = boot(async (job, context) => {
      expect(job).toMatchObject({
        kind: "setup",
        subject_key: SUBJECT,
        input: { size: 1 },
        phase: "compile",
        attempt: 1,
        state: "running",
      });
      await context.setPhase("setup");
      context.progress(0.5);
      expect(context.job.phase).toBe("setup");
    });
    const id = await enqueue(jobs);
    expect(await reach(jobs, id, "done")).toMatchObject({ phase: "setup", attempt: 1, boot_id: null, error: null });
    expect(jobs.events.map((event) => [event.job.state, event.job.phase, event.progress])).toEqual([
      ["running", "compile", undefined],
      ["running", "setup", undefined],
      ["running", "setup", 0.5],
      ["done", "setup", undefined],
    ]);
    expect(jobs.ofSubject(SUBJECT).map((job) => job.id)).toEqual([id]);
  });

  it("commits a phase together with its results, or neither", async () => {
    const seen: (string | undefined)[] = [];
    const jobs = boot(async (_, context) => {
      const make = { checks: [{ key: ["made"], version: "absent" as const }], puts: [{ key: ["made"], value: 1 }] };
      await context.setPhase("setup", make);
      await context.setPhase("gates", make).catch((error: unknown) => seen.push((error as Error).name));
      seen.push(context.job.phase);
    });
    await reach(jobs, await enqueue(jobs), "done");
    expect(seen).toEqual(["StoreConflict", "setup"]);
    expect(store.get(["made"])?.value).toBe(1);
  });

  it("runs no more of a kind at a time than allowed, oldest first, and all of them in the end", async () => {
    let running = 0;
    let most = 0;
    const order: unknown[] = [];
    const jobs = boot({
      concurrency: 2,
      run: async (job) => {
        order.push(job.input);
        most = Math.max(most, (running += 1));
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        running -= 1;
      },
    });
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) {
      nowMs += 1;
      ids.push(await enqueue(jobs, { ...setup, input: index }));
    }
    for (const id of ids) await reach(jobs, id, "done");
    expect(most).toBe(2);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it("repeats a failed attempt from the last phase, then succeeds", async () => {
    const phases: string[] = [];
    const jobs = boot(async (job, context) => {
      phases.push(job.phase);
      await context.setPhase("setup");
      if (job.attempt < 3) throw new Error("flaky");
    });
    expect(await reach(jobs, await enqueue(jobs), "done")).toMatchObject({ attempt: 3 });
    expect(phases).toEqual(["compile", "setup", "setup"]);
  });

  it("gives up after three attempts, commits the subject's failure with it, and reveals no internal text", async () => {
    const jobs = boot({
      run: async () => {
        throw new Error("secret detail");
      },
      onFailed: (job, fault) => ({
        puts: [{ key: ["prover-status"], value: { of: job.subject_key, fault: { ...fault } } }],
      }),
    });
    const failed = await reach(jobs, await enqueue(jobs), "failed");
    expect(failed).toMatchObject({ attempt: ATTEMPTS_MAX, error: { code: "internal_error" } });
    expect(store.get(["prover-status"])?.value).toMatchObject({ of: SUBJECT, fault: { code: "internal_error" } });
    expect(JSON.stringify([failed, jobs.events, log.lines])).not.toContain("secret detail");
  });

  it("gives up at once on a JobFailure, with its reason", async () => {
    const jobs = boot(async () => {
      throw new JobFailure({ code: "source_invalid", message: "main.circom:3: missing semicolon" });
    });
    expect(await reach(jobs, await enqueue(jobs), "failed")).toMatchObject({
      attempt: 1,
      error: { code: "source_invalid", message: "main.circom:3: missing semicolon" },
    });
  });

  it("continues a job that a dead process left running, at its phase, without counting the attempt", async () => {
    const dead = boot(async (_, context) => {
      await context.setPhase("setup");
      await new Promise(() => undefined);
    });
    const id = await enqueue(dead);
    await new Promise<void>((resolve) => {
      dead.subscribe((event) => {
        if (event.job.phase === "setup") resolve();
      });
    });
    opened.splice(opened.indexOf(dead), 1);
    const next = boot(async (job) => {
      expect(job).toMatchObject({ phase: "setup", attempt: 1, cut_offs: 1 });
    });
    expect(await reach(next, id, "done")).toMatchObject({ attempt: 1, cut_offs: 1 });
  });

  it("gives up a job that kills its process each time, and tells its subject", async () => {
    const id = await enqueue(boot(async () => undefined, { started: false }));
    for (let crash = 1; crash <= CUT_OFFS_MAX; crash += 1) {
      const dying = boot(() => new Promise(() => undefined));
      await reach(dying, id, "running");
      expect(dying.get(id)).toMatchObject({ attempt: 1, cut_offs: crash - 1 });
      opened.splice(opened.indexOf(dying), 1);
    }
    let ran = false;
    const next = boot({
      run: async () => {
        ran = true;
      },
      onFailed: () => ({ puts: [{ key: ["told"], value: true }] }),
    });
    expect(await reach(next, id, "failed")).toMatchObject({
      cut_offs: CUT_OFFS_MAX,
      error: { code: "attempts_exhausted" },
    });
    expect([ran, store.get(["told"])?.value]).toEqual([false, true]);
  });

  it("commits nothing for a process that lost its lease", async () => {
    let proceed = (): void => undefined;
    let outcome: unknown;
    const ended = new Promise<void>((resolve) => {
      const dead = boot(async (_, context) => {
        await new Promise<void>((go) => {
          proceed = go;
        });
        await context.setPhase("late", { puts: [{ key: ["late"], value: 1 }] }).catch((error: unknown) => {
          outcome = error;
        });
        resolve();
      });
      void enqueue(dead);
    });
    await eventually(() => {
      expect(store.range(["job#state", "running"])).toHaveLength(1);
    });
    const next = boot(() => new Promise(() => undefined));
    opened.splice(opened.indexOf(next), 1);
    await eventually(() => {
      expect(next.events.length).toBeGreaterThanOrEqual(2);
    });
    proceed();
    await ended;
    expect(outcome).toBeInstanceOf(Error);
    expect(store.get(["late"])).toBeUndefined();
  });

  it("aborts running jobs on stop, and leaves them queued without counting the attempt", async () => {
    const jobs = boot((_, context) => untilAborted(context.signal));
    const id = await enqueue(jobs);
    await reach(jobs, id, "running");
    await jobs.stop();
    expect(jobs.get(id)).toMatchObject({ state: "queued", attempt: 0, boot_id: null });
    await enqueue(jobs);
    expect(jobs.events.filter((event) => event.job.state === "running")).toHaveLength(1);
  });

  it("cancels a job that runs, that waits, or that is gone, and deletes it", async () => {
    const jobs = boot((_, context) => untilAborted(context.signal).catch(() => undefined));
    const running = await enqueue(jobs);
    await reach(jobs, running, "running");
    const waiting = await enqueue(jobs);
    await jobs.cancel(waiting);
    await jobs.cancel(running);
    await jobs.cancel(running);
    expect([jobs.get(running), jobs.get(waiting), store.count(["job"])]).toEqual([undefined, undefined, 0]);
    expect(store.count([])).toBe(0);
  });

  it("cancels a job for all who do so at once when its run has ended, and not before", async () => {
    let end = (): void => undefined;
    const mayEnd = new Promise<void>((resolve) => {
      end = resolve;
    });
    const jobs = boot(async () => {
      await mayEnd;
    });
    const id = await enqueue(jobs);
    await reach(jobs, id, "running");
    let ended = 0;
    const cancelled = [1, 2].map(async () => {
      await jobs.cancel(id);
      ended += 1;
    });
    // Each commit is a turn of the store, in which an answer that did not wait would have come.
    for (let turn = 0; turn < 10; turn += 1) await store.commit({ puts: [{ key: ["turn"], value: turn }] });
    expect(ended).toBe(0);
    end();
    await Promise.all(cancelled);
    expect(jobs.get(id)).toBeUndefined();
  });

  it("cancels a running job although the disk is full", async () => {
    const jobs = boot((_, context) => untilAborted(context.signal).catch(() => undefined));
    const id = await enqueue(jobs);
    await reach(jobs, id, "running");
    const commit = store.commit.bind(store);
    store.commit = async (change) => {
      if (change.urgent !== true) throw new AppError("storage_full", { message: "full" });
      await commit(change);
    };
    await jobs.cancel(id);
    expect(jobs.get(id)).toBeUndefined();
  });

  it("keeps an outcome until a full disk takes it, and repeats no finished work", async () => {
    let runs = 0;
    const jobs = boot(async () => {
      runs += 1;
      store.full = true;
    });
    const id = await enqueue(jobs);
    await eventually(() => {
      expect(log.lines.map(({ message }) => message)).toContain("job outcome cannot be recorded yet");
    });
    expect(jobs.get(id)?.state).toBe("running");
    store.full = false;
    await reach(jobs, id, "done");
    expect(runs).toBe(1);
  });

  it("starts nothing while the disk is full, and starts it afterwards", async () => {
    let runs = 0;
    const jobs = boot(
      async () => {
        runs += 1;
      },
      { started: false },
    );
    const id = await enqueue(jobs);
    store.full = true;
    await jobs.start();
    await eventually(() => {
      expect(log.lines.map(({ message }) => message)).toContain("job cannot start while the store takes no writes");
    });
    expect(runs).toBe(0);
    store.full = false;
    await reach(jobs, id, "done");
    expect(runs).toBe(1);
  });

  it("is not affected by a listener that throws", async () => {
    const jobs = boot(async () => undefined);
    jobs.subscribe(() => {
      throw new Error("listener");
    });
    await reach(jobs, await enqueue(jobs), "done");
  });

  it("deletes finished jobs after a day, at the next start", async () => {
    const first = boot(async () => undefined);
    const id = await enqueue(first);
    await reach(first, id, "done");
    nowMs += 23 * 3_600_000;
    await boot(async () => undefined, { started: false }).start();
    expect(first.get(id)).toBeDefined();
    nowMs += 2 * 3_600_000;
    await boot(async () => undefined, { started: false }).start();
    expect(store.count([])).toBe(0);
  });

  it("has one runner per kind", () => {
    const jobs = boot(async () => undefined, { started: false });
    expect(() => {
      jobs.register("setup", { run: async () => undefined });
    }).toThrow(/one runner/);
  });

  it("that make room change their state in urgent commits, and others do not", async () => {
    for (const isUrgent of [true, false]) {
      store = new FillingStore();
      const queued = boot({ run: async () => undefined }, { started: false });
      const id = await enqueue(queued);
      const urgencies: boolean[] = [];
      const commit = store.commit.bind(store);
      store.commit = async (change) => {
        urgencies.push(change.urgent === true);
        await commit(change);
      };
      const jobs = boot({
        isUrgent,
        run: async (_job, context) => {
          await context.setPhase("next");
        },
      });
      await eventually(() => {
        expect(jobs.get(id)?.state).toBe("done");
      });
      expect(urgencies).toEqual([isUrgent, isUrgent, isUrgent]);
    }
  });
});
