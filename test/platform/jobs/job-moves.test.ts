/** Durable jobs that the runner of one kind hands over to that of another. */
import { afterEach, describe, expect, it } from "vitest";
import type { JobRunner } from "../../../src/platform/jobs/job-runner.js";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import { untilAborted } from "../../support/aborted.js";
import { eventually } from "../../support/eventually.js";
import { MemoryStore } from "../../support/memory-store.js";
import { recordedLog } from "../../support/silent-log.js";

const opened: Jobs[] = [];
afterEach(async () => {
  for (const jobs of opened.splice(0)) await jobs.stop();
});

interface Boot {
  readonly store?: MemoryStore;
  readonly first?: JobRunner["run"];
  readonly second?: JobRunner["run"];
}

/** Jobs of the kind `first` are handed over to the kind `second`, which runs one at a time. */
async function boot({ store = new MemoryStore(), first, second = async () => undefined }: Boot = {}): Promise<{
  jobs: Jobs;
  store: MemoryStore;
  enqueue: (name: string) => Promise<string>;
}> {
  let nowMs = Date.UTC(2026, 0, 1);
  const clock = { nowMs: () => (nowMs += 1), monotonicMs: () => nowMs };
  const jobs = new Jobs({ retryDelayMs: 1, settleDelayMs: 1 }, { store, log: recordedLog(), clock });
  opened.push(jobs);
  jobs.register("first", { run: first ?? (async (_job, context) => await context.moveTo("second")) });
  jobs.register("second", { run: second });
  await jobs.start();
  const enqueue = async (name: string): Promise<string> => {
    const { job, commit } = jobs.enqueueCommit({ kind: "first", subject_key: [name], phase: "begin" });
    await store.commit(commit);
    jobs.wake();
    return job.id;
  };
  return { jobs, store, enqueue };
}

describe("a job that is handed over", () => {
  it("goes on with the other runner, in its phase and with no attempt more", async () => {
    const seen: unknown[] = [];
    const { jobs, enqueue } = await boot({
      first: async (_job, context) => {
        await context.setPhase("large");
        await context.moveTo("second");
      },
      second: async ({ kind, phase, attempt }) => void seen.push({ kind, phase, attempt }),
    });
    const id = await enqueue("a");
    await eventually(() => {
      expect(jobs.get(id)?.state).toBe("done");
    });
    expect(seen).toEqual([{ kind: "second", phase: "large", attempt: 1 }]);
    expect(jobs.figures()).toMatchObject({ first: { started: 1, running: 0 }, second: { started: 1, running: 0 } });
  });

  it("leaves its place to the others at once, and waits for its turn in order of arrival", async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const { jobs, enqueue } = await boot({
      second: async (job) => {
        begun.push(job.subject_key.join());
        await new Promise<void>((resolve) => ends.push(resolve));
      },
    });
    const ids = [];
    for (const name of ["a", "b", "c"]) {
      const id = await enqueue(name);
      ids.push(id);
      await eventually(() => {
        expect(jobs.get(id)).toMatchObject({ kind: "second" });
      });
    }
    expect(jobs.figures()).toMatchObject({ first: { waiting: 0, running: 0 }, second: { waiting: 2, running: 1 } });
    for (const [index, id] of ids.entries()) {
      await eventually(() => {
        expect(begun).toHaveLength(index + 1);
      });
      ends[index]?.();
      await eventually(() => {
        expect(jobs.get(id)?.state).toBe("done");
      });
    }
    expect(begun).toEqual(["a", "b", "c"]);
  });

  it("is with the other runner after a restart", async () => {
    let isWaiting = false;
    const before = await boot({
      second: async (_job, { signal }) => {
        isWaiting = true;
        await untilAborted(signal);
      },
    });
    const id = await before.enqueue("a");
    await eventually(() => {
      expect(isWaiting).toBe(true);
    });
    // The process dies: nothing is put back.
    opened.splice(opened.indexOf(before.jobs), 1);
    const firsts: string[] = [];
    const { jobs } = await boot({ store: before.store, first: async (job) => void firsts.push(job.id) });
    await eventually(() => {
      expect(jobs.get(id)?.state).toBe("done");
    });
    expect(firsts).toEqual([]);
    await before.jobs.stop();
  });

  it("is refused where no other kind has that name, and fails as any fault does", async () => {
    const { jobs, enqueue } = await boot({ first: async (_job, context) => await context.moveTo("third") });
    const id = await enqueue("a");
    await eventually(() => {
      expect(jobs.get(id)).toMatchObject({ kind: "first", state: "failed", error: { code: "internal_error" } });
    });
  });

  it("can be cancelled on the way", async () => {
    const { jobs, enqueue } = await boot({ second: async (_job, { signal }) => await untilAborted(signal) });
    const id = await enqueue("a");
    await eventually(() => {
      expect(jobs.get(id)).toMatchObject({ kind: "second", state: "running" });
    });
    await jobs.cancel(id);
    expect(jobs.get(id)).toBeUndefined();
  });
});
