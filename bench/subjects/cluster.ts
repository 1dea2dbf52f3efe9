/**
 * Nodes of a cluster over one PostgreSQL, all in this process and on this machine: what commits cost beside LMDB alone,
 * what several nodes at once carry, how late the others are, what a strict read adds, and how long joining takes. What
 * was measured feeds a model of the commit's way, which is held against the runs and then asked about more nodes.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { createLog } from "../../src/platform/log.js";
import { openStore, type DurableStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { simulateCommits, type CommitCosts, type CommitFigures } from "../cluster/commit-model.js";
import { ownCosts } from "../cluster/replica-costs.js";
import { startPostgres, type BenchPostgres } from "../cluster/postgres.js";
import type { StoreCommit } from "../../src/platform/store/store.js";
import { takeoverMs, type MemberOptions } from "../cluster/takeover.js";
import { quantileOf } from "../sample.js";
import type { BenchRow, BenchSubject, Report } from "../subject.js";

const CALLERS = 64;
const SIMULATED = [1, 3, 10, 30, 100];
/** Between machines of one data centre. */
const NETWORK_MS = 0.5;
const SIMULATED_SECONDS = 20;
/** Records that a joining node copies; ten million are told by their share. */
const RECORDS = { quick: 20_000, full: 100_000 } as const;
const TEN_MILLION = 10_000_000;
const RATE = 1000;
/** Of a commit in the log. */
const RECORD_BYTES = 450;
/** Proofs of a small circuit that a node makes. */
const PROOFS_A_SECOND = 7;
const MIB = 1024 * 1024;
const NEVER_MS = 3_600_000;

type Row = Omit<BenchRow, "subject">;

interface Run {
  readonly commitsPerSec: number;
  readonly latencies: readonly number[];
}

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
  const aloneRun = await alone(bench);
  const cluster = await newCluster(bench);
  const nodes = [await cluster.join(), await cluster.join(), await cluster.join()] as const;
  try {
    const three = await together(bench, nodes, aloneRun);
    await strictReads(bench, nodes);
    await lag(bench, nodes);
    await takeover(bench, cluster);
    const foreignCommitMs = await joining(bench, cluster);
    const commit = (index: number): StoreCommit => ({ puts: [{ ...record(index), key: ["row", index % 6400] }] });
    const own = await ownCosts(bench.folder, { group: CALLERS, commit });
    const { judgeMs, applyMs } = own;
    bench.report({ id: "own", peer: "a commit judged", unit: "us", median: 1000 * judgeMs, samples: 1 });
    bench.report({ id: "own", peer: "a commit applied", unit: "us", median: 1000 * applyMs, samples: 1 });
    const costs = { ...(await databaseCosts(cluster.url)), ...own, foreignCommitMs };
    model(bench, costs, { one: aloneRun, three });
  } finally {
    for (const node of nodes) await node.close();
  }
}

