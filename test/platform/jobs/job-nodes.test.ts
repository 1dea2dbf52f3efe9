/** Jobs of several nodes over one store: what each must know of what another has begun, failed or cancelled. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../src/platform/errors.js";
import type { JobRunner } from "../../../src/platform/jobs/job-runner.js";
import type { Job } from "../../../src/platform/jobs/job.js";
import { Jobs } from "../../../src/platform/jobs/jobs.js";
import { untilAborted } from "../../support/aborted.js";
import { eventually } from "../../support/eventually.js";
import { MemoryStore } from "../../support/memory-store.js";
import { NodesInMemory } from "../../support/nodes-in-memory.js";
import { recordedLog } from "../../support/silent-log.js";

const HOUR_MS = 3_600_000;

let cluster: NodesInMemory;
let nowMs: number;
const opened: Jobs[] = [];
beforeEach(() => {
  cluster = new NodesInMemory();
  nowMs = Date.UTC(2026, 0, 1);
});
afterEach(async () => {
  for (const jobs of opened.splice(0)) await jobs.stop();
});

/** A node whose jobs of the kind `work` are run by this. */
async function node(name: string, runner: JobRunner, retryDelayMs = HOUR_MS): Promise<Jobs> {
  const jobs = new Jobs(
    { retryDelayMs, settleDelayMs: 1 },
    { ...cluster.node(name), log: recordedLog(), clock: { nowMs: () => nowMs, monotonicMs: () => nowMs } },
  );
  opened.push(jobs);
  jobs.register("work", runner);
  await jobs.start();
  return jobs;
}

async function enqueue(jobs: Jobs): Promise<string> {
  const { job, commit } = jobs.enqueueCommit({ kind: "work", subject_key: ["s"], phase: "begin" });
  await cluster.store.commit(commit);
  jobs.wake();
  return job.id;
}

async function reach(jobs: Jobs, id: string, claim: (job: Job | undefined) => boolean): Promise<void> {
  await eventually(() => {
    expect(claim(jobs.get(id)), JSON.stringify(jobs.get(id))).toBe(true);
  });
}

/** Runs until it is aborted, and ends when it is let. */
function stubborn(): { readonly runner: JobRunner; readonly begun: () => number; readonly let: () => void } {
  let begun = 0;
  let end = (): void => undefined;
  const mayEnd = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run: JobRunner["run"] = async (_job, { signal }) => {
    begun += 1;
    await untilAborted(signal).catch(() => undefined);
    await mayEnd;
  };
  return { runner: { run }, begun: () => begun, let: end };
}

describe.each([false, true])("a job that failed on one node, of a kind that is announced: %s", (isAnnounced) => {
  it("pauses on all nodes, also on those that start meanwhile, and is tried again after it", async () => {
    const attempts: string[] = [];
    const runnerOf = (name: string, fails: boolean): JobRunner => ({
      isAnnounced,
      run: async () => {
        attempts.push(name);
        await Promise.resolve();
        if (fails) throw new Error("fails");
      },
    });
    const first = await node("a", runnerOf("a", true));
    const second = await node("b", runnerOf("b", true));
    const id = await enqueue(first);
    first.announce(...[first.get(id)].filter((job) => job !== undefined));
    await reach(second, id, (job) => job?.not_before !== undefined);
    expect(second.get(id)).toMatchObject({ state: "queued", attempt: 1, not_before: "2026-01-01T01:00:00.000Z" });
    const third = await node("c", runnerOf("c", false));
    for (const jobs of [first, second, third]) jobs.wake();
    await enqueueAndEnd(third);
    expect(attempts.map((name) => name === "c")).toEqual([false, true]);
    nowMs += HOUR_MS;
    const fourth = await node("d", runnerOf("d", false));
    await reach(fourth, id, (job) => job?.state === "done");
    expect(fourth.get(id)).not.toHaveProperty("not_before");
    expect(attempts.at(-1)).toBe("d");
  });

  /** Another job of the same line, which is run at once: nothing else was. */
  async function enqueueAndEnd(jobs: Jobs): Promise<void> {
    for (const other of opened) if (other !== jobs) await other.stop();
    const id = await enqueue(jobs);
    const job = jobs.get(id);
    if (job !== undefined) jobs.announce(job);
    await reach(jobs, id, (ended) => ended?.state === "done");
  }
});

