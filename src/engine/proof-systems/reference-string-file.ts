/**
 * Structured reference strings as files: a `.ptau` of snarkjs, of which four sections are read, in ranges, since such a
 * file may have gigabytes. Nothing here checks that the points are powers of one secret.
 *
 *   "ptau" || version u32 || number of sections u32 || per section: type u32 || length u64 || content
 *   1: fqBytes u32 || q || power u32 || ceremony's power u32
 *   2: tau^0 .. tau^(2^(power + 1) - 2) in G1      3: 1, tau, ... in G2
 *   12: the Lagrange points of the domains 2^0, 2^1, ... 2^power, one after the other; only of a prepared file
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { BN254 } from "../curves/bn254.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { decodeG2, encodeG2 } from "../curves/points.js";
import type { G2Point } from "../curves/points.js";
import { readBigIntLE, writeBigIntLE } from "../field/bytes.js";
import { openPowersOfTau } from "../powers-of-tau/lagrange-points.js";
import { lagrangePointsOf } from "../powers-of-tau/point-transform.js";
import { openRangeFile } from "../powers-of-tau/range-file.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import type { StructuredReferenceString } from "./reference-string.js";

/** The bytes are no reference string that this reader accepts. */
export class ReferenceStringError extends Error {
  override readonly name = "ReferenceStringError";
}

/** What a file holds beside its header. */
export interface ReferenceStringPoints {
  readonly power: number;
  /** Layouts as in `StructuredReferenceString`. */
  readonly powersG1: Uint8Array;
  /** Of all domains up to 2^power, one after the other. */
  readonly lagrangeG1: Uint8Array;
  readonly tauG2: G2Point;
}

interface Section {
  readonly at: number;
  readonly bytes: number;
}

const MAGIC = "ptau";
const VERSION = 1;
const SECTION = { header: 1, powersG1: 2, powersG2: 3, lagrangeG1: 12 } as const;
const SECTIONS_MAX = 64;
/** As snarkjs: no file has more. */
const POWER_MAX = 28;

/** Returns the number of powers in G1, which is also the number of Lagrange points of all domains together. */
export function pointCountOf(power: number): number {
  return 2 ** (power + 1) - 1;
}

/**
 * Opens a file; its points are read when they are asked for.
 * @throws ReferenceStringError when it is no file of the curve
 */
export function openReferenceString(
  { path, sha256 }: { readonly path: string; readonly sha256: string },
  curve: CurveParameters = BN254,
): StructuredReferenceString {
  const sections = readSections(path);
  const section = (type: number): Section => {
    const found = sections.get(type);
    if (found === undefined) throw new ReferenceStringError(`section ${String(type)} is missing`);
    return found;
  };
  const power = readPower(read(path, section(SECTION.header)), curve);
  const g1Bytes = 2 * curve.fqBytes;
  const [powers, g2] = [section(SECTION.powersG1), section(SECTION.powersG2)];
  const lagrange = sections.get(SECTION.lagrangeG1);
  const pointsBytes = pointCountOf(power) * g1Bytes;
  if (powers.bytes !== pointsBytes || (lagrange !== undefined && lagrange.bytes < pointsBytes))
    throw new ReferenceStringError("a section has a wrong length");
  const tauG2 =
    g2.bytes < 4 * g1Bytes ? undefined : decodeG2(read(path, { at: g2.at, bytes: 4 * g1Bytes }), 2 * g1Bytes, curve);
  if (tauG2 === undefined) throw new ReferenceStringError("tau in G2 is not on the curve");
  return {
    curve,
    sha256,
    power,
    tauG2,
    powersG1: (count) => {
      if (count > pointCountOf(power)) throw new RangeError("the string has fewer powers");
      return read(path, { at: powers.at, bytes: count * g1Bytes });
    },
    lagrangeG1: async (domainPower, options) => {
      if (domainPower > power) throw new RangeError("the string has no Lagrange points for a domain of this size");
      const size = 2 ** domainPower;
      if (lagrange !== undefined) return read(path, { at: lagrange.at + (size - 1) * g1Bytes, bytes: size * g1Bytes });
      const points = read(path, { at: powers.at, bytes: size * g1Bytes });
      return await lagrangePointsOf(await loadReferenceKernels(curve), { powers: points, domainPower }, options);
    },
    openPowers: () => openPowersOfTau(openRangeFile(path)),
  };
}

