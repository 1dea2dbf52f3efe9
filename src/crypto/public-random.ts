/**
 * Random bytes that will be public, such as nonces: many at once from the system's generator, which costs little more
 * than a few. Not for keys: what waits here lies in plain memory.
 */
import { randomFillSync } from "node:crypto";

const pool = Buffer.alloc(4096);
let used = pool.length;

/** Fills an array of at most 4096 bytes. No byte is given twice. */
export function fillPublicRandom(into: Uint8Array): void {
  if (into.length > pool.length) throw new RangeError("too many bytes at once");
  if (used + into.length > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += pool.copy(into, 0, used, used + into.length);
}
