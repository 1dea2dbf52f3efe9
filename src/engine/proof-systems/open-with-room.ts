/** Opening a key that may be too large for one WebAssembly memory together with a workspace for each thread. */

/**
 * Opens a key with as many workspaces as there is memory for: half as many each time that it does not suffice.
 * @param open throws RangeError where a memory cannot hold the key with that number of workspaces
 * @throws RangeError when it does not even suffice for one
 */
export function openWithRoom<Opened>(workspaces: number, open: (workspaces: number) => Opened): Opened {
  try {
    return open(workspaces);
  } catch (error) {
    if (!(error instanceof RangeError) || workspaces <= 1) throw error;
    return openWithRoom(Math.floor(workspaces / 2), open);
  }
}