/** One node beside the store of a single server, in turns, so that the machine's other work falls on both. */
async function alone(bench: Bench): Promise<Run> {
  const { folder, report, seconds } = bench;
  const cluster = await newCluster(bench);
  const node = await cluster.join();
  const single = await openStore(
    { path: join(folder, "single"), chainKey: randomBytes(32) },
    { log: createLog("error") },
  );
  const runs = { node: [] as Run[], single: [] as Run[], nodeOne: [] as Run[], singleOne: [] as Run[] };
  for (let turn = 0; turn < 3; turn += 1) {
    runs.single.push(await commitFor([single], CALLERS, seconds / 3));
    runs.node.push(await commitFor([node], CALLERS, seconds / 3));
    runs.singleOne.push(await commitFor([single], 1, seconds / 3));
    runs.nodeOne.push(await commitFor([node], 1, seconds / 3));
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
  return merged.node;
}

/** Three nodes that all write, a single commit beside two that do, and more writers at once. */
async function together({ report, seconds }: Bench, nodes: readonly NodeStore[], own: Run): Promise<Run> {
  const three = await commitFor(nodes, CALLERS, seconds);
  const ratio = three.commitsPerSec / own.commitsPerSec;
  report({
    ...{ id: "commits_3x64", peer: "three nodes", unit: "ops/s", median: three.commitsPerSec, samples: 1 },
    note: `${ratio.toFixed(2)} of one node; ${tail(three)}`,
  });
  const [first, ...others] = nodes;
  if (first === undefined) return three;
  const [beside] = await Promise.all([commitFor([first], 1, seconds), commitFor(others, 8, seconds)]);
  report({ id: "commit_beside_two", peer: "one of three", unit: "ms", ...times(beside.latencies), note: tail(beside) });
  return three;
}

async function strictReads({ report, seconds }: Bench, nodes: readonly NodeStore[]): Promise<void> {
  const [reader, writer] = nodes;
  if (reader === undefined || writer === undefined) return;
  const idle = await confirmFor(reader, seconds / 2);
  report({ id: "strict_read", peer: "nobody writes", unit: "ms", ...times(idle), note: p99(idle) });
  const [busy] = await Promise.all([confirmFor(reader, seconds / 2), commitFor([writer], 8, seconds / 2)]);
  report({ id: "strict_read", peer: "beside a writer", unit: "ms", ...times(busy), note: p99(busy) });
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
async function lag({ report, seconds }: Bench, [writer, reader]: readonly NodeStore[]): Promise<void> {
  if (writer === undefined || reader === undefined) return;
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

/** How long a new node takes to copy the state and to read the log. Returns what a commit of the log takes. */
async function joining({ report, records }: Bench, cluster: Cluster): Promise<number> {
  const filled = await cluster.another();
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
  const foreignCommitMs = Math.max(0.001, tailMs / commits);
  report({ id: "apply", peer: "a commit of another node", unit: "us", median: 1000 * foreignCommitMs, samples: 1 });
  return foreignCommitMs;
}

/** What PostgreSQL takes on this machine: a statement that reads, and what a synced commit adds. */
async function databaseCosts(url: string): Promise<Pick<CommitCosts, "roundTripMs" | "syncMs">> {
  const client = new pg.Client(databaseAddress(url));
  await client.connect();
  try {
    await client.query("CREATE TABLE IF NOT EXISTS bench_sync (id int PRIMARY KEY, body bytea)");
    const [roundTripMs, commitMs]: [number[], number[]] = [[], []];
    // As long as what a group of all callers writes.
    const body = randomBytes(CALLERS * RECORD_BYTES);
    for (let index = 0; index < 400; index += 1) {
      roundTripMs.push(await timed(async () => await client.query("SELECT g FROM pw_head WHERE id = 1")));
      commitMs.push(
        await timed(async () => await client.query("INSERT INTO bench_sync VALUES ($1, $2)", [index, body])),
      );
    }
    const middle = quantileOf(roundTripMs, 0.5);
    return { roundTripMs, syncMs: commitMs.map((ms) => Math.max(0, ms - middle)) };
  } finally {
    await client.end();
  }
}

/** Holds the model against the runs, and asks it about more nodes, each on cores of its own. */
function model({ report }: Bench, costs: CommitCosts, measured: { readonly one: Run; readonly three: Run }): void {
  const own = { ...costs, callers: CALLERS, seconds: SIMULATED_SECONDS };
  const here = { ...own, cores: cpus().length, isOneProcess: true, networkMs: 0 };
  const apart = { ...own, cores: Number.POSITIVE_INFINITY, isOneProcess: false, networkMs: NETWORK_MS };
  for (const [nodes, run] of [
    [1, measured.one],
    [3, measured.three],
  ] as const) {
    const { commitsPerSec } = simulateCommits({ ...here, nodes, random: mulberry(nodes) });
    const off = (100 * (commitsPerSec - run.commitsPerSec)) / run.commitsPerSec;
    report({
      ...{ id: "model_against_run", peer: `${String(nodes)} nodes, this machine`, unit: "ops/s", samples: 1 },
      median: commitsPerSec,
      note: `${off >= 0 ? "+" : ""}${off.toFixed(0)} % of the run`,
    });
  }
  for (const nodes of SIMULATED) {
    const figures = simulateCommits({ ...apart, nodes, random: mulberry(nodes) });
    report(modelRow({ nodes, load: `${String(CALLERS)} callers each` }, figures));
    const calmly = { callers: PROOFS_A_SECOND, thinkMs: 1000 };
    const calm = simulateCommits({ ...apart, ...calmly, nodes, random: mulberry(nodes) });
    report(modelRow({ nodes, load: `${String(PROOFS_A_SECOND)} commits/s each` }, calm));
  }
}

function modelRow(
  { nodes, load }: { readonly nodes: number; readonly load: string },
  { commitsPerSec, p50Ms, p99Ms, headBusy, groupSize }: CommitFigures,
): Row {
  const held = `the head held ${(100 * headBusy).toFixed(0)} % of the time`;
  return {
    ...{ id: "model", peer: `${String(nodes)} nodes, ${load}`, unit: "ops/s", median: commitsPerSec, samples: 1 },
    note: `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${groupSize.toFixed(1)} commits a group, ${held}; ${String(NETWORK_MS)} ms of network`,
  };
}

interface Cluster {
  readonly url: string;
  readonly clusterKey: Buffer;
  /** @param foldMs how often the node folds the log; never unless given */
  join(foldMs?: number): Promise<NodeStore>;
  /** Makes another one, empty. */
  another(): Promise<Cluster>;
  /** Resolves when the log is folded up to a place. */
  folded(g: number): Promise<void>;
}

async function newCluster(bench: Bench): Promise<Cluster> {
  const url = await bench.postgres.newDatabase();
  const clusterKey = randomBytes(32);
  await initCluster({ databaseUrl: url, clusterKey });
  return {
    url,
    clusterKey,
    join: async (foldMs = NEVER_MS) => {
      const path = mkdtempSync(join(bench.folder, "node-"));
      const cluster = { databaseUrl: url, clusterKey, node: randomUUID(), giveUpMs: 60_000, foldMs };
      const options = { path, mapBytes: 4096 * MIB, chainKey: new Uint8Array(32), cluster };
      return await openNodeStore(options, { log: createLog("error") });
    },
    another: async () => await newCluster(bench),
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

/** Commits of one record each, by so many callers of each store, for so long. */
async function commitFor(stores: readonly DurableStore[], callers: number, seconds: number): Promise<Run> {
  const latencies: number[] = [];
  const startedMs = performance.now();
  const untilMs = startedMs + 1000 * seconds;
  const call = async (store: DurableStore, caller: string): Promise<void> => {
    for (let index = 0; performance.now() < untilMs; index += 1) {
      const askedMs = performance.now();
      await store.commit({ puts: [{ ...record(index), key: ["row", caller, index % 100] }] });
      latencies.push(performance.now() - askedMs);
    }
  };
  await Promise.all(
    stores.flatMap((store, node) =>
      Array.from({ length: callers }, async (_, caller) => await call(store, `${String(node)}-${String(caller)}`)),
    ),
  );
  return { commitsPerSec: (1000 * latencies.length) / (performance.now() - startedMs), latencies };
}

async function commitCount(store: DurableStore, count: number): Promise<void> {
  for (let from = 0; from < count; from += CALLERS)
    await Promise.all(
      Array.from({ length: CALLERS }, async (_, at) => await store.commit({ puts: [record(1_000_000 + from + at)] })),
    );
}

/** About the size of a prover's record. */
function record(index: number): { readonly key: (string | number)[]; readonly value: Record<string, string> } {
  const id = `id-${String(index)}`;
  return { key: ["record", index], value: { id, created_at: "2026-01-01T00:00:00.000Z", note: "n".repeat(300) } };
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

/** mulberry32: the same sequence for the same seed. */
function mulberry(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
