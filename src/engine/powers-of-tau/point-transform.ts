/**
 * The transform that makes Lagrange points of powers: as a number-theoretic transform (kernels/ntt), of points instead
 * of numbers, by decimation in frequency.
 */
import type { CurveKernels } from "../curves/curve-kernels.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { writeBigIntLE } from "../field/bytes.js";
import { inverse } from "../field/prime-field.js";
import { sumPointRows } from "./point-row-work.js";
import type { PointRowOptions } from "./point-row-work.js";

export interface PointList {
  readonly group: "g1" | "g2";
  /** Affine, Montgomery form, little-endian, infinity as zeros. */
  readonly points: Uint8Array;
}

interface Transform extends PointList {
  /** There are n = 2^domainPower points. */
  readonly domainPower: number;
  /** The points are multiplied by factor * step^j first. */
  readonly factor: bigint;
  readonly step: bigint;
}

/**
 * Returns the sum over j of w^-ij factor step^j P_j for every i below n, w the domain's root of unity. About a minute
 * of one core for 2^16 points of G1, three for G2.
 */
export async function transformPoints(
  kernels: CurveKernels,
  { group, points, domainPower, factor, step }: Transform,
  options: PointRowOptions = {},
): Promise<Uint8Array> {
  const { curve } = kernels;
  const size = 2 ** domainPower;
  const layers = domainPower + 1;
  const part = (layer: number): PointRowOptions => ({
    ...options,
    onProgress: (share) => options.onProgress?.((layer + share) / layers),
  });
  const all = Uint32Array.from({ length: size }, (_, i) => i);
  const scales = geometric(curve, { factor, step, count: size });
  let current = await scalePoints(kernels, { group, points }, { places: all, scalarOf: all, scalars: scales }, part(0));
  const root = inverse(rootOfUnity(curve, domainPower), curve.r);
  const roots = geometric(curve, { factor: 1n, step: root, count: Math.max(1, size / 2) });
  for (let half = size / 2, layer = 1; half >= 1; half /= 2, layer += 1) {
    const added = await addPairs(kernels, { group, points: current }, half, withoutProgress(options));
    const stride = size / (2 * half);
    // The upper halves of the blocks, but for their first places, whose root is 1.
    const places = all.filter((i) => i % (2 * half) > half);
    const scalarOf = places.map((i) => (i % half) * stride);
    current = await scalePoints(kernels, { group, points: added }, { places, scalarOf, scalars: roots }, part(layer));
  }
  return unreversed(current, domainPower);
}

/**
 * Returns the Lagrange points of the domain of 2^domainPower at the secret whose powers in G1 are given: as many as it
 * has, or more. Cost as `transformPoints`.
 */
export async function lagrangePointsOf(
  kernels: CurveKernels,
  { powers, domainPower }: { readonly powers: Uint8Array; readonly domainPower: number },
  options: PointRowOptions = {},
): Promise<Uint8Array> {
  const { curve } = kernels;
  const size = 2 ** domainPower;
  const points = powers.subarray(0, size * 2 * curve.fqBytes);
  const factor = inverse(BigInt(size), curve.r);
  return await transformPoints(kernels, { group: "g1", points, domainPower, factor, step: 1n }, options);
}

/** Returns the points of the first half of a list, each minus its fellow of the second half. */
export async function subtractHalves(
  kernels: CurveKernels,
  { group, points }: PointList,
  options: PointRowOptions = {},
): Promise<Uint8Array> {
  const size = points.length / pointBytes(group, kernels.curve);
  const both = await addPairs(kernels, { group, points }, size / 2, options);
  return both.slice(both.length / 2);
}

/** Returns each point times the scalar. */
export async function scaleAll(
  kernels: CurveKernels,
  { group, points }: PointList,
  scalar: bigint,
  options: PointRowOptions = {},
): Promise<Uint8Array> {
  const places = Uint32Array.from({ length: points.length / pointBytes(group, kernels.curve) }, (_, i) => i);
  const scalars = geometric(kernels.curve, { factor: scalar, step: 1n, count: 1 });
  return await scalePoints(kernels, { group, points }, { places, scalarOf: places.map(() => 0), scalars }, options);
}

