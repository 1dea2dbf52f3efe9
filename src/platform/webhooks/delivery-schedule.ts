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
/**
 * The longest pause that a receiver may ask for. The first five of the schedule are shorter, so that a message still
 * ends within a few hours more than three days.
 */
const RETRY_AFTER_MS_MAX = 2 * HOUR;
/** A pause is up to a tenth shorter, so that what failed at once does not come back at once. */
const JITTER_PERMILLE = 100;

/** The form of dates that senders must use (RFC 9110 section 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/;

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

/**
 * Returns the pause that `Retry-After` asks for in milliseconds (RFC 9110 section 10.2.3), two hours at most; undefined
 * for a text that is neither seconds nor a date, and for a time that is over.
 */
export function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^[0-9]{1,10}$/.test(text) ? Number(text) * SECOND : HTTP_DATE.test(text) ? Date.parse(text) - nowMs : NaN;
  return ms > 0 ? Math.min(ms, RETRY_AFTER_MS_MAX) : undefined;
}
