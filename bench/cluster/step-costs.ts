/**
 * What the steps of a commit cost: processor time of the node and of PostgreSQL, by the number of commits of a group, on
 * two replicas in this process that take turns. Nothing here waits for another node, so that what several nodes at once
 * do stays the model's to foretell.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { joinCluster, programSchemaVersion } from "../../src/platform/cluster/join-cluster.js";
import { ClusterWriter } from "../../src/platform/cluster/log/cluster-writer.js";
import { LogDatabase } from "../../src/platform/cluster/log/log-database.js";
import { logKeyOf } from "../../src/platform/cluster/log/log-row.js";
import { Replica } from "../../src/platform/cluster/replica.js";
import { assert } from "../../src/platform/errors.js";
import { emptyMeta, openEnvironment, transact, writeMeta } from "../../src/platform/store/lmdb/lmdb-environment.js";
import type { StoreCommit } from "../../src/platform/store/store.js";
import { CommitPacker, unpackCommits } from "../../src/platform/store/wire.js";
import type { BenchPostgres } from "./postgres.js";
import { MemberProcess } from "./member-process.js";
import { databaseUse, mainUse, type ThreadUse } from "./processor-time.js";
import type { GroupCosts, Pause, StepCost, StepCosts } from "./step-cost.js";

const WARM_UP = 200;
const ROUNDS = 400;
/** Nodes that keep the cores busy meanwhile, each of a cluster of its own. */
const NEIGHBOURS = 2;
const NEIGHBOURS_LOAD = { callers: 64, seconds: 1 };
/** After longer pauses a step costs no more: what it needs has left the caches. */
const PAUSES_MS = [2, 8, 32];
/** So long is paused in all for each pause, in rounds of which there are as many at most: of fewer the factors vary. */
const PAUSED_MS = 3_000;
const PAUSED_ROUNDS_MAX = 300;

export interface StepOptions {
  readonly postgres: BenchPostgres;
  /** For folders of its own. */
  readonly folder: string;
  /** Commits of a large group. */
  readonly group: number;
  readonly commit: (index: number) => StoreCommit;
}

/** One kind of step, on average. */
interface Sampled extends StepCost {
  /** From its beginning to its end, each. */
  readonly wallMs: readonly number[];
  /** How long the two were kept from computing on average, by others who had the cores. */
  readonly queuedMs: number;
}

/** Measures the steps on a cluster of its own. */
export async function stepCosts(options: StepOptions): Promise<StepCosts> {
  const bench = await StepBench.open(options);
  try {
    return { one: await bench.stepsOf(1), many: await bench.stepsOf(options.group), ...(await bench.rest()) };
  } finally {
    await bench.close();
  }
}

class StepBench {
  readonly #options: StepOptions;
  readonly #database: LogDatabase;
  /** Name of the database. */
  readonly #name: string;
  readonly #writers: readonly [ClusterWriter, ClusterWriter];
  readonly #close: () => Promise<void>;
  readonly #packer = new CommitPacker();
  /** Groups as callers have packed them. */
  #packed: Uint8Array<ArrayBuffer>[] = [];
  #commits = 0;

  private constructor(
    options: StepOptions,
    parts: { database: LogDatabase; name: string; writers: [ClusterWriter, ClusterWriter]; close: () => Promise<void> },
  ) {
    this.#options = options;
    this.#database = parts.database;
    this.#name = parts.name;
    this.#writers = parts.writers;
    this.#close = parts.close;
  }

  static async open(options: StepOptions): Promise<StepBench> {
    const databaseUrl = await options.postgres.newDatabase();
    const clusterKey = randomBytes(32);
    await initCluster({ databaseUrl, clusterKey });
    const database = new LogDatabase(databaseAddress(databaseUrl));
    await database.connect();
    const make = async (): Promise<Member> => await member(options.folder, { databaseUrl, clusterKey });
    const [first, second] = [await make(), await make()];
    const close = async (): Promise<void> => {
      database.disconnect();
      for (const { end } of [first, second]) await end();
    };
    const name = new URL(databaseUrl).pathname.slice(1);
    return new StepBench(options, { database, name, writers: [first.writer, second.writer], close });
  }

  async close(): Promise<void> {
    await this.#close();
  }

  /** What the steps of groups of so many commits cost. */
  async stepsOf(group: number): Promise<GroupCosts> {
    const [writer, follower] = this.#writers;
    const own = await this.#sample(async () => await this.#commit(), { group });
    const last = writer.place.g;
    const read = await this.#sample(async () => await this.#database.pageAfter(last - 1));
    await follower.confirm();
    const followed = async (): Promise<void> => {
      await this.#commit();
      await follower.follow();
    };
    const both = await this.#sample(followed, { group });
    const apply = Math.max(0, both.nodeMs - own.nodeMs - read.nodeMs);
    return { group, own, read, applyMs: apply };
  }

