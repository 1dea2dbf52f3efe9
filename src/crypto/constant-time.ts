/** Comparison of secrets and tags without a time that depends on where they differ. Lengths are public. */
import { timingSafeEqual } from "node:crypto";

/** True when both byte strings are equal; the time taken depends on the lengths only. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
