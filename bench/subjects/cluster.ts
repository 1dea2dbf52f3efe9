/**
 * Nodes of a cluster over one PostgreSQL, all on this machine: what commits cost beside LMDB alone, what several nodes at
 * once carry, each in a process of its own, how late the others are, what a strict read adds, and how long joining takes.
 * What single steps cost feeds a model of the commit's way, which is held against the runs and then asked about more nodes.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { createLog } from "../../src/platform/log.js";
import { openStore, type DurableStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { commitFor, record, type Load, type Run } from "../cluster/load.js";
import { MemberProcess, openNode, type NodeOptions } from "../cluster/member-process.js";
import { commitCosts, holdModel, measuredSteps } from "../cluster/model-rows.js";
import { GroupUsage, held, type HeldRun, type OwnUsage } from "../cluster/node-usage.js";
import { isTold } from "../cluster/processor-time.js";
import { startPostgres, type BenchPostgres } from "../cluster/postgres.js";
import { takeoverMs, type MemberOptions } from "../cluster/takeover.js";
import { quantileOf } from "../sample.js";
import type { BenchRow, BenchSubject, Report } from "../subject.js";

const CALLERS = 64;
/** Records that a joining node copies; ten million are told by their share. */
const RECORDS = { quick: 20_000, full: 100_000 } as const;
const TEN_MILLION = 10_000_000;
const RATE = 1000;
/** Until the code of a new node is compiled as it stays. */
const WARM_UP_SECONDS = 2;

type Row = Omit<BenchRow, "subject">;

interface Bench {
  readonly postgres: BenchPostgres;
  readonly folder: string;
  readonly seconds: number;
  readonly records: number;
  readonly report: (row: Row) => void;
}

