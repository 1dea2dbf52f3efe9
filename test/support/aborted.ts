/**
 * Rejects when the signal fires, at once when it has fired already. What stands in for long work waits on it: an event
 * listener alone would wait for ever on a signal that fired before the work was begun.
 */
export async function untilAborted(signal: AbortSignal): Promise<never> {
  return await new Promise((_resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
