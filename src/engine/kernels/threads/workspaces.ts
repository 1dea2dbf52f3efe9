/** The workspaces of a resident key, which threads take and give back through flags in the key's shared memory. */

/** What a resident key says of its workspaces. */
interface KeyWorkspaces {
  readonly memory: WebAssembly.Memory;
  /** Address of one 32-bit flag per workspace: 1 while a thread has it. */
  readonly workspaceFlags: number;
  readonly workspaces: readonly { readonly start: number; readonly end: number }[];
}

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
