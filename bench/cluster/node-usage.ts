/** What a node's threads use for what it writes, and what the machine's other work takes meanwhile. */
import type { NodeStore } from "../../src/platform/cluster/cluster-store.js";
import type { Run } from "./load.js";
import { isTold, machineTimes, othersBetween, threadTimes, usageBetween, type NodeUsage } from "./processor-time.js";

/** A run, and how many cores the machine's other work used meanwhile, where the system tells. */
export interface HeldRun extends Run {
  readonly othersCores: number;
}

/** Looks at the machine while something runs. */
export async function held(action: () => Promise<Run>): Promise<HeldRun> {
  const before = isTold ? machineTimes() : undefined;
  const run = await action();
  return { ...run, othersCores: before === undefined ? 0 : othersBetween(before, machineTimes()) };
}

/** What the threads of a node use for each group that it writes. */
export class GroupUsage {
  #groups = 0;
  #used: NodeUsage = { callersMs: 0, writerMs: 0, helpersMs: 0 };

  /** Of all groups so far, on average. */
  get callersMs(): number {
    return this.#used.callersMs / this.#groups;
  }

  get writerMs(): number {
    return this.#used.writerMs / this.#groups;
  }

  /** What the other threads take for each millisecond of the two. */
  get helpers(): number {
    const { callersMs, writerMs, helpersMs } = this.#used;
    return helpersMs / (callersMs + writerMs);
  }

  /** Runs something that a node of this process does. */
  async of<R>(node: NodeStore, action: () => Promise<R>): Promise<R> {
    const [before, from] = [isTold ? threadTimes() : new Map<string, number>(), node.position];
    const done = await action();
    const used = isTold ? usageBetween(before, threadTimes()) : this.#used;
    const { callersMs, writerMs, helpersMs } = this.#used;
    this.#groups += node.position - from;
    this.#used = {
      callersMs: callersMs + used.callersMs,
      writerMs: writerMs + used.writerMs,
      helpersMs: helpersMs + used.helpersMs,
    };
    return done;
  }
}

/** Of groups of one commit, and of many. */
export interface OwnUsage {
  readonly one: GroupUsage;
  readonly many: GroupUsage;
}
