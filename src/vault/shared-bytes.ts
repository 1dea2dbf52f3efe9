/** Secrets in shared memory: crossing to a worker makes no copy, and the worker can overwrite the caller's bytes. */

/** Copies bytes into shared memory; the caller wipes both. */
export function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