it("a pause is no longer than the longest, however far ahead the clock of the node was that began it", async () => {
  const jobs = await node("a", { run: async () => await Promise.reject(new Error("fails")) }, 1);
  const id = await enqueue(jobs);
  await reach(jobs, id, (job) => job?.state === "failed");
  const behind = nowMs;
  nowMs += HOUR_MS;
  let runs = 0;
  const ahead = await node("b", {
    run: async () => {
      runs += 1;
      await Promise.resolve();
      if (runs === 1) throw new Error("fails");
    },
  });
  await jobs.stop();
  const other = await enqueue(ahead);
  await reach(ahead, other, (job) => job?.not_before !== undefined);
  await ahead.stop();
  nowMs = behind;
  const late = await node("c", { run: async () => await Promise.resolve() }, 1);
  await reach(late, other, (job) => job?.state === "done");
});

it.each([false, true])("a job is run by a node that can, of a kind that is announced: %s", async (isAnnounced) => {
  const ran: string[] = [];
  const runnerOf = (name: string): JobRunner => ({
    isAnnounced,
    isFor: ({ input }) => input === name,
    run: async () => {
      ran.push(name);
      await Promise.resolve();
    },
  });
  const [first, second] = [await node("a", runnerOf("a")), await node("b", runnerOf("b"))];
  const { store } = cluster.node("a");
  for (const input of ["b", "nobody", "a"]) {
    const { job, commit } = first.enqueueCommit({ kind: "work", subject_key: ["s"], phase: "begin", input });
    await store.commit(commit);
    first.announce(job);
    if (input !== "nobody") await reach(second, job.id, (ended) => ended?.state === "done");
  }
  expect(ran).toEqual(["b", "a"]);
  expect(first.figures()["work"]?.waiting).toBe(1);
});

describe("a job that another node runs", () => {
  it("is cancelled when that node's run has ended, and not before", async () => {
    const holding = stubborn();
    const holder = await node("a", holding.runner);
    const other = await node("b", { run: async () => await Promise.resolve() });
    const id = await enqueue(holder);
    await reach(other, id, (job) => job?.state === "running");
    let isCancelled = false;
    const cancelled = Promise.all([other.cancel(id), other.cancel(id)]).then(() => {
      isCancelled = true;
    });
    await reach(holder, id, (job) => job?.is_cancelled === true);
    // Turns enough for an answer that did not wait.
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(isCancelled).toBe(false);
    holding.let();
    await cancelled;
    expect(other.get(id)).toBeUndefined();
    expect(holding.begun()).toBe(1);
  });

  it.each([
    ["the node that runs it, then another", ["a", "b"]],
    ["another node, then the one that runs it", ["b", "a"]],
    ["two others, then the one that runs it, twice", ["b", "c", "a", "a"]],
  ])("is cancelled for all when its run has ended, and not before, by %s", async (_by, names) => {
    const holding = stubborn();
    const holder = await node("a", holding.runner);
    const nodes = new Map([["a", holder]]);
    for (const name of ["b", "c"]) nodes.set(name, await node(name, { run: async () => await Promise.resolve() }));
    const id = await enqueue(holder);
    await reach(holder, id, () => holding.begun() === 1);
    const ended: string[] = [];
    const cancelled = names.map(async (name) => {
      await nodes.get(name)?.cancel(id);
      ended.push(name);
    });
    await reach(holder, id, (job) => job?.is_cancelled === true);
    // Turns enough for an answer that did not wait.
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toEqual([]);
    expect(holder.get(id)).toMatchObject({ state: "running" });
    holding.let();
    await Promise.all(cancelled);
    expect(holder.get(id)).toBeUndefined();
    expect(holding.begun()).toBe(1);
  });

  it("is cancelled when that node ends, and run by nobody else", async () => {
    const holding = stubborn();
    const holder = await node("a", holding.runner);
    const other = stubborn();
    const second = await node("b", other.runner);
    const id = await enqueue(holder);
    await reach(second, id, (job) => job?.state === "running");
    const cancelled = second.cancel(id);
    await reach(second, id, (job) => job?.is_cancelled === true);
    cluster.end("a");
    await cancelled;
    expect(second.get(id)).toBeUndefined();
    expect(other.begun()).toBe(0);
    holding.let();
  });

  it("is taken up when that node has ended, although the store took no writes then", async () => {
    const holding = stubborn();
    const holder = await node("a", holding.runner);
    const second = await node("b", { run: async () => await Promise.resolve() });
    const id = await enqueue(holder);
    await reach(second, id, (job) => job?.state === "running");
    const commit = cluster.store.commit.bind(cluster.store);
    let refused = 0;
    cluster.store.commit = async (change) => {
      if ((refused += 1) < 5) throw new AppError("store_unreachable", { message: "away" });
      await commit(change);
    };
    cluster.end("a");
    await reach(second, id, (job) => job?.state === "done");
    expect(refused).toBeGreaterThanOrEqual(5);
    holding.let();
  });
});

