/** Durable jobs of several owners: whose is next, who gives way, and that a restart changes neither. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import type { JobRunner } from "../../../src/platform/jobs/job-runner.js";
import type { Job } from "../../../src/platform/jobs/job.js";
import { untilAborted } from "../../support/aborted.js";
import { eventually } from "../../support/eventually.js";
import { MemoryStore } from "../../support/memory-store.js";
import { seededRandom } from "../../support/seeded.js";
import { recordedLog } from "../../support/silent-log.js";

let store: MemoryStore;
let nowMs: number;
/** Names of jobs in the order in which they began. */
let begun: string[];
/** Ends running jobs, by name. */
let end: Map<string, () => void>;
const opened: Jobs[] = [];
beforeEach(() => {
  store = new MemoryStore();
  nowMs = Date.UTC(2026, 0, 1);
  begun = [];
  end = new Map();
});
afterEach(async () => {
  for (const jobs of opened.splice(0)) await jobs.stop();
});

/** A job is named `a1`, after its owner and number. */
function nameOf(job: Job): string {
  return job.subject_key.join();
}

/** Jobs run until the test ends them, or until they are aborted. */
function boot(options: Pick<JobRunner, "concurrency" | "giveWayMs"> = {}): Jobs {
  const clock = { nowMs: () => (nowMs += 1), monotonicMs: () => nowMs };
  const jobs = new Jobs({ retryDelayMs: 1, settleDelayMs: 1 }, { store, log: recordedLog(), clock });
  opened.push(jobs);
  jobs.register("compile", {
    ...options,
    ownerOf: (job) => nameOf(job).charAt(0),
    run: async (job, { signal }) => {
      begun.push(nameOf(job));
      const ended = new Promise<void>((resolve) => {
        end.set(nameOf(job), resolve);
      });
      await Promise.race([ended, untilAborted(signal)]);
    },
  });
  return jobs;
}

/** Queues jobs in this order and returns their ids by name. */
async function enqueue(jobs: Jobs, ...names: readonly string[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const name of names) {
    const { job, commit } = jobs.enqueueCommit({ kind: "compile", subject_key: [name], phase: "compile" });
    await store.commit(commit);
    ids.set(name, job.id);
  }
  jobs.wake();
  return ids;
}

async function until(condition: () => boolean): Promise<void> {
  await eventually(() => {
    expect(condition(), begun.join()).toBe(true);
  });
}

async function untilBegun(...names: readonly string[]): Promise<void> {
  await until(() => names.every((name) => begun.includes(name)));
}

/** Ends each job as soon as it has begun, and returns the order. */
async function runAll(count: number): Promise<string[]> {
  for (let index = 0; index < count; index += 1) {
    await until(() => begun.length > index);
    end.get(begun[index]!)!();
  }
  return begun;
}

describe("queued jobs of several owners", () => {
  it("are started in turns, each owner's own in order of arrival", async () => {
    const jobs = boot();
    await enqueue(jobs, "a1", "a2", "a3", "b1", "b2", "c1");
    await jobs.start();
    expect(await runAll(6)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  it("share the places: while others wait, one owner holds one of two", async () => {
    const jobs = boot({ concurrency: 2 });
    await jobs.start();
    await enqueue(jobs, "a1", "a2", "a3", "a4");
    await untilBegun("a1", "a2");
    await enqueue(jobs, "b1", "b2");
    end.get("a2")!();
    await untilBegun("b1");
    end.get("b1")!();
    await untilBegun("b2");
    end.get("b2")!();
    await untilBegun("a3");
    expect(begun).toEqual(["a1", "a2", "b1", "b2", "a3"]);
  });

  it("keep their turns after a restart, those that were cut off first", async () => {
    const dead = boot({ concurrency: 2 });
    await dead.start();
    await enqueue(dead, "a1", "a2", "a3", "a4", "b1", "c1", "b2");
    await untilBegun("a1", "b1");
    opened.splice(opened.indexOf(dead), 1);
    begun = [];
    const next = boot();
    await next.start();
    expect(await runAll(7)).toEqual(["a1", "c1", "b1", "a2", "b2", "a3", "a4"]);
  });

  it("lose their turn when they are cancelled", async () => {
    const jobs = boot();
    await jobs.start();
    const ids = await enqueue(jobs, "a1", "b1", "b2", "c1");
    await untilBegun("a1");
    await jobs.cancel(ids.get("b1")!);
    await jobs.cancel(ids.get("c1")!);
    end.get("a1")!();
    await untilBegun("b2");
    end.get("b2")!();
    await until(() => jobs.get(ids.get("b2")!)?.state === "done");
    expect(begun).toEqual(["a1", "b2"]);
  });
});

describe("jobs that never end", () => {
  it("of one owner give one of their places to another owner's, and go on before their owner's other jobs", async () => {
    const jobs = boot({ concurrency: 2, giveWayMs: 0 });
    await jobs.start();
    const ids = await enqueue(jobs, ...Array.from({ length: 22 }, (_, index) => `a${String(index)}`));
    await untilBegun("a0", "a1");
    await enqueue(jobs, "b1");
    await untilBegun("b1");
    expect(["a0", "a1", "a2"].map((name) => jobs.get(ids.get(name)!))).toMatchObject([
      { state: "running", attempt: 1 },
      { state: "queued", attempt: 0, cut_offs: 0, boot_id: null },
      { state: "queued", attempt: 0 },
    ]);
    end.get("b1")!();
    await until(() => begun.length === 4);
    expect(begun).toEqual(["a0", "a1", "b1", "a1"]);
  });

  it("keep their places while nobody else waits, and an owner's only job always does", async () => {
    const jobs = boot({ concurrency: 2, giveWayMs: 0 });
    await jobs.start();
    await enqueue(jobs, "a1", "a2", "a3");
    await untilBegun("a1", "a2");
    await enqueue(jobs, "b1");
    await untilBegun("b1");
    await enqueue(jobs, "c1");
    end.get("b1")!();
    await untilBegun("c1");
    expect(begun).toEqual(["a1", "a2", "b1", "c1"]);
  });
});

it("starts and ends every job once, whoever queues how many, with no owner ahead of one that has less", async () => {
  const random = seededRandom();
  const jobs = boot({ concurrency: 1 + random.below(3) });
  await jobs.start();
  const names = Array.from({ length: 30 }, (_, index) => `${random.pick(["a", "b", "c", "d"])}${String(index)}`);
  await enqueue(jobs, ...names);
  const order = await runAll(names.length);
  const what = `seed ${String(random.seed)}`;
  expect([...order].sort(), what).toEqual([...names].sort());
  for (const owner of ["a", "b", "c", "d"])
    expect(
      order.filter((name) => name.startsWith(owner)),
      what,
    ).toEqual(names.filter((name) => name.startsWith(owner)));
});
