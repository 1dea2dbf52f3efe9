/** What a step of a commit costs in processor time: by the number of commits, and by how long its like was not done. */

/** Processor time of one step, in milliseconds. */
export interface StepCost {
  readonly nodeMs: number;
  /** Of PostgreSQL. */
  readonly databaseMs: number;
}

/** What steps cost with groups of one size. */
export interface GroupCosts {
  /** Commits of a group. */
  readonly group: number;
  /** Writing a group of one's own: decided, sent, added to the log and applied. */
  readonly own: StepCost;
  /** Reading one row of another node from the log. */
  readonly read: StepCost;
  /** Checking and applying it, on the node. */
  readonly applyMs: number;
}

export interface StepCosts {
  readonly one: GroupCosts;
  readonly many: GroupCosts;
  /** Taking the head and letting it go. */
  readonly head: StepCost;
  /** A question whose answer has no row of the log. */
  readonly asked: StepCost;
  /** What such a question, and a group that is written, wait for while nobody computes: one is drawn each time. */
  readonly askWaitMs: readonly number[];
  readonly syncMs: readonly number[];
  /** How many times as much a step costs after a pause, ascending; after longer ones as after the longest. */
  readonly pauses: readonly Pause[];
  /** The same where others use the cores during the pause. */
  readonly crowdedPauses: readonly Pause[];
}

export interface Pause {
  readonly pauseMs: number;
  /** At least 1. */
  readonly node: number;
  readonly database: number;
}

/** Returns what a number of commits costs, on the line through what one costs and what many do. */
export function costOf(
  commits: number,
  { one, many, group }: { readonly one: number; readonly many: number; readonly group: number },
): number {
  return group === 1 ? one : one + ((commits - 1) / (group - 1)) * Math.max(0, many - one);
}

/** Who does one kind of step, and loses of what it needs in caches while it does not. */
export class Actor {
  /** When it last has. */
  lastMs = 0;

  /** Returns how many times as much the next step costs. */
  slowdown(nowMs: number, pauses: readonly Pause[], where: "node" | "database"): number {
    const pausedMs = nowMs - this.lastMs;
    const next = pauses.findIndex(({ pauseMs }) => pauseMs > pausedMs);
    const [from, to] = [pauses.at(next === -1 ? -1 : next - 1), pauses.at(next)];
    if (from === undefined || to === undefined) return 1;
    if (next <= 0) return (next === 0 ? to : from)[where];
    const share = (pausedMs - from.pauseMs) / (to.pauseMs - from.pauseMs);
    return from[where] + share * (to[where] - from[where]);
  }
}
