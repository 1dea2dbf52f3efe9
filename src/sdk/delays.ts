/** Waiting: between attempts, for an answer, for long work. Every wait ends when the caller's signal aborts. */
import { TimeoutError } from "./errors.js";

const FIRST_DELAY_MS = 250;
const DELAY_MS_MAX = 8000;
const RANDOM_MAX = 2 ** 32;

/** Returns the wait before an attempt: twice as long each time, between half of it and all, so that callers spread. */
export function backoffMs(attempt: number): number {
  const whole = Math.min(DELAY_MS_MAX, FIRST_DELAY_MS * 2 ** attempt);
  const [random = 0] = globalThis.crypto.getRandomValues(new Uint32Array(1));
  return whole / 2 + (whole / 2) * (random / RANDOM_MAX);
}

/** Resolves after a time, and rejects with the signal's reason when that aborts first. */
export async function delay(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** How long work is waited for. */
export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Ten minutes unless given; then TimeoutError. */
  readonly timeoutMs?: number;
}

const WAIT_MS = 600_000;
const POLL_MS_FIRST = 200;
const POLL_MS_MAX = 2000;

/**
 * Asks again and again until an answer is final, at first often and then every two seconds.
 * @param ask returns the answer and whether it is final
 * @throws TimeoutError
 */
export async function waitFor<T>(
  what: string,
  ask: (signal?: AbortSignal) => Promise<{ readonly value: T; readonly isFinal: boolean }>,
  { signal, timeoutMs = WAIT_MS }: WaitOptions,
): Promise<T> {
  const deadlineMs = Date.now() + timeoutMs;
  for (let pollMs = POLL_MS_FIRST; ; pollMs = Math.min(POLL_MS_MAX, pollMs * 1.5)) {
    const { value, isFinal } = await ask(signal);
    if (isFinal) return value;
    const leftMs = deadlineMs - Date.now();
    if (leftMs <= 0) throw new TimeoutError(`${what} took longer than ${String(timeoutMs / 1000)} s`);
    await delay(Math.min(pollMs, leftMs), signal);
  }
}
