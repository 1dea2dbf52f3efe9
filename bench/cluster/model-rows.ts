/** Feeds the model of commits with what was measured, holds it against the runs, and asks it about more nodes. */
import { cpus } from "node:os";
import type { StoreCommit } from "../../src/platform/store/store.js";
import { quantileOf } from "../sample.js";
import type { BenchRow } from "../subject.js";
import { simulateCommits, type CommitCosts, type CommitFigures } from "./commit-model.js";
import { record } from "./load.js";
import type { HeldRun, OwnUsage } from "./node-usage.js";
import type { BenchPostgres } from "./postgres.js";
import { ownCosts } from "./replica-costs.js";
import type { StepCosts } from "./step-cost.js";
import { stepCosts } from "./step-costs.js";

const SIMULATED = [1, 3, 10, 30, 100];
/** Between machines of one data centre. */
const NETWORK_MS = 0.5;
const SIMULATED_SECONDS = 20;
/** Proofs of a small circuit that a node makes. */
const PROOFS_A_SECOND = 7;

type Row = Omit<BenchRow, "subject">;

export interface ModelBench {
  readonly postgres: BenchPostgres;
  readonly folder: string;
  /** Of each node. */
  readonly callers: number;
  readonly report: (row: Row) => void;
}

/** What the steps of a commit cost by themselves. */
export interface MeasuredSteps extends StepCosts {
  readonly applyMs: number;
  readonly stageShare: number;
}

/** Measures them, and tells them. */
export async function measuredSteps({ postgres, folder, callers, report }: ModelBench): Promise<MeasuredSteps> {
  const commit = (index: number): StoreCommit => ({ puts: [{ ...record(index), key: ["row", index % 6400] }] });
  const { judgeMs, applyMs, stageShare } = await ownCosts(folder, { group: callers, commit });
  report({ id: "own", peer: "a commit judged", unit: "us", median: 1000 * judgeMs, samples: 1 });
  report({ id: "own", peer: "a commit applied", unit: "us", median: 1000 * applyMs, samples: 1 });
  const steps = await stepCosts({ postgres, folder, group: callers, commit });
  for (const [peer, ms] of stepRows(steps)) report({ id: "step", peer, unit: "us", median: 1000 * ms, samples: 1 });
  return { ...steps, applyMs, stageShare };
}

/**
 * What the model is fed with: the steps, and what the run of one node used. The thread that writes gets messages there,
 * and sends some, which the steps by themselves have nothing of.
 */
export function commitCosts(
  { one, many, ...steps }: MeasuredSteps,
  { usage, strictMs }: { readonly usage: OwnUsage; readonly strictMs: number },
): CommitCosts {
  const { asked, askWaitMs } = steps;
  return {
    ...{ ...steps, helpers: usage.many.helpers },
    one: { ...one, own: { ...one.own, nodeMs: usage.one.writerMs } },
    many: { ...many, own: { ...many.own, nodeMs: usage.many.writerMs } },
    callers: { oneMs: usage.one.callersMs, manyMs: usage.many.callersMs },
    handOverMs: Math.max(0, strictMs - asked.nodeMs - asked.databaseMs - quantileOf(askWaitMs, 0.5)),
  };
}

/** What is told of the steps: processor time of the node, and of PostgreSQL. */
function stepRows({ many, head, crowdedPauses }: StepCosts): (readonly [string, number])[] {
  const cold = crowdedPauses.at(-1);
  return [
    [`${String(many.group)} commits written, node`, many.own.nodeMs],
    ["the same, PostgreSQL", many.own.databaseMs],
    ["the same after a pause, node", many.own.nodeMs * (cold?.node ?? 1)],
    ["the same after a pause, PostgreSQL", many.own.databaseMs * (cold?.database ?? 1)],
    ["a row of another node read and applied, node", many.read.nodeMs + many.applyMs],
    ["the same, PostgreSQL", many.read.databaseMs],
    ["the head taken, node", head.nodeMs],
    ["the same, PostgreSQL", head.databaseMs],
  ];
}

/** Holds the model against the runs, and asks it about more nodes, each on cores of its own. */
export function holdModel(
  { callers, report }: ModelBench,
  costs: CommitCosts,
  measured: { readonly one: HeldRun; readonly three: HeldRun },
): void {
  const own = { costs, callers, seconds: SIMULATED_SECONDS };
  const here = { ...own, cores: cpus().length, networkMs: 0 };
  const apart = { ...own, cores: Number.POSITIVE_INFINITY, networkMs: NETWORK_MS };
  for (const [nodes, run] of [
    [1, measured.one],
    [3, measured.three],
  ] as const) {
    const { othersCores } = run;
    const { commitsPerSec, coresBusy } = simulateCommits({ ...here, othersCores, nodes, random: mulberry(nodes) });
    const off = (100 * (commitsPerSec - run.commitsPerSec)) / run.commitsPerSec;
    report({
      ...{ id: "model_against_run", peer: `${String(nodes)} nodes, this machine`, unit: "ops/s", samples: 1 },
      median: commitsPerSec,
      note: `${off >= 0 ? "+" : ""}${off.toFixed(0)} % of the run; ${coresBusy.toFixed(1)} cores busy, ${othersCores.toFixed(1)} with other work`,
    });
  }
  for (const nodes of SIMULATED) {
    const figures = simulateCommits({ ...apart, nodes, random: mulberry(nodes) });
    report(modelRow({ nodes, load: `${String(callers)} callers each` }, figures));
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