export const subject: BenchSubject = {
  name: "cluster",
  title: `Nodes of a cluster, PostgreSQL and all on ${String(cpus().length)} cores`,
  run: async (report, { quick }) => {
    const postgres = await startPostgres();
    if (postgres === undefined) {
      report(missing());
      return;
    }
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-cluster-"));
    try {
      await measure({
        ...{ postgres, folder, report: reporter(report) },
        ...{ seconds: quick ? 2 : 8, records: quick ? RECORDS.quick : RECORDS.full },
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
      await postgres.stop();
    }
  },
};

function missing(): BenchRow {
  const note = "PostgreSQL's programs are not installed: apt-get install postgresql";
  return {
    subject: "cluster",
    id: "commits",
    peer: "proofwright",
    unit: "ops/s",
    median: Number.NaN,
    samples: 0,
    note,
  };
}

function reporter(report: Report): (row: Row) => void {
  return (row) => {
    report({ subject: "cluster", ...row });
  };
}

async function measure(bench: Bench): Promise<void> {
  const one = await alone(bench);
  const three = await together(bench, one.run);
  const steps = isTold ? await measuredSteps({ ...bench, callers: CALLERS }) : undefined;
  const cluster = await newCluster(bench);
  const nodes = [await cluster.join(), await cluster.join()] as const;
  let strictMs: number;
  try {
    strictMs = await strictReads(bench, nodes);
    await lag(bench, nodes);
  } finally {
    for (const node of nodes) await node.close();
  }
  await takeover(bench, cluster);
  await joining(bench);
  if (steps !== undefined)
    holdModel({ ...bench, callers: CALLERS }, commitCosts(steps, { usage: one.usage, strictMs }), {
      one: one.run,
      three,
    });
}

/** One node beside the store of a single server, in turns, so that the machine's other work falls on both. */
async function alone(bench: Bench): Promise<{ readonly run: HeldRun; readonly usage: OwnUsage }> {
  const { folder, report, seconds } = bench;
  const cluster = await newCluster(bench);
  const node = await cluster.join();
  const single = await openStore(
    { path: join(folder, "single"), chainKey: randomBytes(32) },
    { log: createLog("error") },
  );
  const [one, many] = [1, CALLERS].map((callers) => ({ callers, seconds: seconds / 3 })) as [Load, Load];
  const usage = { one: new GroupUsage(), many: new GroupUsage() };
  const runs = { node: [] as HeldRun[], single: [] as Run[], nodeOne: [] as Run[], singleOne: [] as Run[] };
  for (let turn = 0; turn < 3; turn += 1) {
    runs.single.push(await commitFor([single], many));
    runs.node.push(await held(async () => await usage.many.of(node, async () => await commitFor([node], many))));
    runs.singleOne.push(await commitFor([single], one));
    runs.nodeOne.push(await usage.one.of(node, async () => await commitFor([node], one)));
  }
  await single.close();
  await node.close();
  const merged = { node: merge(runs.node), single: merge(runs.single) };
  const peers = [
    ["one node", merged.node],
    ["LMDB alone", merged.single],
  ] as const;
  for (const [peer, run] of peers)
    report({ id: "commits_64", peer, unit: "ops/s", median: run.commitsPerSec, samples: 3, note: tail(run) });
  for (const [peer, run] of [
    ["one node", merge(runs.nodeOne)],
    ["LMDB alone", merge(runs.singleOne)],
  ] as const)
    report({ id: "commit_single", peer, unit: "ms", ...times(run.latencies), note: tail(run) });
  const othersCores = runs.node.reduce((total, run) => total + run.othersCores, 0) / runs.node.length;
  return { run: { ...merged.node, othersCores }, usage };
}

/** Three nodes that all write, each in a process of its own, and a single commit beside two that do. */
async function together(bench: Bench, own: Run): Promise<HeldRun> {
  const { report, seconds } = bench;
  const cluster = await newCluster(bench);
  const nodes: MemberProcess[] = [];
  const all = async (load: Load): Promise<Run> =>
    sum(await Promise.all(nodes.map(async (node, first) => await node.commitFor({ ...load, first }))));
  try {
    for (let node = 0; node < 3; node += 1) nodes.push(await MemberProcess.start(cluster.options()));
    await all({ callers: CALLERS, seconds: WARM_UP_SECONDS });
    const three = await held(async () => await all({ callers: CALLERS, seconds }));
    const ratio = three.commitsPerSec / own.commitsPerSec;
    report({
      ...{ id: "commits_3x64", peer: "three nodes", unit: "ops/s", median: three.commitsPerSec, samples: 1 },
      note: `${ratio.toFixed(2)} of one node; ${tail(three)}`,
    });
    const besides = nodes.map(
      async (node, first) => await node.commitFor({ callers: first === 0 ? 1 : 8, seconds, first }),
    );
    const beside = (await Promise.all(besides))[0] ?? three;
    report({
      id: "commit_beside_two",
      peer: "one of three",
      unit: "ms",
      ...times(beside.latencies),
      note: tail(beside),
    });
    return three;
  } finally {
    for (const node of nodes) await node.end();
  }
}

/** Nodes at the same time. */
function sum(runs: readonly Run[]): Run {
  return {
    commitsPerSec: runs.reduce((total, { commitsPerSec }) => total + commitsPerSec, 0),
    latencies: runs.flatMap(({ latencies }) => latencies),
  };
}

/** Returns what a strict read takes while nobody writes, in milliseconds. */
async function strictReads(
  { report, seconds }: Bench,
  [reader, writer]: readonly [NodeStore, NodeStore],
): Promise<number> {
  const idle = await confirmFor(reader, seconds / 2);
  report({ id: "strict_read", peer: "nobody writes", unit: "ms", ...times(idle), note: p99(idle) });
  const [busy] = await Promise.all([
    confirmFor(reader, seconds / 2),
    commitFor([writer], { callers: 8, seconds: seconds / 2 }),
  ]);
  report({ id: "strict_read", peer: "beside a writer", unit: "ms", ...times(busy), note: p99(busy) });
  return quantileOf(idle, 0.5);
}

async function confirmFor(store: NodeStore, seconds: number): Promise<number[]> {
  const latencies: number[] = [];
  for (const untilMs = performance.now() + 1000 * seconds; performance.now() < untilMs;) {
    const startedMs = performance.now();
    await store.confirm();
    latencies.push(performance.now() - startedMs);
  }
  return latencies;
}

/** From the answer of one node until another can read it, at a steady rate. */
async function lag({ report, seconds }: Bench, [writer, reader]: readonly [NodeStore, NodeStore]): Promise<void> {
  const seen = new Map<string, number>();
  const answered = new Map<string, number>();
  const stop = reader.onChange("lag", (keys) => {
    for (const key of keys) seen.set(String(key[1]), performance.now());
  });
  const pending: Promise<void>[] = [];
  const startedMs = performance.now();
  for (let index = 0; index < RATE * seconds; index += 1) {
    const dueMs = startedMs + (1000 * index) / RATE;
    if (dueMs > performance.now()) await delay(dueMs - performance.now());
    const commit = writer.commit({ puts: [{ key: ["lag", String(index)], value: index }] });
    pending.push(commit.then(() => void answered.set(String(index), performance.now())));
  }
  await Promise.all(pending);
  await reader.confirm();
  stop();
  // The first second wakes a reader that had nothing to read.
  const lags = [...answered].slice(RATE).map(([id, atMs]) => Math.max(0, (seen.get(id) ?? Number.NaN) - atMs));
  report({
    id: "lag",
    peer: "second node",
    unit: "ms",
    ...times(lags),
    note: `${String(RATE)} commits/s; ${p99(lags)}`,
  });
}

/** How long what one node does for all lies when that node is killed. */
async function takeover({ report, folder }: Bench, { url, clusterKey }: Cluster): Promise<void> {
  const member = (name: string): MemberOptions => ({
    ...{ databaseUrl: url, clusterKey: clusterKey.toString("hex"), name },
    folder: mkdtempSync(join(folder, "member-")),
  });
  const holder = fileURLToPath(new URL("../peers/duty-holder.js", import.meta.url));
  const ms = await takeoverMs(member("killed"), member("other"), holder);
  report({ id: "takeover", peer: "a killed node's duty", unit: "s", median: ms / 1000, samples: 1 });
}

/** How long a new node takes to copy the state and to read the log. */
async function joining(bench: Bench): Promise<void> {
  const { report, records } = bench;
  const filled = await newCluster(bench);
  const [folder, folded] = [await filled.join(500), records];
  const page = 500;
  for (let from = 0; from < folded; from += page)
    await folder.commit({ puts: Array.from({ length: page }, (_, at) => record(from + at)) });
  await filled.folded(folder.position);
  await folder.close();
  const joinMs = async (): Promise<number> => await timed(async () => await (await filled.join()).close());
  const copyMs = Math.min(await joinMs(), await joinMs());
  const perRecord = copyMs / folded;
  report({
    ...{ id: "join", peer: `${String(folded)} records`, unit: "s", median: copyMs / 1000, samples: 1 },
    note: `10 million would take ${((perRecord * TEN_MILLION) / 60_000).toFixed(1)} min at this rate`,
  });
  const commits = Math.round(folded / 4);
  const writer = await filled.join();
  await commitCount(writer, commits);
  const tailMs = Math.min(await joinMs(), await joinMs()) - copyMs;
  await writer.close();
  const median = (1000 * Math.max(0, tailMs)) / commits;
  report({
    id: "apply",
    peer: "a commit of another node",
    unit: "us",
    median,
    samples: 1,
    note: "many rows at a time",
  });
}

interface Cluster {
  readonly url: string;
  readonly clusterKey: Buffer;
  /** For a node that is about to join. */
  options(): NodeOptions;
  /** @param foldMs how often the node folds the log; never unless given */
  join(foldMs?: number): Promise<NodeStore>;
  /** Resolves when the log is folded up to a place. */
  folded(g: number): Promise<void>;
}

async function newCluster(bench: Bench): Promise<Cluster> {
  const url = await bench.postgres.newDatabase();
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl: url, clusterKey });
  const options = (): NodeOptions => ({
    ...{ databaseUrl: url, clusterKey: clusterKey.toString("hex") },
    path: mkdtempSync(join(bench.folder, "node-")),
  });
  return {
    ...{ url, clusterKey, options },
    join: async (foldMs) => await openNode({ ...options(), ...(foldMs === undefined ? {} : { foldMs }) }),
    folded: async (g) => {
      const client = new pg.Client(databaseAddress(url));
      await client.connect();
      for (;;) {
        const { rows } = await client.query<{ g: string }>("SELECT g FROM pw_fold WHERE id = 1");
        if (Number(rows[0]?.g) >= g) break;
        await delay(200);
      }
      await client.end();
    },
  };
}

async function commitCount(store: DurableStore, count: number): Promise<void> {
  for (let from = 0; from < count; from += CALLERS)
    await Promise.all(
      Array.from({ length: CALLERS }, async (_, at) => await store.commit({ puts: [record(1_000_000 + from + at)] })),
    );
}

function merge(runs: readonly Run[]): Run {
  const rates = runs.map(({ commitsPerSec }) => commitsPerSec);
  return { commitsPerSec: quantileOf(rates, 0.5), latencies: runs.flatMap(({ latencies }) => latencies) };
}

function times(samples: readonly number[]): Pick<BenchRow, "median" | "p95" | "samples"> {
  return { median: quantileOf(samples, 0.5), p95: quantileOf(samples, 0.95), samples: samples.length };
}

function tail({ latencies }: Run): string {
  return `p50 ${quantileOf(latencies, 0.5).toFixed(2)} ms, ${p99(latencies)}`;
}

function p99(latencies: readonly number[]): string {
  return `p99 ${quantileOf(latencies, 0.99).toFixed(2)} ms`;
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await action();
  return performance.now() - startedMs;
}
