/** The workspaces of a resident key, which threads take and give back through flags in the key's shared memory. */

import type { SharedKey } from "./shared-key.js";

/** What a resident key says of its workspaces. */
type KeyWorkspaces = Pick<SharedKey, "memory" | "workspaceFlags" | "workspaces">;

/** A workspace that this thread has taken: bytes start to end - 1 of the key's memory. */
export interface Workspace {
  readonly index: number;
  readonly start: number;
  readonly end: number;
  /** Gives it back. */
  release(): void;
}

/** Takes a free workspace, which no other thread then takes; undefined when there is none. */
export function takeWorkspace({ memory, workspaceFlags, workspaces }: KeyWorkspaces): Workspace | undefined {
  const flags = new Int32Array(memory.buffer, workspaceFlags, workspaces.length);
  for (const [index, { start, end }] of workspaces.entries()) {
    if (Atomics.compareExchange(flags, index, 0, 1) === 0)
      return { index, start, end, release: () => Atomics.store(flags, index, 0) };
  }
  return undefined;
}
