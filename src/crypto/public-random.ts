/**
 * Random bytes that will be public, such as nonces: taken from the system's generator 4096 at a time, which costs
 * little more than a few. Not for keys: unused bytes lie in plain memory.
 */
import { randomFillSync } from "node:crypto";

/** Bytes of the generator and how many of them are used; module state, so that all callers of a thread share them. */
const pool = Buffer.alloc(4096);
let used = pool.length;

/**
 * Fills an array with fresh random bytes; no byte is used twice.
 * @param into at most 4096 bytes
 * @throws RangeError for more
 */
export function fillPublicRandom(into: Uint8Array): void {
  if (into.length > pool.length) throw new RangeError("too many bytes at once");
  if (used + into.length > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += pool.copy(into, 0, used, used + into.length);
}
