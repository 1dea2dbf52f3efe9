/** Opening a key that may be too large for one memory together with a workspace for each thread. */
import type { OpenKeyPlaces } from "../protocol.js";

/**
 * Returns the places to try in turn: all workspaces, half as many each time, then one with threads that only help it,
 * and at last one alone.
 */
export function placesToTry({ workspaces }: Pick<OpenKeyPlaces, "workspaces">): OpenKeyPlaces[] {
  const halves = (from: number, least: number): number[] =>
    from < least ? [] : [from, ...halves(Math.floor(from / 2), least)];
  return [
    ...halves(workspaces, 2).map((count) => ({ workspaces: count })),
    ...halves(workspaces - 1, 1).map((helpers) => ({ workspaces: 1, helpers })),
    { workspaces: 1 },
  ];
}

/**
 * Opens a key with as many places as there is memory for.
 * @param open throws RangeError where a memory cannot hold the key with these places
 * @throws RangeError when it does not even suffice for one workspace
 */
export function openWithRoom<Opened>(wanted: OpenKeyPlaces, open: (places: OpenKeyPlaces) => Opened): Opened {
  const [, ...fewer] = placesToTry(wanted);
  const tries = wanted.workspaces > 1 ? [wanted, ...fewer] : helpersToTry(wanted);
  let failure: unknown;
  for (const places of tries) {
    try {
      return open(places);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      failure = error;
    }
  }
  throw failure;
}

/** One workspace with helpers, with half as many each time, and alone. */
function helpersToTry({ workspaces, helpers = 0 }: OpenKeyPlaces): OpenKeyPlaces[] {
  if (helpers === 0) return [{ workspaces }];
  return [{ workspaces, helpers }, ...helpersToTry({ workspaces, helpers: Math.floor(helpers / 2) })];
}