/** Returns a copy of the bytes in memory that threads share. */
export function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** In each block of 2 * half: the sums of both halves, then their differences, lower minus upper. */
async function addPairs(
  kernels: CurveKernels,
  { group, points }: PointList,
  half: number,
  options: PointRowOptions,
): Promise<Uint8Array> {
  const size = points.length / pointBytes(group, kernels.curve);
  const scalars = sharedCopy(scalarBytes([1n, kernels.curve.r - 1n], kernels.curve));
  const [starts, pointOf, scalarOf] = [sharedWords(size + 1), sharedWords(2 * size), sharedWords(2 * size)];
  for (let i = 0; i < size; i += 1) {
    const isUpper = i % (2 * half) >= half;
    const lower = isUpper ? i - half : i;
    pointOf.set([lower, lower + half], 2 * i);
    scalarOf[2 * i + 1] = isUpper ? 1 : 0;
    starts[i + 1] = 2 * (i + 1);
  }
  const rows = { group, points: sharedCopy(points), starts, pointOf, scalarOf, scalars };
  const [sums = new Uint8Array()] = await sumPointRows(kernels, [rows], options);
  return sums;
}

/** Multiplies the points at some places; the others stay as they are. */
async function scalePoints(
  kernels: CurveKernels,
  { group, points }: PointList,
  { places, scalarOf, scalars }: { places: Uint32Array; scalarOf: Uint32Array; scalars: Uint8Array },
  options: PointRowOptions,
): Promise<Uint8Array> {
  const bytes = pointBytes(group, kernels.curve);
  const starts = sharedWords(places.length + 1);
  for (let i = 0; i < starts.length; i += 1) starts[i] = i;
  const rows = {
    ...{ group, points: sharedCopy(points), starts, scalars: sharedCopy(scalars) },
    ...{ pointOf: sharedWordsOf(places), scalarOf: sharedWordsOf(scalarOf) },
  };
  const [scaled = new Uint8Array()] = await sumPointRows(kernels, [rows], options);
  // Not `slice`, which copies nothing of a Buffer.
  const result = new Uint8Array(points);
  for (const [i, place] of places.entries()) result.set(scaled.subarray(i * bytes, (i + 1) * bytes), place * bytes);
  return result;
}

/** factor * step^i for every i below `count`. */
function geometric(
  curve: CurveParameters,
  { factor, step, count }: { readonly factor: bigint; readonly step: bigint; readonly count: number },
): Uint8Array {
  const values = [factor % curve.r];
  for (let i = 1; i < count; i += 1) values.push(((values[i - 1] ?? 0n) * step) % curve.r);
  return scalarBytes(values, curve);
}

function scalarBytes(values: readonly bigint[], { frBytes }: CurveParameters): Uint8Array {
  const bytes = new Uint8Array(values.length * frBytes);
  for (const [i, value] of values.entries()) writeBigIntLE(value, bytes, i * frBytes, frBytes);
  return bytes;
}

/** Puts the points of a transform, which leaves them in bit-reversed order, in their own. */
function unreversed(points: Uint8Array, domainPower: number): Uint8Array {
  const size = 2 ** domainPower;
  const bytes = points.length / size;
  const ordered = new Uint8Array(points.length);
  for (let i = 0, reversed = 0; i < size; i += 1) {
    ordered.set(points.subarray(reversed * bytes, (reversed + 1) * bytes), i * bytes);
    let bit = size >> 1;
    for (; bit > 0 && (reversed & bit) !== 0; bit >>= 1) reversed ^= bit;
    reversed |= bit;
  }
  return ordered;
}

function withoutProgress({ executeRows }: PointRowOptions): PointRowOptions {
  return executeRows === undefined ? {} : { executeRows };
}

function sharedWords(count: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(4 * count));
}

function sharedWordsOf(words: Uint32Array): Uint32Array {
  const copy = sharedWords(words.length);
  copy.set(words);
  return copy;
}

function pointBytes(group: "g1" | "g2", { fqBytes }: CurveParameters): number {
  return (group === "g1" ? 2 : 4) * fqBytes;
}
