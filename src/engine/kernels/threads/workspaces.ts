/** The workspaces of a resident key, which threads take and give back through flags in the key's shared memory. */

import type { SharedKey } from "./shared-key.js";

/** What a resident key says of its workspaces. */
type KeyWorkspaces = Pick<SharedKey, "memory" | "workspaceFlags" | "workspaces" | "helperPlaces">;

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
  return takeFree(new Int32Array(memory.buffer, workspaceFlags, workspaces.length), workspaces);
}

/**
 * Takes the scratch of a helper: a place of its own where the key has such, else that of a free workspace.
 * @param scratchOf where the scratch of a workspace begins
 */
export function takeHelperPlace(key: KeyWorkspaces, scratchOf: (start: number) => number): Workspace | undefined {
  const { memory, workspaceFlags, workspaces, helperPlaces = [] } = key;
  if (helperPlaces.length > 0) {
    const at = workspaceFlags + 4 * workspaces.length;
    return takeFree(new Int32Array(memory.buffer, at, helperPlaces.length), helperPlaces);
  }
  const workspace = takeWorkspace(key);
  return workspace === undefined ? undefined : { ...workspace, start: scratchOf(workspace.start) };
}

function takeFree(flags: Int32Array, places: KeyWorkspaces["workspaces"]): Workspace | undefined {
  for (const [index, { start, end }] of places.entries()) {
    if (Atomics.compareExchange(flags, index, 0, 1) === 0)
      return { index, start, end, release: () => Atomics.store(flags, index, 0) };
  }
  return undefined;
}
