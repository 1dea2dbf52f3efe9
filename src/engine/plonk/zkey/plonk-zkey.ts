/**
 * The layout of snarkjs' `.zkey` file for PLONK, for its writer (kernels/zkey/write-plonk-zkey.ts), and its reader,
 * which takes what does not follow from the circuit: the powers of the reference string, and what the header claims.
 *
 *   1: protocol u32 = 2
 *   2: fqBytes u32 || q || frBytes u32 || r || wires u32 || public u32 || n u32 || additions u32 || gates u32
 *      || k1 || k2 || commitments to m, l, r, o, k, s1, s2, s3 || tau in G2
 *   3: per addition: left u32 || right u32 || factor of each     4, 5, 6: per gate its wire a, b, c, u32
 *   7 to 11: the selectors m, l, r, o, k: n coefficients, then 4 n values     12: the three columns of the permutation
 *   13: the first Lagrange polynomials, in the same form         14: tau^0 .. tau^(n + 5) in G1
 *
 * Points and elements of the field are in Montgomery form, infinity as zeros.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { decodeG2, encodeG1, encodeG2 } from "../../curves/points.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import { readBigIntLE } from "../../field/bytes.js";
import { EXTRA_POWERS } from "../../kernels/plonk/resident-circuit.js";
import { COLUMN_FACTORS, DOMAIN_POWER_MIN } from "../key.js";
import type { PlonkVerifyingKey } from "../key.js";
import { SELECTORS } from "../plonk-gates.js";
import { VALUES_PER_COEFFICIENT, ZkeyFormatError, integerBytes, montgomeryBytes } from "./zkey-parts.js";
import { readZkeySections, u32, wordAt } from "./zkey-parts.js";

export const PLONK_PROTOCOL = 2;

export const PLONK_SECTION = {
  ...{ protocol: 1, header: 2, additions: 3, a: 4, b: 5, c: 6 },
  ...{ m: 7, l: 8, r: 9, o: 10, k: 11 },
  ...{ permutation: 12, lagrange: 13, powers: 14 },
} as const;

/** Sections of a file. */
export const PLONK_SECTION_COUNT = Object.keys(PLONK_SECTION).length;

/** Counts of a circuit, as the header has them. */
export interface PlonkZkeyCounts {
  /** Additions among them. */
  readonly wireCount: number;
  readonly publicCount: number;
  readonly domainPower: number;
  readonly additionCount: number;
  readonly gateCount: number;
}

/** What of a file does not follow from its circuit. */
export interface PlonkZkey {
  readonly counts: PlonkZkeyCounts;
  /** tau^0 to tau^(n + 5), a view of the file; nothing is checked but the length. */
  readonly powers: Uint8Array;
  /** On the twist. */
  readonly tauG2: G2Point;
}

const COMMITMENT_COUNT = SELECTORS.length + 3;

/** Returns the content of the header. */
export function plonkHeaderContent(
  key: PlonkVerifyingKey,
  counts: PlonkZkeyCounts,
  curve: CurveParameters,
): Uint8Array {
  const { fqBytes, frBytes } = curve;
  const point = (value: G1Point | undefined): Uint8Array =>
    value === undefined ? new Uint8Array(2 * fqBytes) : encodeG1(value, curve);
  return Buffer.concat([
    u32(fqBytes),
    integerBytes(curve.q, fqBytes),
    u32(frBytes),
    integerBytes(curve.r, frBytes),
    u32(counts.wireCount, counts.publicCount, 2 ** counts.domainPower, counts.additionCount, counts.gateCount),
    ...[COLUMN_FACTORS.k1, COLUMN_FACTORS.k2].map((value) => montgomeryBytes(value, curve)),
    ...SELECTORS.map((name) => point(key.selectors[name])),
    ...[key.s1, key.s2, key.s3].map(point),
    encodeG2(key.tauG2, curve),
  ]);
}

/** Returns the bytes of a file but for its additions and maps, which are few beside its polynomials. */
export function plonkZkeyBytes(
  { domainPower, publicCount }: { readonly domainPower: number; readonly publicCount: number },
  { fqBytes, frBytes }: CurveParameters,
): number {
  const polynomials = COMMITMENT_COUNT + Math.max(1, publicCount);
  return 2 ** domainPower * ((1 + VALUES_PER_COEFFICIENT) * polynomials * frBytes + 2 * fqBytes);
}

/**
 * Reads a file as far as it does not follow from a circuit.
 * @throws ZkeyFormatError when it is truncated, of another scheme or curve, or its lengths do not belong together
 */
export function readPlonkZkey(bytes: Uint8Array, curve: CurveParameters): PlonkZkey {
  const { fqBytes, frBytes } = curve;
  const sections = readZkeySections(bytes);
  const content = (name: keyof typeof PLONK_SECTION): Uint8Array => {
    const found = sections.get(PLONK_SECTION[name]);
    if (found === undefined) throw new ZkeyFormatError(`section ${name} is missing`);
    return found;
  };
  const protocol = content("protocol");
  if (protocol.length !== 4 || wordAt(protocol, 0) !== PLONK_PROTOCOL)
    throw new ZkeyFormatError("the file is of another proving scheme than PLONK");
  const header = content("header");
  const countsAt = 8 + fqBytes + frBytes;
  const tauAt = countsAt + 20 + 2 * frBytes + COMMITMENT_COUNT * 2 * fqBytes;
  if (
    wordAt(header, 0) !== fqBytes ||
    header.length !== tauAt + 4 * fqBytes ||
    readBigIntLE(header, 4, fqBytes) !== curve.q ||
    readBigIntLE(header, 8 + fqBytes, frBytes) !== curve.r
  )
    throw new ZkeyFormatError(`the file is not over ${curve.name}`);
  const counts = readCounts(header, countsAt, curve);
  const tauG2 = decodeG2(header, tauAt, curve);
  if (tauG2 === undefined) throw new ZkeyFormatError("tau in G2 is not on the curve");
  const powers = content("powers");
  if (powers.length !== (2 ** counts.domainPower + EXTRA_POWERS) * 2 * fqBytes)
    throw new ZkeyFormatError("section powers has a wrong length");
  return { counts, powers, tauG2 };
}

function readCounts(header: Uint8Array, at: number, curve: CurveParameters): PlonkZkeyCounts {
  const [wireCount, publicCount, size, additionCount, gateCount] = [0, 1, 2, 3, 4].map((i) =>
    wordAt(header, at + 4 * i),
  ) as [number, number, number, number, number];
  const domainPower = Math.log2(size);
  if (!Number.isInteger(domainPower) || domainPower < DOMAIN_POWER_MIN || domainPower > curve.twoAdicity)
    throw new ZkeyFormatError("the size of the domain is none");
  return { wireCount, publicCount, domainPower, additionCount, gateCount };
}
