/**
 * Reads a Groth16 proving key from snarkjs' `.zkey` bytes into views, copying nothing: the bytes may lie in shared
 * memory, one copy for all threads. Checks every count, length and offset that later code relies on; the setup gates
 * check that the points make a sound key.
 */
import { curveOfBaseField } from "../curves/curves.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { CoefficientTable } from "../curves/curve-kernels.js";
import { decodeG1, decodeG2 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { readBigIntLE } from "../field/bytes.js";
import { PUBLIC_SIGNALS_MAX } from "./proof.js";
import type { Groth16VerifyingKey } from "./proof.js";
import {
  DOMAIN_POWER_MAX,
  GROTH16_PROTOCOL,
  ZKEY_COEFFICIENT_BYTES,
  ZKEY_MAGIC,
  ZKEY_SECTION,
  ZKEY_VERSION,
  headerOffsets,
  sectionBytes,
} from "./zkey-layout.js";
import type { ZkeyCounts } from "./zkey-layout.js";

export interface Groth16ProvingKey extends ZkeyCounts {
  readonly curve: CurveParameters;
  readonly alphaG1: G1Point;
  readonly betaG1: G1Point;
  readonly betaG2: G2Point;
  readonly gammaG2: G2Point;
  readonly deltaG1: G1Point;
  readonly deltaG2: G2Point;
  /** A and B of the circuit with the rows that bind the public signals. */
  readonly coefficients: CoefficientTable;
  /** Affine Montgomery points; see CurveKernels. */
  readonly icPoints: Uint8Array;
  readonly aPoints: Uint8Array;
  readonly b1Points: Uint8Array;
  readonly b2Points: Uint8Array;
  readonly cPoints: Uint8Array;
  readonly hPoints: Uint8Array;
  /** The 64-byte circuit hash of the contributions section. */
  readonly circuitHash: Uint8Array;
  /** That section as a whole; phases/phase2.ts reads it. */
  readonly contributions: Uint8Array;
}

/** The bytes are no Groth16 proving key that this reader accepts. */
export class ProvingKeyFormatError extends Error {
  override readonly name = "ProvingKeyFormatError";
}

const SECTION_TYPES: ReadonlySet<number> = new Set(Object.values(ZKEY_SECTION));
const CIRCUIT_HASH_BYTES = 64;
/** A contribution takes about 500 bytes, and the largest ceremonies had some thousands. */
export const CONTRIBUTIONS_BYTES_MAX = 4 * 1024 * 1024;
/** No curve of snarkjs has longer coordinates; a file may claim any length. */
const FQ_BYTES_MAX = 96;

/**
 * Reads a proving key. Cost: a walk over the coefficients, about 10 ms per million.
 * @throws ProvingKeyFormatError when the bytes are not a complete Groth16 key over a supported curve
 */
export function readProvingKey(bytes: Uint8Array): Groth16ProvingKey {
  const sections = readSections(bytes);
  const section = (type: number): Uint8Array => {
    const found = sections.get(type);
    if (found === undefined) throw new ProvingKeyFormatError(`section ${String(type)} is missing`);
    return found;
  };
  if (section(ZKEY_SECTION.protocol).length !== 4 || readU32(section(ZKEY_SECTION.protocol), 0) !== GROTH16_PROTOCOL) {
    throw new ProvingKeyFormatError("the key is not for Groth16");
  }
  const curve = readCurve(section(ZKEY_SECTION.header));
  const header = readHeader(section(ZKEY_SECTION.header), curve);
  const lengths = sectionBytes(header, curve);
  const points = (name: keyof typeof lengths): Uint8Array => {
    const found = section(ZKEY_SECTION[name]);
    if (found.length !== lengths[name]) throw new ProvingKeyFormatError(`section ${name} has a wrong length`);
    return found;
  };
  const contributions = section(ZKEY_SECTION.contributions);
  if (contributions.length < CIRCUIT_HASH_BYTES + 4)
    throw new ProvingKeyFormatError("section contributions is too short");
  if (contributions.length > CONTRIBUTIONS_BYTES_MAX)
    throw new ProvingKeyFormatError("section contributions is too long");
  return {
    curve,
    ...header,
    coefficients: readCoefficients(section(ZKEY_SECTION.coefficients), header),
    icPoints: points("ic"),
    aPoints: points("a"),
    b1Points: points("b1"),
    b2Points: points("b2"),
    cPoints: points("c"),
    hPoints: points("h"),
    circuitHash: contributions.subarray(0, CIRCUIT_HASH_BYTES),
    contributions,
  };
}

/**
 * Returns the verifying key that belongs to a proving key.
 * @throws ProvingKeyFormatError when a point of the IC section is not on the curve
 */
export function verifyingKeyOf(key: Groth16ProvingKey): Groth16VerifyingKey {
  const pointBytes = 2 * key.curve.fqBytes;
  const ic = Array.from({ length: key.publicCount + 1 }, (_, i) => {
    const at = i * pointBytes;
    if (key.icPoints.subarray(at, at + pointBytes).every((byte) => byte === 0)) return undefined;
    return required(decodeG1(key.icPoints, at, key.curve), `point ${String(i)} of section ic`);
  });
  return {
    curve: key.curve.name,
    publicCount: key.publicCount,
    alphaG1: key.alphaG1,
    betaG2: key.betaG2,
    gammaG2: key.gammaG2,
    deltaG2: key.deltaG2,
    ic,
  };
}

function readSections(bytes: Uint8Array): Map<number, Uint8Array> {
  if (bytes.length < 12 || readU32(bytes, 0) !== ZKEY_MAGIC) throw new ProvingKeyFormatError("not a zkey file");
  if (readU32(bytes, 4) !== ZKEY_VERSION) throw new ProvingKeyFormatError("unknown version of the zkey format");
  const count = readU32(bytes, 8);
  if (count > SECTION_TYPES.size) throw new ProvingKeyFormatError("too many sections");
  const sections = new Map<number, Uint8Array>();
  let at = 12;
  for (let i = 0; i < count; i += 1) {
    const type = readU32(bytes, at);
    // Its length would be checked by nothing, and the file is kept and loaded whole.
    if (!SECTION_TYPES.has(type)) throw new ProvingKeyFormatError("a section is of an unknown kind");
    const length = readU32(bytes, at + 4) + readU32(bytes, at + 8) * 2 ** 32;
    const start = at + 12;
    if (start + length > bytes.length) throw new ProvingKeyFormatError("a section runs past the end of the file");
    if (sections.has(type)) throw new ProvingKeyFormatError("a section appears twice");
    sections.set(type, bytes.subarray(start, start + length));
    at = start + length;
  }
  if (at !== bytes.length) throw new ProvingKeyFormatError("bytes after the last section");
  return sections;
}

/** Finds the curve by its base field, whose bytes and order begin the header. */
function readCurve(header: Uint8Array): CurveParameters {
  const fqBytes = readU32(header, 0);
  const curve = fqBytes > FQ_BYTES_MAX ? undefined : curveOfBaseField(readBigIntLE(header, 4, fqBytes));
  if (curve?.fqBytes !== fqBytes) throw new ProvingKeyFormatError("the key is over no supported curve");
  return curve;
}

type Header = ZkeyCounts & Pick<Groth16ProvingKey, "alphaG1" | "betaG1" | "betaG2" | "gammaG2" | "deltaG1" | "deltaG2">;

/**
 * Reads the header section alone.
 * @throws ProvingKeyFormatError when the section is none of a key over a supported curve
 */
export function readHeaderSection(bytes: Uint8Array): Header & { readonly curve: CurveParameters } {
  const curve = readCurve(bytes);
  return { curve, ...readHeader(bytes, curve) };
}

function readHeader(bytes: Uint8Array, curve: CurveParameters): Header {
  const at = headerOffsets(curve);
  if (bytes.length !== at.end) throw new ProvingKeyFormatError("section header has a wrong length");
  if (readU32(bytes, at.r - 4) !== curve.frBytes || readBigIntLE(bytes, at.r, curve.frBytes) !== curve.r)
    throw new ProvingKeyFormatError(`the key is not over ${curve.name}`);
  const wireCount = readU32(bytes, at.counts),
    publicCount = readU32(bytes, at.counts + 4),
    domainSize = readU32(bytes, at.counts + 8);
  const domainPower = 31 - Math.clz32(domainSize);
  if (domainSize < 2 || domainPower > DOMAIN_POWER_MAX || 2 ** domainPower !== domainSize)
    throw new ProvingKeyFormatError("the domain size is not a supported power of two");
  if (publicCount > PUBLIC_SIGNALS_MAX || publicCount + 1 > wireCount || publicCount + 1 > domainSize)
    throw new ProvingKeyFormatError("too many public signals");
  const g1 = (offset: number, name: string): G1Point => required(decodeG1(bytes, offset, curve), name);
  const g2 = (offset: number, name: string): G2Point => required(decodeG2(bytes, offset, curve), name);
  return {
    wireCount,
    publicCount,
    domainPower,
    alphaG1: g1(at.alphaG1, "alpha"),
    betaG1: g1(at.betaG1, "beta in G1"),
    betaG2: g2(at.betaG2, "beta in G2"),
    gammaG2: g2(at.gammaG2, "gamma"),
    deltaG1: g1(at.deltaG1, "delta in G1"),
    deltaG2: g2(at.deltaG2, "delta in G2"),
  };
}

function readCoefficients(bytes: Uint8Array, counts: ZkeyCounts): CoefficientTable {
  const count = readU32(bytes, 0);
  if (bytes.length !== 4 + count * ZKEY_COEFFICIENT_BYTES)
    throw new ProvingKeyFormatError("section coefficients has a wrong length");
  const entries = bytes.subarray(4);
  const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength);
  for (let at = 0; at < entries.length; at += ZKEY_COEFFICIENT_BYTES) {
    if (
      view.getUint32(at, true) > 1 ||
      view.getUint32(at + 4, true) >= 2 ** counts.domainPower ||
      view.getUint32(at + 8, true) >= counts.wireCount
    ) {
      throw new ProvingKeyFormatError("a coefficient lies outside the circuit");
    }
  }
  return { entries, domainPower: counts.domainPower };
}

function readU32(bytes: Uint8Array, at: number): number {
  if (at + 4 > bytes.length) throw new ProvingKeyFormatError("the file ends too early");
  return new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0, true);
}

function required<Point>(point: Point | undefined, name: string): Point {
  if (point === undefined) throw new ProvingKeyFormatError(`${name} is not a finite curve point`);
  return point;
}
