/**
 * The layout of snarkjs' `.zkey` file for FFLONK, shared by its reader and its writer.
 *
 *   "zkey" || version u32 = 1 || sections u32 || { type u32 || bytes u64 || content } ...
 *   1: protocol u32 = 10
 *   2: fqBytes u32 || q || frBytes u32 || r || wires u32 || public u32 || n u32 || additions u32 || gates u32
 *      || k1 || k2 || w3 || w4 || w8 || wr || tau in G2 || C0
 *   3: per addition: left u32 || right u32 || factor of each     4, 5, 6: per gate its wire a, b, c, u32
 *   7 to 14: the selectors l, r, m, o, k and the permutation's columns: n coefficients, then 4 n values
 *   15: the first Lagrange polynomials, in the same form          16: 9 n + 18 powers     17: C0's 8 n coefficients
 *
 * All integers are little-endian; points and elements of the field are in Montgomery form, but for q and r.
 */
import { BN254 } from "../curves/bn254.js";
import { encodeG1, encodeG2 } from "../curves/points.js";
import { COLUMN_FACTORS } from "../plonk/key.js";
import {
  VALUES_PER_COEFFICIENT,
  integerBytes,
  montgomeryBytes,
  u32,
  zkeyHead,
  zkeySection,
} from "../plonk/zkey/zkey-parts.js";
import type { FflonkVerifyingKey } from "./fflonk-values.js";
import { fflonkRoots } from "./roots.js";

export const FFLONK_PROTOCOL = 10;

export const FFLONK_SECTION = {
  ...{ protocol: 1, header: 2, additions: 3, a: 4, b: 5, c: 6 },
  ...{ l: 7, r: 8, m: 9, o: 10, k: 11, s1: 12, s2: 13, s3: 14 },
  ...{ lagrange: 15, powers: 16, c0: 17 },
} as const;

const { fqBytes, frBytes } = BN254;

/** Byte offsets inside the header section. */
export const HEADER_AT = {
  q: 4,
  r: 8 + fqBytes,
  counts: 8 + fqBytes + frBytes,
  constants: 28 + fqBytes + frBytes,
  tauG2: 28 + fqBytes + 7 * frBytes,
  c0: 28 + 5 * fqBytes + 7 * frBytes,
  end: 28 + 7 * fqBytes + 7 * frBytes,
} as const;

/** Counts of a circuit's wires, additions among them, and of its gates. */
export interface FflonkCounts {
  readonly wireCount: number;
  readonly additionCount: number;
  readonly gateCount: number;
}

/** Returns the bytes of a file but for its additions and maps, which are few beside its polynomials. */
export function zkeyBytes({ domainPower, publicCount }: { domainPower: number; publicCount: number }): number {
  const size = 2 ** domainPower;
  const polynomials = 8 + Math.max(1, publicCount);
  const perPoint = (1 + VALUES_PER_COEFFICIENT) * polynomials * frBytes + 9 * 2 * fqBytes + 8 * frBytes;
  return perPoint * size;
}

/** Returns the content of the header. */
export function headerContent(key: FflonkVerifyingKey, counts: FflonkCounts): Uint8Array {
  return Buffer.concat([
    u32(fqBytes),
    integerBytes(BN254.q, fqBytes),
    u32(frBytes),
    integerBytes(BN254.r, frBytes),
    u32(counts.wireCount, key.publicCount, 2 ** key.domainPower, counts.additionCount, counts.gateCount),
    ...headerConstants(key.domainPower).map((value) => montgomeryBytes(value, BN254)),
    encodeG2(key.tauG2, BN254),
    encodeG1(key.c0, BN254),
  ]);
}

/**
 * Returns a file of the part of a key that a verifier has, protocol and header, which snarkjs' exports read.
 */
export function verifierFile(key: FflonkVerifyingKey): Uint8Array {
  // A verifier takes none of the counts of wires and gates.
  const header = headerContent(key, { wireCount: 0, additionCount: 0, gateCount: 0 });
  const protocol = zkeySection(FFLONK_SECTION.protocol, u32(FFLONK_PROTOCOL));
  return Uint8Array.from(Buffer.concat([zkeyHead(2), protocol, zkeySection(FFLONK_SECTION.header, header)]));
}

/** Returns the numbers of the field in a header, in order. */
export function headerConstants(domainPower: number): bigint[] {
  const { w3, w4, w8, wr } = fflonkRoots(domainPower);
  return [COLUMN_FACTORS.k1, COLUMN_FACTORS.k2, w3, w4, w8, wr];
}
