/**
 * How a cluster's nodes share the head of the log and the cores, as `src/platform/cluster/log/cluster-writer.ts` does it:
 * a node alone asks with one statement; who was overtaken waits for the head, reads and applies meanwhile what others
 * write, decides and commits while it holds it, and goes on so until nobody else has written for three groups. Each step
 * takes a core for the processor time that was measured for it, longer the longer its like was not done.
 */
import { Resource, Simulation, type Process, type Step } from "./simulation.js";
import { Actor, costOf, type Pause, type StepCost, type StepCosts } from "./step-cost.js";

/** Measured times, in milliseconds; one of a list is drawn each time. */
export interface CommitCosts extends StepCosts {
  /** Applying one commit on its node when it is in the log: this part of what a group costs its node comes last. */
  readonly applyMs: number;
  /** The part of applying rows that must be done before the next group is decided; the rest waits until that is sent. */
  readonly stageShare: number;
  /** Packing and answering the commits of a group, on the callers' thread. */
  readonly callers: { readonly oneMs: number; readonly manyMs: number };
  /** What a node's other threads compute beside each millisecond of its own: garbage collection, compilation. */
  readonly helpers: number;
  /** Between the callers' thread and the one that writes, there and back. */
  readonly handOverMs: number;
}

export interface CommitModel {
  readonly costs: CommitCosts;
  readonly nodes: number;
  /** Callers of each node, each with one commit on its way at most. */
  readonly callers: number;
  /** How long a caller waits on average before its next commit, exponentially distributed; 0 unless given. */
  readonly thinkMs?: number;
  /** Cores that all nodes and the database share; Infinity where each has enough of its own. */
  readonly cores: number;
  /** How many of them others use on average, who have nothing to do with the cluster; 0 unless given. */
  readonly othersCores?: number;
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
  /** Cores that computed on average. */
  readonly coresBusy: number;
  /** Commits of a group on average. */
  readonly groupSize: number;
}

/** How long anybody computes at a time while others wait for the core: the slice of Linux's scheduler on two cores. */
const SLICE_MS = 1.4;
const GROUP_COMMITS_MAX = 256;
const LOCKED_GROUPS = 3;
/** Rows of others that come with the head. */
const ROWS_WITH_HEAD = 2;
/** Between two looks at the log of a node that waits for the head: longer while there is nothing to read. */
const CATCH_UP_MS_MIN = 2;
const CATCH_UP_MS_MAX = 20;
/** A node without work for so long has read the log as it grew: all of it but what is being written. */
const FOLLOW_MS = 20;

class Node {
  /** When each commit that waits was asked for. */
  asked: number[] = [];
  /** Given once for each time that commits were asked for. */
  readonly work = new Resource(0);
  /** The thread that writes, and the one that calls. */
  readonly thread = new Resource(1);
  readonly callers = new Resource(1);
  /** Rows of the log that it has applied. */
  rows = 0;
  lockedGroups = 0;
  #isWaiting = false;
  /** Its own groups, those of others, and what PostgreSQL does for each of its two connections. */
  readonly own = new Actor();
  readonly foreign = new Actor();
  readonly database = new Actor();
  readonly reader = new Actor();
  readonly answers = new Actor();

  /** Whether it waits for the head. */
  waits(): boolean {
    return this.#isWaiting;
  }

  wait(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
  }
}

/** Runs the model. The first fifth of the time is not counted. */
export function simulateCommits(model: CommitModel): CommitFigures {
  return new CommitRun(model).run();
}

class CommitRun {
  readonly #model: CommitModel;
  readonly #costs: CommitCosts;
  /** Cores that are shared are not idle while a thread pauses. */
  readonly #pauses: readonly Pause[];
  readonly #simulation = new Simulation();
  readonly #head = new Resource(1);
  readonly #cores: Resource;
  /** Commits of each row of the log. */
  readonly #rows: number[] = [];
  readonly #latencies: number[] = [];
  #counted = 0;
  #countedGroups = 0;
  #headMs = 0;
  #coresMs = 0;

  constructor(model: CommitModel) {
    this.#model = model;
    this.#costs = model.costs;
    this.#pauses = model.cores === Number.POSITIVE_INFINITY ? model.costs.pauses : model.costs.crowdedPauses;
    this.#cores = new Resource(model.cores);
  }

