/** When a message that was not taken is sent again: at growing distances, for about three days. */
import { randomInt } from "node:crypto";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Pauses after the attempts, 71 h 36 min 5 s together. */
const PAUSES_MS: readonly number[] = [
  5 * SECOND,
  MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  18 * HOUR,
  22 * HOUR,
];
/** A pause is up to a tenth shorter, so that what failed at once does not come back at once. */
const JITTER_PERMILLE = 100;

/** Attempts of one message. */
export const TRIES_MAX = PAUSES_MS.length + 1;

/**
 * Returns the pause before the next attempt in milliseconds; undefined when the one just made was the last.
 * @param tries attempts that were made, at least 1
 */
export function pauseMs(tries: number): number | undefined {
  const pause = PAUSES_MS[tries - 1];
  return pause === undefined ? undefined : Math.round((pause * (1000 - randomInt(JITTER_PERMILLE + 1))) / 1000);
}
