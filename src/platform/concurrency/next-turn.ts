/** Waiting for the event loop. */

/** Resolves when the callbacks of the present turn of the event loop, and what they queued, have run. */
export async function nextTurn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
