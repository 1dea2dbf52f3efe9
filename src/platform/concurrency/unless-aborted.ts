/** Waits for work that a signal does not end, such as work that others wait for too. */

/**
 * Returns what the work returns, unless the signal fires first. The work itself goes on; when it fails after the
 * signal, nobody is told.
 * @throws the signal's reason, at once when it has fired already; what the work throws
 */
export async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return await work;
  return await new Promise<Value>((resolve, reject) => {
    const leave = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    void work.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", leave);
    });
  });
}
