/**
 * The one source of time, so that tests can hold it still. Wall time is for records; monotonic time is for durations.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Milliseconds on a clock that never steps back; only differences have meaning. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** ISO 8601 with milliseconds and `Z`, the form of every timestamp on the wire and in the store. */
export function isoTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}
