/** Collects the steps of a proof (threads/thread-team.ts), with the sums that commit to polynomials. */
import type { MsmLists } from "../msm/msm-lists.js";
import type { Msm } from "../msm/msm.js";
import type { TeamStep } from "../threads/thread-team.js";

/** One sum over points of the key; addresses as in msm/msm.ts. */
export interface CommitmentSum {
  readonly points: number;
  readonly scalars: number;
  readonly indices: number;
  readonly count: number;
  readonly lists: MsmLists;
  /** Address of the affine sum. */
  readonly target: number;
}

/** Steps are named by their number, which the steps after them give. */
export class StepList {
  readonly steps: TeamStep[] = [];
  readonly #msm: Msm;

  constructor(msm: Msm) {
    this.#msm = msm;
  }

  /** Adds a step of a known number of tasks. */
  add(name: string, after: readonly number[], count: number, run: (task: number) => void): number {
    return this.steps.push({ name, after, count: () => count, run }) - 1;
  }

  /** Adds three steps for sums that are computed together; the last writes the commitments. */
  addSums(name: string, after: readonly number[], sums: readonly CommitmentSum[]): number {
    const prepared = this.add(name, after, sums.length, (task) => {
      const sum = sums[task];
      if (sum !== undefined) this.#msm.prepare(sum, sum.lists);
    });
    const parts = this.steps.push({
      name,
      after: [prepared],
      count: () => sums.reduce((total, { lists }) => total + this.#msm.partCount(lists), 0),
      run: (task) => this.#runPart(sums, task),
    });
    return this.add(name, [parts - 1], sums.length, (task) => {
      const sum = sums[task];
      if (sum !== undefined) this.#msm.finish(sum.lists, sum.target);
    });
  }

  #runPart(sums: readonly CommitmentSum[], task: number): void {
    let part = task;
    for (const { lists } of sums) {
      const count = this.#msm.partCount(lists);
      if (part < count) {
        this.#msm.runPart(lists, part);
        return;
      }
      part -= count;
    }
  }
}