  run(): CommitFigures {
    const { nodes, callers, seconds } = this.#model;
    for (let index = 0; index < nodes; index += 1) {
      const node = new Node();
      this.#simulation.start(this.#write(node));
      for (let caller = 0; caller < callers; caller += 1) this.#simulation.start(this.#ask(node));
    }
    this.#startOthers();
    this.#simulation.run(seconds * 1000);
    const countedMs = 0.8 * seconds * 1000;
    const sorted = this.#latencies.sort((a, b) => a - b);
    const rank = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
    return {
      commitsPerSec: (1000 * this.#counted) / countedMs,
      p50Ms: rank(0.5),
      p99Ms: rank(0.99),
      headBusy: Math.min(1, this.#headMs / countedMs),
      coresBusy: this.#coresMs / countedMs,
      groupSize: this.#counted / this.#countedGroups,
    };
  }

  /** Others take cores in turn with the nodes, one thread for each core that they use or begin to use. */
  #startOthers(): void {
    const { othersCores = 0 } = this.#model;
    const threads = Math.ceil(othersCores);
    for (let thread = 0; thread < threads; thread += 1) this.#simulation.start(this.#others(othersCores / threads));
  }

  *#others(share: number): Process {
    for (let turn = 0; ; turn += 1) {
      const dueMs = (turn * SLICE_MS) / share;
      if (dueMs > this.#simulation.nowMs) yield { ms: dueMs - this.#simulation.nowMs };
      yield { take: this.#cores };
      yield { ms: SLICE_MS };
      this.#simulation.release(this.#cores);
    }
  }

  /** A caller thinks, and then wants a commit. */
  *#ask(node: Node): Process {
    const { thinkMs = 0, random } = this.#model;
    if (thinkMs > 0) yield { ms: -thinkMs * Math.log(1 - random()) };
    node.asked.push(this.#simulation.nowMs);
    this.#simulation.release(node.work);
  }

  *#write(node: Node): Process {
    for (;;) {
      const idleSinceMs = this.#simulation.nowMs;
      while (node.asked.length === 0) yield { take: node.work };
      if (this.#simulation.nowMs - idleSinceMs > FOLLOW_MS) node.rows = this.#rows.length;
      yield { ms: this.#costs.handOverMs / 2 };
      yield* node.lockedGroups === 0 ? this.#alone(node) : this.#locked(node);
    }
  }

  *#alone(node: Node): Process {
    const { rows } = node;
    const group = this.#takeGroup(node);
    yield* this.#decide(node, group.length);
    yield { take: this.#head };
    const startedMs = this.#simulation.nowMs;
    if (rows !== this.#rows.length) {
      // Another node was first: nothing was written.
      this.#simulation.release(this.#head);
      yield* this.#databaseComputes(node.database, this.#costs.asked.databaseMs);
      yield* this.#network(1 / 2);
      node.asked.unshift(...group);
      node.lockedGroups = LOCKED_GROUPS;
      return;
    }
    yield* this.#append(node, { group, startedMs });
  }

  *#locked(node: Node): Process {
    const { head } = this.#costs;
    const { rows: before } = node;
    node.wait(true);
    this.#simulation.start(this.#catchUp(node));
    yield* this.#nodeComputes(node, node.own, head.nodeMs / 2);
    yield* this.#network(1 / 2);
    yield* this.#databaseComputes(node.database, head.databaseMs / 2);
    yield { take: this.#head };
    const startedMs = this.#simulation.nowMs;
    const first = Math.max(before, this.#rows.length - ROWS_WITH_HEAD);
    const withHead = this.#rows.slice(first);
    yield* this.#readRows(node, withHead, node.database);
    node.wait(false);
    // What is missing before them is read as well: they come once more with it.
    if (first > node.rows) yield* this.#readRows(node, this.#rows.slice(node.rows), node.database);
    const staged = this.#rows.slice(node.rows);
    yield* this.#applyRows(node, this.#rows.length, this.#costs.stageShare);
    const isAlone = before === this.#rows.length;
    const group = this.#takeGroup(node);
    yield* this.#decide(node, group.length);
    this.#simulation.start(this.#settleRows(node, staged));
    yield* this.#databaseComputes(node.database, head.databaseMs / 2);
    yield* this.#append(node, { group, startedMs });
    node.lockedGroups = isAlone ? node.lockedGroups - 1 : LOCKED_GROUPS;
  }

  /** Decides a group, and sends it. */
  *#decide(node: Node, commits: number): Generator<Step, void> {
    const { one, many, applyMs } = this.#costs;
    const ms = costOf(commits, { one: one.own.nodeMs, many: many.own.nodeMs, group: many.group });
    yield* this.#nodeComputes(node, node.own, Math.max(0, ms - commits * applyMs));
    yield* this.#network(1 / 2);
  }

  /** The database adds a row and syncs it; then others have the head, and the node applies and answers. */
  *#append(
    node: Node,
    { group, startedMs }: { readonly group: readonly number[]; readonly startedMs: number },
  ): Generator<Step, void> {
    const { one, many, applyMs, syncMs } = this.#costs;
    const ms = costOf(group.length, { one: one.own.databaseMs, many: many.own.databaseMs, group: many.group });
    yield* this.#databaseComputes(node.database, ms);
    yield { ms: this.#draw(syncMs) };
    this.#rows.push(group.length);
    node.rows = this.#rows.length;
    if (this.#isCounted) this.#headMs += this.#simulation.nowMs - startedMs;
    this.#simulation.release(this.#head);
    yield* this.#network(1 / 2);
    yield* this.#nodeComputes(node, node.own, group.length * applyMs);
    this.#simulation.start(this.#answer(node, group));
  }

  /** Applies what others write while the node waits. */
  *#catchUp(node: Node): Process {
    for (let pauseMs = CATCH_UP_MS_MIN; ;) {
      yield { ms: pauseMs };
      if (!node.waits()) return;
      const end = this.#rows.length;
      yield* this.#network(1 / 2);
      yield* this.#readRows(node, this.#rows.slice(node.rows, end), node.reader);
      if (!node.waits()) return;
      pauseMs = end > node.rows ? CATCH_UP_MS_MIN : Math.min(CATCH_UP_MS_MAX, 2 * pauseMs);
      yield* this.#applyRows(node, end);
    }
  }

  /** The database reads rows, and the node gets them. */
  *#readRows(node: Node, rows: readonly number[], connection: Actor): Generator<Step, void> {
    const { asked, one, many, askWaitMs } = this.#costs;
    const read = (part: keyof StepCost): number =>
      rows.reduce(
        // A question without an answer is in it once.
        (sum, commits) =>
          sum + costOf(commits, { one: one.read[part], many: many.read[part], group: many.group }) - asked[part],
        asked[part],
      );
    yield* this.#databaseComputes(connection, read("databaseMs"));
    yield { ms: this.#draw(askWaitMs) };
    yield* this.#network(1 / 2);
    yield* this.#nodeComputes(node, node.foreign, read("nodeMs"));
  }

  *#applyRows(node: Node, end: number, share = 1): Generator<Step, void> {
    for (; node.rows < end; node.rows += 1)
      yield* this.#nodeComputes(node, node.foreign, share * this.#applyMs(this.#rows[node.rows] ?? 0));
  }

  /** Writes rows that were decided upon to LMDB, while the database takes the row that follows them. */
  *#settleRows(node: Node, rows: readonly number[]): Process {
    const ms = rows.reduce((sum, commits) => sum + this.#applyMs(commits), 0);
    yield* this.#nodeComputes(node, node.foreign, (1 - this.#costs.stageShare) * ms);
  }

  /** What applying a row of so many commits of another node takes. */
  #applyMs(commits: number): number {
    const { one, many } = this.#costs;
    return costOf(commits, { one: one.applyMs, many: many.applyMs, group: many.group });
  }

  /** Each caller asks anew when it has its answer and has thought. */
  *#answer(node: Node, group: readonly number[]): Process {
    const { callers, handOverMs, many } = this.#costs;
    yield { ms: handOverMs / 2 };
    const ms = costOf(group.length, { one: callers.oneMs, many: callers.manyMs, group: many.group });
    yield { take: node.callers };
    yield* this.#compute(node.answers, ms, "node");
    this.#simulation.release(node.callers);
    const { nowMs } = this.#simulation;
    for (const askedMs of group) {
      if (this.#isCounted) this.#latencies.push(nowMs - askedMs);
      this.#simulation.start(this.#ask(node));
    }
    if (!this.#isCounted) return;
    this.#counted += group.length;
    this.#countedGroups += 1;
  }

  /** Takes what was asked for by now, the oldest first. */
  #takeGroup(node: Node): number[] {
    return node.asked.splice(0, GROUP_COMMITS_MAX);
  }

  get #isCounted(): boolean {
    return this.#simulation.nowMs >= 0.2 * this.#model.seconds * 1000;
  }

