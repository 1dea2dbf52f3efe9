/** The one source of time, so that tests can stop it. Wall time is for records, monotonic time for durations. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Milliseconds on a clock that never goes back; only differences have a meaning. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * Returns ISO 8601 with milliseconds and `Z`, the form of every timestamp on the wire and in the store.
 * @param ms milliseconds since the Unix epoch
 */
export function isoTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}
