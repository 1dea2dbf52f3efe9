/**
 * The container of snarkjs' `.ptau` files: where each section lies, checked against its size before anything is read.
 * Nothing here looks at a point.
 *
 *   "ptau" || version u32 = 1 || sections u32 || per section: type u32, length u64, content
 *   header: bytes of a coordinate u32 || q || power u32 || power of the ceremony u32
 *
 * With n = 2^power: tauG1 has 2n - 1 powers, the other three n each. A Lagrange section has the points of the domains
 * of 2^0, 2^1, ... 2^power one after the other; that of tauG1 one more level, whose last power counts as infinity.
 */
import { BN254 } from "../curves/bn254.js";
import { BLS12_381 } from "../curves/bls12-381.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { readBigIntLE } from "../field/bytes.js";
import { PowersOfTauError } from "./powers-of-tau-error.js";

/** A file that is read in ranges, never as a whole. */
export interface RangeFile {
  readonly size: number;
  /**
   * Fills `target` with the bytes from `offset` on.
   * @throws PowersOfTauError `truncated` when the file has fewer
   */
  read(target: Uint8Array, offset: number): void;
}

export const SECTION = {
  header: 1,
  tauG1: 2,
  tauG2: 3,
  alphaTauG1: 4,
  betaTauG1: 5,
  betaG2: 6,
  contributions: 7,
  lagrangeTauG1: 12,
  lagrangeTauG2: 13,
  lagrangeAlphaTauG1: 14,
  lagrangeBetaTauG1: 15,
} as const;

export type SectionName = keyof typeof SECTION;

/** A section of points; its name is one of `SectionName`. */
export interface PointSection {
  readonly name: SectionName;
  readonly group: "g1" | "g2";
  /** First byte of the first point. */
  readonly offset: number;
  readonly count: number;
  readonly pointBytes: number;
}

export interface PowersOfTauLayout {
  readonly curve: CurveParameters;
  /** n = 2^power: the largest domain that the file serves. */
  readonly power: number;
  /** The power of the ceremony that it was cut from. */
  readonly ceremonyPower: number;
  /** The sections of points that the file has, in the order of `SECTION`. */
  readonly points: readonly PointSection[];
  readonly contributions: { readonly offset: number; readonly size: number };
  /** Whether it has the four Lagrange sections. */
  readonly isPrepared: boolean;
}

const MAGIC = "ptau";
const HEAD_BYTES = 12;
const SECTION_HEAD_BYTES = 12;
/** The format knows eleven sections; a longer list is no file of it. */
const SECTIONS_MAX = 32;
/** A coordinate of the largest curve has 48 bytes; nothing longer is read. */
const COORDINATE_BYTES_MAX = 64;
/** Some thousand contributions: the largest public ceremony has fewer than a hundred. */
const CONTRIBUTIONS_BYTES_MAX = 16 * 1024 ** 2;
const LAGRANGE_SECTIONS = ["lagrangeTauG1", "lagrangeTauG2", "lagrangeAlphaTauG1", "lagrangeBetaTauG1"] as const;

/**
 * Reads the list of sections and the header.
 * @throws PowersOfTauError with what is wrong with them
 */
export function readLayout(file: RangeFile): PowersOfTauLayout {
  const sections = readSections(file);
  const { curve, power, ceremonyPower } = readHeader(file, required(sections, "header"));
  const pointSections = (Object.keys(SECTION) as SectionName[]).flatMap((name) => {
    const shape = shapeOf(name, power);
    if (shape === undefined) return [];
    const place = name.startsWith("lagrange") ? sections.get(SECTION[name]) : required(sections, name);
    if (place === undefined) return [];
    const pointBytes = (shape.group === "g1" ? 2 : 4) * curve.fqBytes;
    if (place.size !== shape.count * pointBytes)
      throw new PowersOfTauError(
        "section_size",
        `section ${name} has ${place.size} bytes, not the ${shape.count * pointBytes} of 2^${power}`,
      );
    return [{ name, ...shape, offset: place.offset, pointBytes }];
  });
  const prepared = LAGRANGE_SECTIONS.filter((name) => sections.has(SECTION[name]));
  // What was prepared in part could be checked in part only.
  if (prepared.length > 0 && prepared.length < LAGRANGE_SECTIONS.length)
    throw new PowersOfTauError(
      "section_missing",
      "the file has some of the four Lagrange sections, and not all of them",
    );
  const contributions = required(sections, "contributions");
  if (contributions.size > CONTRIBUTIONS_BYTES_MAX)
    throw new PowersOfTauError("section_size", "section contributions is longer than any ceremony's");
  return {
    curve,
    power,
    ceremonyPower,
    points: pointSections,
    contributions,
    isPrepared: prepared.length > 0,
  };
}

