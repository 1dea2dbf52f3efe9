/** Opening a key that may be too large for one memory together with a workspace for each thread. */
import type { OpenKeyPlaces, OpenKeyRoom } from "../protocol.js";

/**
 * Returns the room to try in turn: all workspaces with the tables, then without, half as many each time, then one with
 * threads that only help it, and at last one alone.
 */
export function roomToTry({ workspaces, tableBytesMax = 0 }: Omit<OpenKeyRoom, "helpers">): OpenKeyRoom[] {
  if (tableBytesMax > 0) return [{ workspaces, tableBytesMax }, ...roomToTry({ workspaces })];
  const halves = (from: number, least: number): number[] =>
    from < least ? [] : [from, ...halves(Math.floor(from / 2), least)];
  return [
    ...halves(workspaces, 2).map((count) => ({ workspaces: count })),
    ...halves(workspaces - 1, 1).map((helpers) => ({ workspaces: 1, helpers })),
    { workspaces: 1 },
  ];
}

/**
 * Opens a key with as much of the wanted room as there is memory for.
 * @param open throws RangeError where a memory cannot hold the key with this room
 * @throws RangeError when it does not even suffice for one workspace
 */
export function openWithRoom<Opened>(wanted: OpenKeyRoom, open: (room: OpenKeyRoom) => Opened): Opened {
  const { tableBytesMax = 0, ...places } = wanted;
  const [, ...fewer] = roomToTry(places);
  const withoutTables = places.workspaces > 1 ? [places, ...fewer] : helpersToTry(places);
  const tries = tableBytesMax > 0 ? [wanted, ...withoutTables] : withoutTables;
  let failure: unknown;
  for (const room of tries) {
    try {
      return open(room);
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
