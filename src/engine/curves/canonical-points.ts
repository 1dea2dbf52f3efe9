/** Whether points are written in their one spelling: a coordinate plus q is the same number, and passes as it. */
import type { CurveParameters } from "./curve-parameters.js";

const WORD_BYTES = 4;

/**
 * Returns whether all coordinates are below q. About 10 ns for each.
 * @param points in the form of zkey files; its length is a multiple of a coordinate's
 */
export function areCanonical(points: Uint8Array, { q, fqBytes }: CurveParameters): boolean {
  const words = Array.from({ length: fqBytes / WORD_BYTES }, (_, i) => Number((q >> BigInt(32 * i)) & 0xffffffffn));
  const view = new DataView(points.buffer, points.byteOffset, points.length);
  for (let at = 0; at < points.length; at += fqBytes) if (!isBelow(view, at, words)) return false;
  return true;
}

/** Compares word by word, the highest first: nearly always one. */
function isBelow(view: DataView, at: number, limit: readonly number[]): boolean {
  for (let i = limit.length - 1; i >= 0; i -= 1) {
    const [own, most] = [view.getUint32(at + WORD_BYTES * i, true), limit[i] ?? 0];
    if (own !== most) return own < most;
  }
  return false;
}
