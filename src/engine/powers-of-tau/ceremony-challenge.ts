/**
 * The hash that binds a contribution to the powers that it left, and to which the next one answers: BLAKE2b-512 of the
 * response's hash and all points, uncompressed and big-endian (snarkjs after "Perpetual powers of tau"; RFC 7693).
 *
 * A point is x || y, a coordinate of G2 c1 || c0, in standard form.
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import type { AnyCurve } from "../curves/curve-parameters.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { writeBigIntLE } from "../field/bytes.js";
import type { Kernels } from "../kernels/kernels.js";
import type { Arena } from "../kernels/wasm/arena.js";
import type { PointSection, RangeFile } from "./file-layout.js";

/** Hashes the points of the sections, in the order of the file format. */
export interface ChallengeJob {
  readonly kind: "challenge";
  readonly responseHash: Uint8Array;
  readonly sections: readonly PointSection[];
}

/** BLAKE2b with 64 bytes. */
const ALGORITHM = "blake2b512";
/** Points converted at once. */
const CHUNK_POINTS = 1 << 13;
/**
 * Largest ceremony whose first challenge is computed when it is needed: 6 GB are hashed, in about ten seconds.
 */
const COMPUTED_POWER_MAX = 24;
/**
 * First challenges of larger ceremonies, as `computeFirstChallenge` makes them: in 15 seconds for 2^25, two minutes for
 * 2^28. That of 2^28 is also the one that the first attestation of "Perpetual powers of tau" names (BLAKE2b of
 * challenge_initial); test/long computes that of 2^25 anew.
 */
const KNOWN_FIRST_CHALLENGES: Readonly<Record<string, string>> = {
  "BN254 25":
    "661de6f41b1150ac7448085558e5ecdaae345272e662da9851b0ff3816901a2b2141722a38a35a314b41a53abba15f7198f30c57891111864081aa38d3012a5b",
  "BN254 26":
    "5140c98bda53f8c1fc3a25d574c409d5de41561b585b4224ab5ed369a98f2e41389c39c83b47470701e52261fa199918666181be3855d33e2ef19377365b038b",
  "BN254 27":
    "36bcd31f9d5ed309ded4a17ee8279e34eceec40b56be88e2fb604aebe2c714bafbf99218e7269f20ec3392bab9d45f5198b826c94bd3d3c2d780f46dfd65be67",
  "BN254 28":
    "93da91920d5a54a8a0fde55cd9dc3a10c4f3eef768b62c0948741370864254b4c1920f3f29d4ebc0ef3acecf2e2db63a755713d77e1ed77347a56fbc317c7a93",
};

/** Returns the bytes of kernel memory that `hashChallenge` takes. */
export function challengeBytes({ fq }: Kernels): number {
  return CHUNK_POINTS * 4 * (2 * fq.bytes + fq.elementBytes);
}

/** Computes the challenge; 0.2 s for 2^16. The points have canonical coordinates. */
export function hashChallenge(kernels: Kernels, arena: Arena, file: RangeFile, job: ChallengeJob): Uint8Array {
  const hash = createHash(ALGORITHM).update(job.responseHash);
  const bytesMax = CHUNK_POINTS * 4 * kernels.fq.bytes;
  const [raw, elements, plain] = [bytesMax, CHUNK_POINTS * 4 * kernels.fq.elementBytes, bytesMax].map((bytes) =>
    arena.take(bytes),
  ) as [number, number, number];
  for (const section of job.sections) {
    for (let first = 0; first < section.count; first += CHUNK_POINTS) {
      const bytes = Math.min(CHUNK_POINTS, section.count - first) * section.pointBytes;
      file.read(kernels.bytes(raw, bytes), section.offset + first * section.pointBytes);
      kernels.call("fq_import_foreign", elements, raw, bytes / kernels.fq.bytes);
      kernels.call("fq_export_plain", plain, elements, bytes / kernels.fq.bytes);
      // A coordinate of G2 is turned round as a whole: its bytes are then c1 || c0, each big-endian.
      hash.update(bigEndianPoints(kernels.bytes(plain, bytes), section.pointBytes / 2));
    }
  }
  return Uint8Array.from(hash.digest());
}

/**
 * Returns the challenge that the first contribution of a ceremony answers: the generators, unchanged. Undefined for a
 * ceremony so large that it takes too long to compute and is not known: none on BN254.
 */
export function firstChallenge(curve: AnyCurve, power: number): Uint8Array | undefined {
  const known = KNOWN_FIRST_CHALLENGES[`${curve.name} ${power}`];
  if (known !== undefined) return Uint8Array.from(Buffer.from(known, "hex"));
  return power > COMPUTED_POWER_MAX ? undefined : computeFirstChallenge(curve, power);
}

/** As `firstChallenge`, computed whatever it takes: 2^power times 384 bytes are hashed on BN254. */
export function computeFirstChallenge(curve: AnyCurve, power: number): Uint8Array {
  const size = 2 ** power;
  const [g1, g2] = [uncompressedG1(curve.generatorG1, curve), uncompressedG2(curve.generatorG2, curve)];
  const hash = createHash(ALGORITHM).update(createHash(ALGORITHM).digest());
  repeat(hash, g1, 2 * size - 1);
  repeat(hash, g2, size);
  repeat(hash, g1, 2 * size);
  hash.update(g2);
  return Uint8Array.from(hash.digest());
}

/** Returns x || y, big-endian. */
export function uncompressedG1({ x, y }: G1Point, curve: AnyCurve): Uint8Array {
  return bigEndian([x, y], curve.fqBytes);
}

/** Returns x.c1 || x.c0 || y.c1 || y.c0, big-endian. */
export function uncompressedG2({ x, y }: G2Point, curve: AnyCurve): Uint8Array {
  return bigEndian([x.c1, x.c0, y.c1, y.c0], curve.fqBytes);
}

/**
 * Turns the bytes of each group of `width` round, a multiple of 8; returns a copy. Points in standard form,
 * little-endian, are uncompressed points afterwards.
 * @param width half a point's bytes
 */
export function bigEndianPoints(bytes: Uint8Array, width: number): Uint8Array {
  const copy = Buffer.alloc(bytes.length);
  copy.set(bytes);
  copy.swap64();
  const words = new BigUint64Array(copy.buffer, copy.byteOffset, copy.length / 8);
  const perGroup = width / 8;
  for (let at = 0; at < words.length; at += perGroup) words.subarray(at, at + perGroup).reverse();
  return copy;
}

/** Returns BLAKE2b-512 of a short text and points: the seed of a proof of knowledge (contributions.ts). */
export function hashParts(parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash(ALGORITHM);
  for (const part of parts) hash.update(part);
  return Uint8Array.from(hash.digest());
}

function repeat(hash: Hash, point: Uint8Array, count: number): void {
  const block = Buffer.alloc(Math.min(count, CHUNK_POINTS) * point.length);
  for (let at = 0; at < block.length; at += point.length) block.set(point, at);
  for (let left = count; left > 0; left -= CHUNK_POINTS)
    hash.update(block.subarray(0, Math.min(left, CHUNK_POINTS) * point.length));
}

function bigEndian(values: readonly bigint[], bytes: number): Uint8Array {
  const all = new Uint8Array(values.length * bytes);
  for (const [i, value] of values.entries()) {
    writeBigIntLE(value, all, i * bytes, bytes);
    all.subarray(i * bytes, (i + 1) * bytes).reverse();
  }
  return all;
}
