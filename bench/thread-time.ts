/**
 * Processor time by thread of a process (Linux): what a thread does with its time, whatever else runs on the machine.
 */
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/**
 * Milliseconds of processor time that the threads of a niceness had so far; undefined where the system does not tell.
 * @param niceness by which the threads of a lane are known: all have the same name
 */
export function threadMs({ pid }: ChildProcess, niceness: number): number | undefined {
  if (pid === undefined || process.platform !== "linux") return undefined;
  const folder = `/proc/${String(pid)}/task`;
  let totalNs = 0;
  for (const thread of readdirSync(folder)) {
    // Behind the name, which stands in brackets and may hold anything, niceness is the 17th field (proc(5)).
    const stat = readFileSync(`${folder}/${thread}/stat`, "utf8");
    if (Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]) !== niceness) continue;
    totalNs += Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]);
  }
  return totalNs / 1e6;
}

/**
 * Milliseconds of processor time that a process's main thread had so far, the kernel's work for it included; undefined
 * where the system does not tell.
 */
export function mainThreadMs(pid: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  // Its number is the process's (proc(5)).
  return Number(readFileSync(`/proc/${String(pid)}/task/${String(pid)}/schedstat`, "utf8").split(" ")[0]) / 1e6;
}
