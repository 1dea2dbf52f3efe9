/**
 * Lowers the operating system's priority of the calling thread, so that the event loop stays ahead of cryptographic
 * work. On Linux a thread has its own niceness; elsewhere, and where /proc is missing, this does nothing.
 */
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { workerData } from "node:worker_threads";

/**
 * Applies the niceness in workerData. Call it once per thread; undoing it would need a privilege.
 */
export function applyThreadNiceness(): void {
  const niceness = workerData as { niceness?: unknown } | readonly unknown[] | null | undefined;
  const value = findNiceness(niceness);
  if (value === undefined || value <= 0 || process.platform !== "linux") return;
  try {
    const threadId = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(threadId, Math.min(19, value));
  } catch {
    // A sandbox without /proc: the thread runs at normal priority, which costs latency and nothing else.
  }
}

/** Piscina puts the pool's workerData into a list; a plain worker has it as it is. */
function findNiceness(data: unknown): number | undefined {
  if (Array.isArray(data)) return data.map(findNiceness).find((value) => value !== undefined);
  if (typeof data === "object" && data !== null && "niceness" in data && typeof data.niceness === "number")
    return data.niceness;
  return undefined;
}
