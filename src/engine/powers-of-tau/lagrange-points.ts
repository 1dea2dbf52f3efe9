/**
 * The points of a powers-of-tau file from which a circuit's keys are made: read where the file is prepared, else made
 * of its powers.
 */
import type { CurveKernels } from "../curves/curve-kernels.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import { inverse } from "../field/prime-field.js";
import { readLayout, sectionOf } from "./file-layout.js";
import type { PowersOfTauLayout, RangeFile, SectionName } from "./file-layout.js";
import type { PointRowOptions } from "./point-row-work.js";
import { sharedCopy, subtractHalves, transformPoints } from "./point-transform.js";

/** A file that was checked (check-powers.ts), and where its sections lie. */
export interface PowersOfTau {
  readonly file: RangeFile;
  readonly layout: PowersOfTauLayout;
}

const LAGRANGE_OF = {
  tauG1: "lagrangeTauG1",
  alphaTauG1: "lagrangeAlphaTauG1",
  betaTauG1: "lagrangeBetaTauG1",
  tauG2: "lagrangeTauG2",
} as const satisfies Partial<Record<SectionName, SectionName>>;

/** Lists of powers that have Lagrange points. */
export type PowersName = keyof typeof LAGRANGE_OF;

/** Opens a file that was checked. @throws PowersOfTauError when it is none */
export function openPowersOfTau(file: RangeFile): PowersOfTau {
  return { file, layout: readLayout(file) };
}

/**
 * Reads points into memory that threads share.
 * @throws RangeError where the section has fewer
 */
export function readPowers(
  { file, layout }: PowersOfTau,
  name: SectionName,
  { first, count }: { readonly first: number; readonly count: number },
): Uint8Array {
  const section = sectionOf(layout, name);
  if (section === undefined || first + count > section.count) throw new RangeError(`${name} has fewer points`);
  const bytes = new Uint8Array(new SharedArrayBuffer(count * section.pointBytes));
  file.read(bytes, section.offset + first * section.pointBytes);
  return bytes;
}

/** Returns the Lagrange points of the domain of 2^domainPower, in memory that threads share. */
export async function lagrangePoints(
  kernels: CurveKernels,
  powers: PowersOfTau,
  { name, domainPower }: { readonly name: PowersName; readonly domainPower: number },
  options: PointRowOptions = {},
): Promise<Uint8Array> {
  const size = 2 ** domainPower;
  if (powers.layout.isPrepared) return readPowers(powers, LAGRANGE_OF[name], { first: size - 1, count: size });
  const points = readPowers(powers, name, { first: 0, count: size });
  const factor = inverse(BigInt(size), kernels.curve.r);
  const group = name === "tauG2" ? "g2" : "g1";
  return sharedCopy(await transformPoints(kernels, { group, points, domainPower, factor, step: 1n }, options));
}

/**
 * Returns the odd Lagrange points of the domain of 2n, n = 2^domainPower: those of H. Where the file ends before
 * tau^(2n - 1), that power counts as infinity, as it does in the file's own points; no quotient reaches it.
 */
export async function oddLagrangePoints(
  kernels: CurveKernels,
  powers: PowersOfTau,
  domainPower: number,
  options: PointRowOptions = {},
): Promise<Uint8Array> {
  const { r, fqBytes } = kernels.curve;
  const size = 2 ** domainPower;
  if (powers.layout.isPrepared) {
    const bytes = 2 * fqBytes;
    const both = readPowers(powers, LAGRANGE_OF.tauG1, { first: 2 * size - 1, count: 2 * size });
    const odd = new Uint8Array(size * bytes);
    for (let i = 0; i < size; i += 1) odd.set(both.subarray((2 * i + 1) * bytes, (2 * i + 2) * bytes), i * bytes);
    return sharedCopy(odd);
  }
  // L_(2i+1) = 1/2n * sum over j < n of v^-j w^-ij (tau^j - tau^(n+j)), since v^n = -1 for the root v of order 2n.
  const points = await subtractHalves(kernels, { group: "g1", points: powersWithEnd(powers, size) }, options);
  const factor = inverse(BigInt(2 * size), r);
  const step = inverse(rootOfUnity(kernels.curve, domainPower + 1), r);
  return sharedCopy(await transformPoints(kernels, { group: "g1", points, domainPower, factor, step }, options));
}

/** Returns tau^0 to tau^(2 size - 1) in G1, infinity in place of the last where the file ends before it. */
export function powersWithEnd(powers: PowersOfTau, size: number): Uint8Array {
  const section = sectionOf(powers.layout, "tauG1");
  if (section === undefined || section.count < 2 * size - 1) throw new RangeError("tauG1 has fewer points");
  const points = new Uint8Array(new SharedArrayBuffer(2 * size * section.pointBytes));
  points.set(readPowers(powers, "tauG1", { first: 0, count: Math.min(2 * size, section.count) }));
  return points;
}
