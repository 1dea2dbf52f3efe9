/**
 * The layout of snarkjs' `.zkey` file for Groth16 (iden3 binary file, version 1), shared by its reader and its writer.
 *
 *   "zkey" || version u32 = 1 || sections u32 || { type u32 || bytes u64 || content } ...
 *
 * All integers are little-endian. Points are affine in Montgomery form, little-endian, x then y, c0 before c1, infinity
 * as zeros.
 */
import type { CurveParameters } from "../curves/curve-parameters.js";

export const ZKEY_MAGIC = 0x79656b7a; // "zkey" read as a little-endian word
export const ZKEY_VERSION = 1;
export const GROTH16_PROTOCOL = 1;

export const ZKEY_SECTION = {
  protocol: 1,
  header: 2,
  ic: 3,
  coefficients: 4,
  a: 5,
  b1: 6,
  b2: 7,
  c: 8,
  h: 9,
  contributions: 10,
} as const;

/** matrix u32 || constraint u32 || wire u32 || coefficient * 2^512 mod r (32) */
export const ZKEY_COEFFICIENT_BYTES = 44;

/** Domains up to 2^22: more needs more than half of a WebAssembly memory (32-bit, 2 GiB) for the transforms alone. */
export const DOMAIN_POWER_MAX = 22;

export interface ZkeyCounts {
  readonly wireCount: number;
  readonly publicCount: number;
  readonly domainPower: number;
}

/** Returns the byte offsets inside the header section. */
export function headerOffsets(
  curve: CurveParameters,
): Record<"q" | "r" | "counts" | "alphaG1" | "betaG1" | "betaG2" | "gammaG2" | "deltaG1" | "deltaG2" | "end", number> {
  const g1 = 2 * curve.fqBytes,
    g2 = 4 * curve.fqBytes;
  const q = 4,
    r = q + curve.fqBytes + 4,
    counts = r + curve.frBytes;
  const alphaG1 = counts + 12,
    betaG1 = alphaG1 + g1,
    betaG2 = betaG1 + g1,
    gammaG2 = betaG2 + g2,
    deltaG1 = gammaG2 + g2,
    deltaG2 = deltaG1 + g1;
  return { q, r, counts, alphaG1, betaG1, betaG2, gammaG2, deltaG1, deltaG2, end: deltaG2 + g2 };
}

/** Returns the lengths in bytes of the sections that the counts determine. */
export function sectionBytes(
  counts: ZkeyCounts,
  curve: CurveParameters,
): Record<"ic" | "a" | "b1" | "b2" | "c" | "h", number> {
  const g1 = 2 * curve.fqBytes;
  return {
    ic: (counts.publicCount + 1) * g1,
    a: counts.wireCount * g1,
    b1: counts.wireCount * g1,
    b2: counts.wireCount * 2 * g1,
    c: (counts.wireCount - counts.publicCount - 1) * g1,
    h: 2 ** counts.domainPower * g1,
  };
}
