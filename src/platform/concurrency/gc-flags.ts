/**
 * How V8 collects garbage in a server that has more threads than cores. By default a collection of young objects is
 * shared with helper threads and waits for them. Where all cores are busy, a helper runs only at the scheduler's next
 * tick, so that a pause of 0.3 ms becomes one of 4 ms and more. So few young objects survive here that sharing the work
 * saves nothing. Up to Node 24 the flags keep the helpers out. On Node 26 they allow one task for each collection, but
 * V8 reports that helpers still do a part of it, with `--single-threaded-gc` too.
 */
import { setFlagsFromString } from "node:v8";

/** Young generation only: old objects are still marked concurrently, where nothing waits for the helpers. */
const FLAGS = ["--no-parallel-scavenge", "--no-concurrent-array-buffer-sweeping"];

/** Stops sharing the collection of young objects in every thread of the process, from its next collection on. */
export function applyGcFlags(): void {
  for (const flag of FLAGS) setFlagsFromString(flag);
}
