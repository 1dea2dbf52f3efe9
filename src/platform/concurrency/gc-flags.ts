/**
 * How V8 collects garbage in a server whose threads outnumber the cores. By default a short collection is shared with
 * helper threads and waits for them; where all cores are busy a helper gets its turn only at the scheduler's next tick,
 * so that a pause of 0.3 ms becomes one of 4 ms and more. With so little that survives there is nothing worth sharing.
 */
import { setFlagsFromString } from "node:v8";

/** Young generation only: old objects are still marked beside the program, where nobody waits for the helpers. */
const FLAGS = ["--no-parallel-scavenge", "--no-concurrent-array-buffer-sweeping"];

/** Holds for all threads of the process, from their next collection on. */
export function collectWithoutHelpers(): void {
  for (const flag of FLAGS) setFlagsFromString(flag);
}