  /** What does not depend on the group: the head taken and let go, what statements wait for, what pauses do. */
  async rest(): Promise<Omit<StepCosts, "one" | "many">> {
    const { group } = this.#options;
    const last = this.#writers[0].place.g;
    const head = await this.#sample(async () => {
      await this.#database.lockHead(last);
      await this.#database.rollback();
    });
    const asked = await this.#sample(async () => await this.#database.lastNumber());
    const warm = await this.#sample(async () => await this.#commit(), { group });
    const pauses = await this.#pauses(warm);
    const crowdedPauses = await this.#besideNeighbours(async () => await this.#pauses(warm));
    return { head, asked, pauses, crowdedPauses, askWaitMs: waits(asked), syncMs: waits(warm) };
  }

  /** How much more a group costs after pauses, which add to what a group waits for anyway. */
  async #pauses(warm: Sampled): Promise<Pause[]> {
    const { group } = this.#options;
    const waitedMs = warm.wallMs.reduce((sum, ms) => sum + ms, 0) / warm.wallMs.length - warm.nodeMs;
    const after: Pause[] = [{ pauseMs: waitedMs, node: 1, database: 1 }];
    for (const pauseMs of PAUSES_MS) {
      const rounds = Math.min(PAUSED_ROUNDS_MAX, Math.round(PAUSED_MS / pauseMs));
      const cold = await this.#sample(async () => await this.#commit(), { group, pauseMs, rounds });
      const [node, database] = [cold.nodeMs / warm.nodeMs, cold.databaseMs / warm.databaseMs];
      after.push({ pauseMs: waitedMs + pauseMs, node: Math.max(1, node), database: Math.max(1, database) });
    }
    return after;
  }

  /** Runs something while other nodes, which have nothing to do with it, keep the cores busy. */
  async #besideNeighbours<R>(action: () => Promise<R>): Promise<R> {
    const { postgres, folder } = this.#options;
    let isDone = false;
    const neighbours = Array.from({ length: NEIGHBOURS }, async () => {
      const [databaseUrl, clusterKey] = [await postgres.newDatabase(), randomBytes(32)];
      await initCluster({ databaseUrl, clusterKey });
      const path = mkdtempSync(join(folder, "neighbour-"));
      return await MemberProcess.start({ databaseUrl, clusterKey: clusterKey.toString("hex"), path });
    });
    const nodes = await Promise.all(neighbours);
    const loads = nodes.map(async (node) => {
      while (!isDone) await node.commitFor(NEIGHBOURS_LOAD);
      await node.end();
    });
    try {
      return await action();
    } finally {
      isDone = true;
      await Promise.all(loads);
    }
  }

  async #commit(): Promise<void> {
    const packed = this.#packed.pop();
    assert(packed !== undefined, "as many groups are packed as are written");
    await this.#writers[0].commit(unpackCommits(packed), () => []);
  }

  /** @param group commits of the group that each round writes; none unless given */
  async #sample(action: () => Promise<unknown>, { group = 0, pauseMs = 0, rounds = ROUNDS } = {}): Promise<Sampled> {
    const warmUp = pauseMs === 0 ? WARM_UP : 0;
    this.#packed = group === 0 ? [] : Array.from({ length: warmUp + rounds }, () => this.#pack(group));
    for (let round = 0; round < warmUp; round += 1) await action();
    const { pid } = this.#options.postgres;
    const wallMs: number[] = [];
    const uses = (): readonly [ThreadUse, ThreadUse] => [mainUse(), databaseUse(pid, this.#name)];
    const [nodeBefore, databaseBefore] = uses();
    for (let round = 0; round < rounds; round += 1) {
      const startedMs = performance.now();
      await action();
      wallMs.push(performance.now() - startedMs);
      if (pauseMs > 0) await delay(pauseMs);
    }
    const [node, database] = uses();
    return {
      nodeMs: (node.computedMs - nodeBefore.computedMs) / rounds,
      databaseMs: (database.computedMs - databaseBefore.computedMs) / rounds,
      queuedMs: (node.queuedMs - nodeBefore.queuedMs + database.queuedMs - databaseBefore.queuedMs) / rounds,
      wallMs,
    };
  }

  #pack(group: number): Uint8Array<ArrayBuffer> {
    for (let index = 0; index < group; index += 1) this.#packer.add(this.#options.commit((this.#commits += 1)));
    return this.#packer.take();
  }
}

/**
 * What passes while neither of the two computes, nor waits for a core: a sync, and threads that wake. Distributed as what
 * each round took beyond the processor time of all, and as much on average as there is.
 */
function waits({ wallMs, nodeMs, databaseMs, queuedMs }: Sampled): number[] {
  const beyond = wallMs.map((ms) => Math.max(0, ms - nodeMs - databaseMs));
  const [total, wall] = [beyond, wallMs].map((times) => times.reduce((sum, ms) => sum + ms, 0)) as [number, number];
  const waited = Math.max(0, wall - wallMs.length * (nodeMs + databaseMs + queuedMs));
  return beyond.map((ms) => (total === 0 ? 0 : (ms * waited) / total));
}

interface Member {
  readonly writer: ClusterWriter;
  readonly end: () => Promise<void>;
}

async function member(
  folder: string,
  { databaseUrl, clusterKey }: { readonly databaseUrl: string; readonly clusterKey: Uint8Array },
): Promise<Member> {
  const environment = openEnvironment(mkdtempSync(join(folder, "steps-")), { isUnsynced: true });
  const schemaVersion = programSchemaVersion();
  transact(environment, () => {
    writeMeta(environment, emptyMeta(schemaVersion));
  });
  const replica = new Replica(environment, undefined);
  const [address, logKey] = [databaseAddress(databaseUrl), logKeyOf(clusterKey)];
  await joinCluster({ environment, replica, address, logKey });
  const [database, reader] = [new LogDatabase(address), new LogDatabase(address)];
  const writer = new ClusterWriter(
    { logKey, node: randomUUID(), incarnation: randomUUID(), giveUpMs: 60_000, schemaVersion },
    { replica, database, reader, onForeign: () => undefined, onSpent: () => undefined },
  );
  await writer.confirm();
  const end = async (): Promise<void> => {
    for (const connection of [database, reader]) connection.disconnect();
    await environment.close();
  };
  return { writer, end };
}