describe("the progress of a job that another node runs", () => {
  it("is told at most every five seconds, also to nodes that start later, and ends with the step", async () => {
    const steps: (() => void)[] = [];
    const runner: JobRunner = {
      run: async (_job, context) => {
        const next = (): Promise<void> => new Promise((resolve) => steps.push(resolve));
        for (const share of [0.1, 0.2, 0.3]) {
          await next();
          context.progress(share);
        }
        await next();
        await context.setPhase("end");
        await next();
      },
    };
    const step = async (passMs: number): Promise<void> => {
      await eventually(() => {
        expect(steps).toHaveLength(1);
      });
      nowMs += passMs;
      steps.pop()?.();
    };
    const seen = new Map<string, unknown[]>();
    const watched = async (name: string): Promise<Jobs> => {
      const jobs = new Jobs(
        {},
        { ...cluster.node(name), log: recordedLog(), clock: { nowMs: () => nowMs, monotonicMs: () => nowMs } },
      );
      opened.push(jobs);
      jobs.register("work", runner);
      seen.set(name, []);
      jobs.subscribe(({ job, progress }) => seen.get(name)?.push(progress ?? `${job.state} ${job.phase}`));
      await jobs.start();
      return jobs;
    };
    const holder = await watched("a");
    const other = await watched("b");
    const id = await enqueue(holder);
    await step(1_000);
    await step(4_000);
    await eventually(() => {
      expect(seen.get("b")).toEqual(["running begin", 0.2]);
    });
    const late = await watched("c");
    expect(seen.get("c")).toEqual([0.2]);
    await step(4_999);
    await step(1);
    await step(1);
    for (const jobs of [other, late]) await reach(jobs, id, (job) => job?.state === "done");
    expect(seen.get("a")).toEqual(["running begin", 0.1, 0.2, 0.3, "running end", "done end"]);
    expect(seen.get("b")).toEqual(["running begin", 0.2, "running end", "done end"]);
    expect(cluster.store.count(["job_progress"])).toBe(0);
  });

  it("is told by nobody where there is one node", async () => {
    const store = new MemoryStore();
    const jobs = new Jobs({}, { store, log: recordedLog(), clock: { nowMs: () => nowMs, monotonicMs: () => nowMs } });
    opened.push(jobs);
    const commits: unknown[] = [];
    const commit = store.commit.bind(store);
    store.commit = async (change) => {
      commits.push(...(change.puts ?? []), ...(change.deletes ?? []));
      await commit(change);
    };
    jobs.register("work", {
      run: async (_job, context) => {
        nowMs += 60_000;
        context.progress(0.5);
        await Promise.resolve();
      },
    });
    await jobs.start();
    const { job, commit: queue } = jobs.enqueueCommit({ kind: "work", subject_key: ["s"], phase: "begin" });
    await store.commit(queue);
    jobs.wake();
    await reach(jobs, job.id, (ended) => ended?.state === "done");
    expect(JSON.stringify(commits)).not.toContain("job_progress");
  });
});

describe("a job that a node leaves for what it lacks", () => {
  it("is run by a node that has it, at no attempt of the first, and needs it until the phase is over", async () => {
    const ran: string[] = [];
    const runnerOf = (name: string, has: boolean): JobRunner => ({
      isFor: ({ needs }) => needs === undefined || has,
      run: async (_job, context) => {
        ran.push(`${name} ${context.job.phase} ${JSON.stringify(context.job.needs)}`);
        if (!has) {
          await context.leaveTo({ file: "of the other" });
          return;
        }
        await context.setPhase("next");
        ran.push(`${name} ${context.job.phase} ${JSON.stringify(context.job.needs)}`);
      },
    });
    const without = await node("without", runnerOf("without", false));
    const id = await enqueue(without);
    await reach(without, id, (job) => job?.needs !== undefined);
    without.wake();
    expect(without.get(id)).toMatchObject({ state: "queued", attempt: 0, boot_id: null });
    const having = await node("having", runnerOf("having", true));
    await reach(having, id, (job) => job?.state === "done");
    expect(having.get(id)).toMatchObject({ attempt: 1 });
    expect(ran).toEqual(["without begin undefined", 'having begin {"file":"of the other"}', "having next undefined"]);
  });
});