  /** A share of what the network adds to a round trip. */
  *#network(share: number): Generator<Step, void> {
    if (this.#model.networkMs > 0) yield { ms: share * this.#model.networkMs };
  }

  /** What the thread computes that writes. */
  *#nodeComputes(node: Node, actor: Actor, ms: number): Generator<Step, void> {
    yield { take: node.thread };
    yield* this.#compute(actor, ms, "node");
    this.#simulation.release(node.thread);
  }

  *#databaseComputes(actor: Actor, ms: number): Generator<Step, void> {
    yield* this.#compute(actor, ms, "database");
  }

  *#compute(actor: Actor, ms: number, where: "node" | "database"): Generator<Step, void> {
    const takesMs = ms * actor.slowdown(this.#simulation.nowMs, this.#pauses, where);
    yield* this.#occupy(takesMs);
    actor.lastMs = this.#simulation.nowMs;
    if (where === "node" && this.#costs.helpers > 0)
      this.#simulation.start(this.#occupy(takesMs * this.#costs.helpers));
  }

  *#occupy(ms: number): Generator<Step, void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= SLICE_MS) {
      const turnMs = Math.min(leftMs, SLICE_MS);
      yield { take: this.#cores };
      yield { ms: turnMs };
      if (this.#isCounted) this.#coresMs += turnMs;
      this.#simulation.release(this.#cores);
    }
  }

  #draw(times: readonly number[]): number {
    return times[Math.floor(this.#model.random() * times.length)] ?? 0;
  }
}