/** Returns the bytes of a file that this reader, and snarkjs' set-ups of universal systems, accept. */
export function writeReferenceString(points: ReferenceStringPoints, curve: CurveParameters): Uint8Array {
  const header = new Uint8Array(curve.fqBytes + 12);
  const view = new DataView(header.buffer);
  view.setUint32(0, curve.fqBytes, true);
  writeBigIntLE(curve.q, header, 4, curve.fqBytes);
  view.setUint32(curve.fqBytes + 4, points.power, true);
  view.setUint32(curve.fqBytes + 8, points.power, true);
  const g2 = Buffer.concat([encodeG2(curve.generatorG2, curve), encodeG2(points.tauG2, curve)]);
  const sections: readonly (readonly [number, Uint8Array])[] = [
    [SECTION.header, header],
    [SECTION.powersG1, points.powersG1],
    [SECTION.powersG2, g2],
    [SECTION.lagrangeG1, points.lagrangeG1],
  ];
  return Buffer.concat([
    Buffer.from(MAGIC),
    words(VERSION, sections.length),
    ...sections.flatMap(([type, content]) => [
      words(type, content.length % 2 ** 32, Math.floor(content.length / 2 ** 32)),
      content,
    ]),
  ]);
}

function words(...values: readonly number[]): Buffer {
  return Buffer.from(Uint32Array.from(values).buffer);
}

function readPower(header: Uint8Array, curve: CurveParameters): number {
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  if (
    header.length !== curve.fqBytes + 12 ||
    view.getUint32(0, true) !== curve.fqBytes ||
    readBigIntLE(header, 4, curve.fqBytes) !== curve.q
  )
    throw new ReferenceStringError(`the file is not over ${curve.name}`);
  const power = view.getUint32(curve.fqBytes + 4, true);
  if (power < 1 || power > POWER_MAX) throw new ReferenceStringError("the power is out of range");
  return power;
}

function readSections(path: string): Map<number, Section> {
  const start = read(path, { at: 0, bytes: 12 });
  const view = new DataView(start.buffer, start.byteOffset, 12);
  if (Buffer.from(start.subarray(0, 4)).toString("latin1") !== MAGIC || view.getUint32(4, true) !== VERSION)
    throw new ReferenceStringError("not a ptau file");
  const count = view.getUint32(8, true);
  if (count > SECTIONS_MAX) throw new ReferenceStringError("too many sections");
  const sections = new Map<number, Section>();
  let at = 12;
  for (let i = 0; i < count; i += 1) {
    const head = read(path, { at, bytes: 12 });
    const fields = new DataView(head.buffer, head.byteOffset, 12);
    const bytes = fields.getUint32(4, true) + fields.getUint32(8, true) * 2 ** 32;
    const type = fields.getUint32(0, true);
    if (sections.has(type)) throw new ReferenceStringError("a section appears twice");
    sections.set(type, { at: at + 12, bytes });
    at += 12 + bytes;
  }
  return sections;
}

/** Reads a range of a file. A file of this server is complete, so one that ends too early is not what it should be. */
function read(path: string, { at, bytes }: Section): Uint8Array {
  const file = openSync(path, "r");
  try {
    if (at + bytes > fstatSync(file).size) throw new ReferenceStringError("the file ends too early");
    const content = new Uint8Array(bytes);
    for (let done = 0; done < bytes;) {
      const count = readSync(file, content, done, bytes - done, at + done);
      if (count === 0) throw new ReferenceStringError("the file ends too early");
      done += count;
    }
    return content;
  } finally {
    closeSync(file);
  }
}
