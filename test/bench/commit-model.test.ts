import { describe, expect, it } from "vitest";
import { simulateCommits, type CommitCosts, type CommitModel } from "../../bench/cluster/commit-model.js";
import { Actor, costOf } from "../../bench/cluster/step-cost.js";
import { Resource, Simulation, type Process } from "../../bench/cluster/simulation.js";
import { seededRandom } from "../support/seeded.js";

/** Of a group of one commit, and of 64; nothing costs more after a pause, and nobody computes beside. */
const COSTS: CommitCosts = {
  one: { group: 1, own: { nodeMs: 0.5, databaseMs: 1 }, read: { nodeMs: 0.1, databaseMs: 0.1 }, applyMs: 0.1 },
  many: { group: 64, own: { nodeMs: 32, databaseMs: 1 }, read: { nodeMs: 0.1, databaseMs: 0.1 }, applyMs: 6.4 },
  ...{ head: { nodeMs: 0.1, databaseMs: 0.1 }, asked: { nodeMs: 0, databaseMs: 0 } },
  ...{ pauses: [{ pauseMs: 0, node: 1, database: 1 }], crowdedPauses: [{ pauseMs: 0, node: 1, database: 1 }] },
  ...{
    askWaitMs: [0],
    syncMs: [2],
    applyMs: 0.2,
    stageShare: 1,
    helpers: 0,
    handOverMs: 0.1,
    callers: { oneMs: 0.4, manyMs: 0.4 },
  },
};
const MODEL: CommitModel = {
  ...{ costs: COSTS, nodes: 1, callers: 1, cores: Number.POSITIVE_INFINITY, networkMs: 0 },
  ...{ seconds: 10, random: () => 0 },
};

/** The model with other costs. */
const having = (costs: Partial<CommitCosts>): CommitModel => ({ ...MODEL, costs: { ...COSTS, ...costs } });

/** Runs one without a place of its own. */
const rateOf = (model: CommitModel): number => simulateCommits(model).commitsPerSec;

describe("a simulation", () => {
  it("lets time pass in order, and gives a resource to who has waited longest", () => {
    const simulation = new Simulation();
    const room = new Resource(1);
    const seen: string[] = [];
    function* visit(name: string, arrivesMs: number): Process {
      yield { ms: arrivesMs };
      yield { take: room };
      seen.push(`${name} ${String(simulation.nowMs)}`);
      yield { ms: 10 };
      simulation.release(room);
    }
    for (const [name, arrivesMs] of [
      ["third", 7],
      ["first", 1],
      ["second", 2],
    ] as const)
      simulation.start(visit(name, arrivesMs));
    simulation.run(20);
    expect(seen).toEqual(["first 1", "second 11"]);
    simulation.run(100);
    expect(seen.at(-1)).toBe("third 21");
  });

  it("runs any number of processes in the order of their times", () => {
    const random = seededRandom();
    const simulation = new Simulation();
    const ended: number[] = [];
    function* wait(ms: number): Process {
      yield { ms };
      ended.push(ms);
    }
    const times = Array.from({ length: 500 }, () => random.below(1000));
    for (const ms of times) simulation.start(wait(ms));
    simulation.run(1000);
    expect(ended, `seed ${String(random.seed)}`).toEqual(times.sort((a, b) => a - b));
  });
});

describe("what a step costs", () => {
  it("lies on the line through one commit and many, and never falls", () => {
    const costs = { one: 1, many: 64, group: 64 };
    expect([1, 64, 32, 128].map((commits) => costOf(commits, costs))).toEqual([1, 64, 32, 128]);
    expect(costOf(64, { ...costs, many: 0.5 })).toBe(1);
    expect(costOf(3, { ...costs, group: 1 })).toBe(1);
  });

  it("grows with the time for which its like was not done, up to the longest pause that was measured", () => {
    const actor = new Actor();
    actor.lastMs = 100;
    const pauses = [
      { pauseMs: 0, node: 1, database: 1 },
      { pauseMs: 8, node: 1.5, database: 2 },
    ];
    const slowdowns = (where: "node" | "database"): number[] =>
      [100, 104, 108, 1000].map((nowMs) => actor.slowdown(nowMs, pauses, where));
    expect(slowdowns("node")).toEqual([1, 1.25, 1.5, 1.5]);
    expect(slowdowns("database")).toEqual([1, 1.5, 2, 2]);
    expect(actor.slowdown(104, [], "node")).toBe(1);
  });
});

