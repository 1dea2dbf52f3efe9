/**
 * How a cluster's nodes share the head of the log, as `src/platform/cluster/log/cluster-writer.ts` does it: a node alone asks
 * with one statement; who was overtaken waits for the head, reads and applies meanwhile what others write, decides and
 * commits while it holds it, and goes on so until nobody else has written for three groups.
 */
import { Resource, Simulation, type Process, type Step } from "./simulation.js";

/** Measured times, in milliseconds; one of a list is drawn each time. */
export interface CommitCosts {
  /** A statement that reads one row, there and back. */
  readonly roundTripMs: readonly number[];
  /** What a synced transaction takes beyond a round trip. */
  readonly syncMs: readonly number[];
  /** Deciding and encoding one commit on its node. */
  readonly judgeMs: number;
  /** Applying it there when it is in the log. */
  readonly applyMs: number;
  /** Reading and applying one commit of another node. */
  readonly foreignCommitMs: number;
}

export interface CommitModel extends CommitCosts {
  readonly nodes: number;
  /** Callers of each node, each with one commit on its way at most. */
  readonly callers: number;
  /** How long a caller waits on average before its next commit, exponentially distributed; 0 unless given. */
  readonly thinkMs?: number;
  /** Cores that all nodes and the database share; Infinity where each has enough of its own. */
  readonly cores: number;
  /** Whether all nodes are in one process, so that one of them at a time computes. */
  readonly isOneProcess: boolean;
  /** What the network adds to each round trip. */
  readonly networkMs: number;
  readonly seconds: number;
  /** Returns a number from 0 to 1, the same sequence for the same seed. */
  readonly random: () => number;
}

export interface CommitFigures {
  readonly commitsPerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of the time in which some node held the head. */
  readonly headBusy: number;
  /** Commits of a group on average. */
  readonly groupSize: number;
}

const GROUP_COMMITS_MAX = 256;
const LOCKED_GROUPS = 3;
/** Between two looks at the log of a node that waits for the head. */
const CATCH_UP_MS = 2;
/** Grain of the time for which a node that has got the head still applies what it has read. */
const APPLYING_MS = 0.05;

interface Node {
  /** When each commit was asked for, or will be. */
  asked: number[];
  /** Groups and commits of the log that it has applied. */
  groups: number;
  commits: number;
  lockedGroups: number;
  /** Whether it waits for the head, and whether it applies rows of others meanwhile. */
  isWaiting: boolean;
  isApplying: boolean;
}

/** Runs the model. The first fifth of the time is not counted. */
export function simulateCommits(model: CommitModel): CommitFigures {
  return new CommitRun(model).run();
}

class CommitRun {
  readonly #model: CommitModel;
  readonly #simulation = new Simulation();
  readonly #head = new Resource(1);
  readonly #cores: Resource;
  /** The thread that computes, where the nodes have one. */
  readonly #thread: Resource;
  /** The log. */
  #groups = 0;
  #commits = 0;
  readonly #latencies: number[] = [];
  #counted = 0;
  #countedGroups = 0;
  #busyMs = 0;

  constructor(model: CommitModel) {
    this.#model = model;
    this.#cores = new Resource(model.cores);
    this.#thread = new Resource(model.isOneProcess ? 1 : Number.POSITIVE_INFINITY);
  }

