import { describe, expect, it } from "vitest";
import { simulateCommits, type CommitModel } from "../../bench/cluster/commit-model.js";
import { Resource, Simulation, type Process } from "../../bench/cluster/simulation.js";
import { seededRandom } from "../support/seeded.js";

const COSTS = { roundTripMs: [1], syncMs: [2], judgeMs: 0.3, applyMs: 0.2, foreignCommitMs: 0.1 };
const MODEL: CommitModel = {
  ...COSTS,
  ...{ nodes: 1, callers: 1, cores: Number.POSITIVE_INFINITY, isOneProcess: false },
  ...{ networkMs: 0, seconds: 10, random: () => 0 },
};

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

describe("the model of commits", () => {
  it("takes of a node alone what its parts take: deciding, one round trip, one sync", () => {
    const { p50Ms, p99Ms, commitsPerSec, groupSize } = simulateCommits(MODEL);
    for (const ms of [p50Ms, p99Ms]) expect(ms).toBeCloseTo(3.5, 9);
    expect(commitsPerSec).toBeCloseTo(1000 / 3.5, 0);
    expect(groupSize).toBe(1);
  });

  it("puts what waits into one group, and no more than 256", () => {
    expect(simulateCommits({ ...MODEL, callers: 64 }).groupSize).toBe(64);
    expect(simulateCommits({ ...MODEL, callers: 1000 }).groupSize).toBeLessThanOrEqual(256);
  });

  it("gives each node less, the more there are, and holds the head nearly always then", () => {
    const perNode = [1, 2, 4, 8, 16].map((nodes) => {
      const { commitsPerSec, headBusy } = simulateCommits({ ...MODEL, nodes, callers: 16 });
      if (nodes > 2) expect(headBusy).toBeGreaterThan(0.8);
      return commitsPerSec / nodes;
    });
    for (const [index, own] of perNode.entries()) if (index > 0) expect(own).toBeLessThan(perNode[index - 1] ?? 0);
  });

  it("lets nodes of one process compute one after the other", () => {
    const costs = { ...MODEL, roundTripMs: [0.1], syncMs: [0.1], foreignCommitMs: 1, nodes: 3, callers: 16 };
    const [apart, together] = [false, true].map((isOneProcess) => simulateCommits({ ...costs, isOneProcess }));
    expect(together?.commitsPerSec).toBeLessThan(0.7 * (apart?.commitsPerSec ?? 0));
  });

  it("is bound by what each node applies of the others, which it does while it waits", () => {
    const of = (foreignCommitMs: number): number =>
      simulateCommits({ ...MODEL, nodes: 16, callers: 16, foreignCommitMs }).commitsPerSec;
    expect(of(1)).toBeLessThan(1000);
    // Only the last group is left to apply when a node gets the head, not those of all 15.
    expect(of(1)).toBeGreaterThan((4 * 1000) / 15);
    expect(of(0.001)).toBeGreaterThan(1.5 * of(1));
  });

  it("gives the same for the same seed, and is slower where cores are shared", () => {
    const run = (cores: number): unknown => {
      const { random } = { random: sequence() };
      return simulateCommits({ ...MODEL, nodes: 3, callers: 8, cores, roundTripMs: [0.5, 1, 2], random });
    };
    expect(run(2)).toEqual(run(2));
    const [shared, own] = [1, 100].map((cores) => run(cores) as { commitsPerSec: number });
    expect(shared!.commitsPerSec).toBeLessThan(own!.commitsPerSec);
  });
});

function sequence(): () => number {
  let last = 1;
  return () => (last = (last * 16807) % 2147483647) / 2147483647;
}
