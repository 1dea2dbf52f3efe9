/** Processor time of this process's threads and of PostgreSQL's processes (Linux): what steps cost, whoever else runs. */
import { readdirSync, readFileSync } from "node:fs";

/** Milliseconds of processor time so far, by thread. */
export type ThreadTimes = ReadonlyMap<string, number>;

/** What the threads of a node used. */
export interface NodeUsage {
  /** The thread that calls the store. */
  readonly callersMs: number;
  /** The thread that writes: of the others the busiest. */
  readonly writerMs: number;
  /** All others: mostly those that collect garbage and compile for the two. */
  readonly helpersMs: number;
}

/** Whether the system tells it. */
export const isTold = process.platform === "linux";

/** Returns what each thread of this process had so far. */
export function threadTimes(): ThreadTimes {
  return new Map(
    readdirSync("/proc/self/task").map((thread) => [thread, useOf(`/proc/self/task/${thread}`).computedMs]),
  );
}

/** Returns what this process's threads used between two looks. */
export function usageBetween(before: ThreadTimes, after: ThreadTimes): NodeUsage {
  const used = [...after].map(([thread, ms]) => [thread, ms - (before.get(thread) ?? 0)] as const);
  const main = String(process.pid);
  const others = used.filter(([thread]) => thread !== main).map(([, ms]) => ms);
  const writerMs = Math.max(0, ...others);
  return {
    callersMs: used.find(([thread]) => thread === main)?.[1] ?? 0,
    writerMs,
    helpersMs: others.reduce((sum, ms) => sum + ms, 0) - writerMs,
  };
}

/** What threads had so far, in milliseconds. */
export interface ThreadUse {
  readonly computedMs: number;
  /** Ready, while others had the cores. */
  readonly queuedMs: number;
}

/** Returns what the calling process's main thread had. */
export function mainUse(): ThreadUse {
  return useOf(`/proc/self/task/${String(process.pid)}`);
}

/** Returns what PostgreSQL's processes for a database had. @param pid of their parent */
export function databaseUse(pid: number, database: string): ThreadUse {
  const uses = processes()
    .filter((child) => child.parent === pid && read(`/proc/${String(child.pid)}/cmdline`).includes(` ${database} `))
    .map((child) => useOf(`/proc/${String(child.pid)}`));
  return {
    computedMs: uses.reduce((sum, { computedMs }) => sum + computedMs, 0),
    queuedMs: uses.reduce((sum, { queuedMs }) => sum + queuedMs, 0),
  };
}

/** What all processes of the machine, and this one with its descendants, had of the cores so far, in milliseconds. */
export interface MachineTimes {
  readonly allMs: number;
  readonly oursMs: number;
  readonly atMs: number;
}

export function machineTimes(): MachineTimes {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = read("/proc/stat")
    .split("\n", 1)
    .join("")
    .split(/ +/)
    .slice(1)
    .map(Number);
  const ours = new Set([process.pid]);
  let oursTicks = 0;
  // Parents have smaller numbers than their children, until the numbers begin anew.
  for (const { pid, parent, ticks } of processes()) {
    if (!ours.has(parent) && pid !== process.pid) continue;
    ours.add(pid);
    oursTicks += ticks;
  }
  const allTicks = user + nice + system + irq + softIrq + steal;
  return { allMs: allTicks * TICK_MS, oursMs: oursTicks * TICK_MS, atMs: performance.now() };
}

/** Returns how many cores others used between two looks. */
export function othersBetween(before: MachineTimes, after: MachineTimes): number {
  const othersMs = after.allMs - before.allMs - (after.oursMs - before.oursMs);
  return Math.max(0, othersMs) / (after.atMs - before.atMs);
}

/** Of `/proc/stat` and `/proc/<pid>/stat`: USER_HZ is 100 on all systems that Node runs on. */
const TICK_MS = 10;

interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

function processes(): ProcessTimes[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
    .map((pid) => {
      const stat = read(`/proc/${String(pid)}/stat`);
      // Fields behind the name, which stands in brackets and may hold anything (proc(5)).
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return { pid, parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
    })
    .filter(({ ticks }) => !Number.isNaN(ticks));
}

/** Empty for a process that has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function useOf(folder: string): ThreadUse {
  const [computedNs = 0, queuedNs = 0] = read(`${folder}/schedstat`).split(" ").map(Number);
  return { computedMs: computedNs / 1e6, queuedMs: queuedNs / 1e6 };
}