  run(): CommitFigures {
    const { nodes, callers, seconds } = this.#model;
    for (let node = 0; node < nodes; node += 1)
      this.#simulation.start(
        this.#write({
          asked: Array.from({ length: callers }, () => this.#think()),
          groups: 0,
          commits: 0,
          lockedGroups: 0,
          isWaiting: false,
          isApplying: false,
        }),
      );
    this.#simulation.run(seconds * 1000);
    const countedMs = 0.8 * seconds * 1000;
    const sorted = this.#latencies.sort((a, b) => a - b);
    const rank = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
    return {
      commitsPerSec: (1000 * this.#counted) / countedMs,
      p50Ms: rank(0.5),
      p99Ms: rank(0.99),
      headBusy: Math.min(1, this.#busyMs / countedMs),
      groupSize: this.#counted / this.#countedGroups,
    };
  }

  *#write(node: Node): Process {
    for (;;) {
      const nextMs = Math.min(...node.asked);
      if (nextMs > this.#simulation.nowMs) {
        yield { ms: nextMs - this.#simulation.nowMs };
        this.#follow(node);
      }
      yield* node.lockedGroups === 0 ? this.#alone(node) : this.#locked(node);
    }
  }

  *#alone(node: Node): Process {
    const group = this.#takeGroup(node);
    yield* this.#compute(group.length * this.#model.judgeMs);
    yield* this.#roundTrip();
    const startedMs = this.#simulation.nowMs;
    yield { take: this.#head };
    if (node.groups !== this.#groups) {
      // Another node was first: nothing was written.
      this.#simulation.release(this.#head);
      node.asked.push(...group);
      node.lockedGroups = LOCKED_GROUPS;
      return;
    }
    yield { ms: this.#draw(this.#model.syncMs) };
    this.#append(node, group);
    this.#letGo(startedMs);
    yield* this.#applyOwn(node, group);
  }

  *#locked(node: Node): Process {
    const { groups } = node;
    node.isWaiting = true;
    this.#simulation.start(this.#catchUp(node));
    yield* this.#oneWay();
    yield { take: this.#head };
    const startedMs = this.#simulation.nowMs;
    yield* this.#oneWay();
    node.isWaiting = false;
    while (node.isApplying) yield { ms: APPLYING_MS };
    yield* this.#compute((this.#commits - node.commits) * this.#model.foreignCommitMs);
    const isAlone = groups === this.#groups;
    const group = this.#takeGroup(node);
    yield* this.#compute(group.length * this.#model.judgeMs);
    yield* this.#roundTrip();
    yield { ms: this.#draw(this.#model.syncMs) };
    this.#append(node, group);
    this.#letGo(startedMs);
    node.lockedGroups = isAlone ? node.lockedGroups - 1 : LOCKED_GROUPS;
    yield* this.#applyOwn(node, group);
  }

  /** Others have the head again meanwhile. */
  *#applyOwn(node: Node, group: readonly number[]): Generator<Step, void> {
    yield* this.#compute(group.length * this.#model.applyMs);
    this.#answer(node, group);
  }

  /** Applies what others write while the node waits, a group at a time. */
  *#catchUp(node: Node): Process {
    for (;;) {
      yield { ms: CATCH_UP_MS };
      if (!node.isWaiting) return;
      const [groups, commits] = [this.#groups, this.#commits];
      node.isApplying = true;
      yield* this.#roundTrip();
      yield* this.#compute((commits - node.commits) * this.#model.foreignCommitMs);
      [node.groups, node.commits] = [groups, commits];
      node.isApplying = false;
    }
  }

  #append(node: Node, group: readonly number[]): void {
    this.#groups += 1;
    this.#commits += group.length;
    node.groups = this.#groups;
    node.commits = this.#commits;
  }

  #letGo(startedMs: number): void {
    if (this.#isCounted) this.#busyMs += this.#simulation.nowMs - startedMs;
    this.#simulation.release(this.#head);
  }

  /** A node without work reads the log as it grows, so that it has all of it but what is being written. */
  #follow(node: Node): void {
    node.groups = this.#groups;
    node.commits = this.#commits;
  }

  /** Takes what has been asked for by now, the oldest first. */
  #takeGroup(node: Node): number[] {
    const { nowMs } = this.#simulation;
    const due = node.asked.filter((ms) => ms <= nowMs).sort((a, b) => a - b);
    const group = due.slice(0, GROUP_COMMITS_MAX);
    node.asked = [...node.asked.filter((ms) => ms > nowMs), ...due.slice(GROUP_COMMITS_MAX)];
    return group;
  }

  /** How long a caller waits. */
  #think(): number {
    const { thinkMs = 0, random } = this.#model;
    return thinkMs === 0 ? 0 : -thinkMs * Math.log(1 - random());
  }

  /** Each caller asks anew when it has thought. */
  #answer(node: Node, group: readonly number[]): void {
    const { nowMs } = this.#simulation;
    for (const askedMs of group) {
      node.asked.push(nowMs + this.#think());
      if (this.#isCounted) this.#latencies.push(nowMs - askedMs);
    }
    if (!this.#isCounted) return;
    this.#counted += group.length;
    this.#countedGroups += 1;
  }

  get #isCounted(): boolean {
    return this.#simulation.nowMs >= 0.2 * this.#model.seconds * 1000;
  }

  /** Half of a round trip. */
  *#oneWay(): Generator<Step, void> {
    yield* this.#occupy(this.#draw(this.#model.roundTripMs) / 2);
    if (this.#model.networkMs > 0) yield { ms: this.#model.networkMs / 2 };
  }

  /** Client and server work through a round trip in turn, so that it takes one core where all share them. */
  *#roundTrip(): Generator<Step, void> {
    const ms = this.#draw(this.#model.roundTripMs);
    yield* this.#compute(ms / 2);
    yield* this.#occupy(ms / 2);
    if (this.#model.networkMs > 0) yield { ms: this.#model.networkMs };
  }

  /** What a node computes. */
  *#compute(ms: number): Generator<Step, void> {
    yield { take: this.#thread };
    yield* this.#occupy(ms);
    this.#simulation.release(this.#thread);
  }

  *#occupy(ms: number): Generator<Step, void> {
    yield { take: this.#cores };
    yield { ms };
    this.#simulation.release(this.#cores);
  }

  #draw(times: readonly number[]): number {
    return times[Math.floor(this.#model.random() * times.length)] ?? 0;
  }
}