describe("the model of commits", () => {
  it("takes of a node alone what its parts take: deciding, writing, one sync, applying, answering", () => {
    const { p50Ms, p99Ms, commitsPerSec, groupSize, coresBusy } = simulateCommits(MODEL);
    const cycleMs = 0.5 + 1 + 2 + 0.4 + 0.1;
    for (const ms of [p50Ms, p99Ms]) expect(ms).toBeCloseTo(cycleMs, 9);
    expect(commitsPerSec).toBeCloseTo(1000 / cycleMs, 0);
    expect(groupSize).toBe(1);
    expect(coresBusy).toBeCloseTo((0.5 + 1 + 0.4) / cycleMs, 1);
  });

  it("puts what waits into one group, and no more than 256", () => {
    expect(simulateCommits({ ...MODEL, callers: 64 }).groupSize).toBe(64);
    expect(simulateCommits({ ...MODEL, callers: 1000 }).groupSize).toBeLessThanOrEqual(256);
  });

  it("adds the network's round trip to each commit, and what other threads compute to none while cores are free", () => {
    const apart = simulateCommits({ ...MODEL, networkMs: 3 }).p50Ms - simulateCommits(MODEL).p50Ms;
    expect(apart).toBeCloseTo(3, 9);
    expect(simulateCommits(having({ helpers: 0.5 })).p50Ms).toBeCloseTo(simulateCommits(MODEL).p50Ms, 9);
  });

  it("gives each node less, the more there are, and holds the head nearly always then", () => {
    const perNode = [1, 2, 4, 8, 16].map((nodes) => {
      const { commitsPerSec, headBusy } = simulateCommits({ ...MODEL, nodes, callers: 16 });
      if (nodes > 2) expect(headBusy).toBeGreaterThan(0.8);
      return commitsPerSec / nodes;
    });
    for (const [index, own] of perNode.entries()) if (index > 0) expect(own).toBeLessThan(perNode[index - 1] ?? 0);
  });

  it("is bound by what each node applies of the others, which it does while it waits", () => {
    const of = (applyMs: number): number =>
      rateOf({ ...having({ many: { ...COSTS.many, applyMs } }), nodes: 16, callers: 16 });
    expect(of(64)).toBeLessThan(1000);
    // Only the last group is left to apply when a node gets the head, not those of all 15.
    expect(of(64)).toBeGreaterThan((4 * 1000) / 15);
    expect(of(0.1)).toBeGreaterThan(1.5 * of(64));
  });

  it("commits more, the less of the last row a node must have done before it decides", () => {
    const of = (stageShare: number): number =>
      rateOf({ ...having({ many: { ...COSTS.many, applyMs: 32 }, stageShare }), nodes: 3, callers: 16 });
    expect(of(0.5)).toBeGreaterThan(1.1 * of(1));
    expect(of(0)).toBeGreaterThan(of(0.5));
  });

  it("computes no more than the cores have, whose work bounds what nodes commit", () => {
    const crowd = { ...MODEL, nodes: 8, callers: 16 };
    let last = 0;
    for (const cores of [1, 2, 4, 100]) {
      const { commitsPerSec, coresBusy } = simulateCommits({ ...crowd, cores });
      expect(coresBusy, `${String(cores)} cores`).toBeLessThanOrEqual(cores + 0.01);
      // The head's order may gain a group when a core more lets others interfere.
      expect(commitsPerSec, `${String(cores)} cores`).toBeGreaterThan(0.95 * last);
      last = commitsPerSec;
    }
    const onOne = simulateCommits({ ...crowd, cores: 1 });
    expect(onOne.coresBusy).toBeGreaterThan(0.9);
    // Each commit is applied by eight nodes, and decided by one: 0.1 and 0.5 ms.
    expect(onOne.commitsPerSec).toBeLessThan(1000 / (8 * 0.1 + 0.5 - 0.1));
  });

  it("is slower where others use the cores, where threads compute beside, and where steps after pauses cost more", () => {
    const crowd = { ...MODEL, nodes: 3, callers: 16, cores: 2 };
    const rate = rateOf(crowd);
    expect(rateOf({ ...crowd, othersCores: 1 })).toBeLessThan(rate);
    expect(rateOf({ ...crowd, othersCores: 1.5 })).toBeLessThan(rateOf({ ...crowd, othersCores: 1 }));
    expect(rateOf({ ...crowd, costs: { ...COSTS, helpers: 1 } })).toBeLessThan(rate);
    const crowdedPauses = [...COSTS.crowdedPauses, { pauseMs: 2, node: 2, database: 2 }];
    expect(rateOf({ ...crowd, costs: { ...COSTS, crowdedPauses } })).toBeLessThan(rate);
  });

  it("gives the same for the same seed", () => {
    const run = (): unknown =>
      simulateCommits({ ...having({ syncMs: [0.5, 1, 2] }), nodes: 3, callers: 8, cores: 2, random: sequence() });
    expect(run()).toEqual(run());
  });
});

function sequence(): () => number {
  let last = 1;
  return () => (last = (last * 16807) % 2147483647) / 2147483647;
}