/** Returns a section of points, or undefined where the file has none of that name. */
export function sectionOf(layout: PowersOfTauLayout, name: SectionName): PointSection | undefined {
  return layout.points.find((section) => section.name === name);
}

interface Place {
  readonly offset: number;
  readonly size: number;
}

function readSections(file: RangeFile): ReadonlyMap<number, Place> {
  const head = readBytes(file, 0, HEAD_BYTES);
  if (Buffer.from(head.subarray(0, 4)).toString("latin1") !== MAGIC)
    throw new PowersOfTauError("not_powers_of_tau", "the file does not begin with the mark of a .ptau file");
  const version = u32(head, 4);
  if (version !== 1) throw new PowersOfTauError("not_powers_of_tau", `version ${version} of the format is not known`);
  const count = u32(head, 8);
  if (count > SECTIONS_MAX) throw new PowersOfTauError("not_powers_of_tau", `a .ptau file has no ${count} sections`);
  const sections = new Map<number, Place>();
  let at = HEAD_BYTES;
  for (let i = 0; i < count; i += 1) {
    const entry = readBytes(file, at, SECTION_HEAD_BYTES);
    const type = u32(entry, 0);
    const size = u32(entry, 4) + u32(entry, 8) * 2 ** 32;
    at += SECTION_HEAD_BYTES;
    if (sections.has(type)) throw new PowersOfTauError("section_repeated", `section ${type} comes twice`);
    if (size > file.size - at) throw new PowersOfTauError("truncated", `the file ends inside section ${type}`);
    sections.set(type, { offset: at, size });
    at += size;
  }
  if (at !== file.size) throw new PowersOfTauError("trailing_bytes", "bytes follow the last section");
  return sections;
}

function readHeader(
  file: RangeFile,
  place: Place,
): { readonly curve: CurveParameters; readonly power: number; readonly ceremonyPower: number } {
  if (place.size < 4) throw new PowersOfTauError("header_invalid", "the header is too short");
  const coordinateBytes = u32(readBytes(file, place.offset, 4), 0);
  if (coordinateBytes > COORDINATE_BYTES_MAX || place.size !== 4 + coordinateBytes + 8)
    throw new PowersOfTauError("header_invalid", "the header's length is not that of its prime");
  const bytes = readBytes(file, place.offset, place.size);
  const prime = readBigIntLE(bytes, 4, coordinateBytes);
  if (prime !== BN254.q || coordinateBytes !== BN254.fqBytes) {
    const name = prime === BLS12_381.q ? BLS12_381.name : "an unknown curve";
    throw new PowersOfTauError("curve_unsupported", `the powers are of ${name}; only those of ${BN254.name} are taken`);
  }
  const power = u32(bytes, 4 + coordinateBytes);
  const ceremonyPower = u32(bytes, 8 + coordinateBytes);
  // The largest Lagrange level is one above the power and needs a root of unity, too.
  if (power < 1 || power >= BN254.twoAdicity)
    throw new PowersOfTauError("power_unsupported", `the power is 1 to ${BN254.twoAdicity - 1}, not ${power}`);
  if (ceremonyPower < power || ceremonyPower > BN254.twoAdicity)
    throw new PowersOfTauError(
      "header_invalid",
      `powers of 2^${power} are no part of a ceremony of 2^${ceremonyPower}`,
    );
  return { curve: BN254, power, ceremonyPower };
}

/** Undefined for the sections without points. */
function shapeOf(name: SectionName, power: number): { group: "g1" | "g2"; count: number } | undefined {
  const size = 2 ** power;
  switch (name) {
    case "header":
    case "contributions":
      return undefined;
    case "tauG1":
      return { group: "g1", count: 2 * size - 1 };
    case "tauG2":
      return { group: "g2", count: size };
    case "alphaTauG1":
    case "betaTauG1":
      return { group: "g1", count: size };
    case "betaG2":
      return { group: "g2", count: 1 };
    case "lagrangeTauG1":
      return { group: "g1", count: 4 * size - 1 };
    case "lagrangeTauG2":
      return { group: "g2", count: 2 * size - 1 };
    case "lagrangeAlphaTauG1":
    case "lagrangeBetaTauG1":
      return { group: "g1", count: 2 * size - 1 };
  }
}

function required(sections: ReadonlyMap<number, Place>, name: SectionName): Place {
  const place = sections.get(SECTION[name]);
  if (place === undefined) throw new PowersOfTauError("section_missing", `the file has no section ${name}`);
  return place;
}

function readBytes(file: RangeFile, offset: number, count: number): Uint8Array {
  if (offset + count > file.size) throw new PowersOfTauError("truncated", "the file ends inside a section's head");
  const bytes = new Uint8Array(count);
  file.read(bytes, offset);
  return bytes;
}

function u32(bytes: Uint8Array, offset: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset, true);
}
