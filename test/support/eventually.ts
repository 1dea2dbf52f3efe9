/** Waiting for an event that cannot be subscribed to, such as the end of another process. */
import { vi } from "vitest";

/** Short enough not to slow a test down, long enough to leave the processor to what is waited for. */
const INTERVAL_MS = 10;
const TIMEOUT_MS = 120_000;

/**
 * Repeats an assertion until it holds, and returns its value. Fails with the last failure of the assertion after two minutes.
 */
export async function eventually<T>(
  assertion: () => T | Promise<T>,
  options: { readonly timeoutMs?: number } = {},
): Promise<T> {
  return await vi.waitFor(assertion, { interval: INTERVAL_MS, timeout: options.timeoutMs ?? TIMEOUT_MS });
}
