/** Comparison of secrets and tags without a time that depends on where they differ. Lengths are public. */
import { timingSafeEqual } from "node:crypto";

/**
 * Returns whether two byte strings are equal, in a time that depends only on their lengths.
 * @example if (!equalBytes(mac, expected)) throw new AuthenticationFailure();
 */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
