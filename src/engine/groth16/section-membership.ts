/**
 * Tests whether all points of a key's section are in the subgroup of order r. One by one that takes some seconds per
 * 100,000 points. A sum of points with small weights would miss parts of small order, which the cofactors of BLS12-381
 * have (3 in G1, 13 in G2). So each pass throws the points into buckets at random and tests the sum of every bucket:
 * whatever the others do, a wrong point must fall into the one bucket that it corrects, and a wrong section passes with
 * probability 1 / BUCKETS at most.
 */
import { randomBytes } from "node:crypto";
import type { PairingKernels } from "../curves/curve-kernels.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { decodeG1, decodeG2 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels/kernels.js";
import type { Kernels } from "../kernels/kernels.js";
import { PointTrees } from "../kernels/point/point-tree.js";
import { Arena } from "../kernels/wasm/arena.js";

type Group = "G1" | "G2";

const BUCKETS = 256;
/** 2^-40 for a wrong section. */
const PASSES = 5;
/** Fewer points are tested one by one. */
const POINTS_MIN = 2 * BUCKETS * PASSES;
/** Points that are in memory at the same time: 8 or 16 MiB. */
const CHUNK_POINTS = 1 << 16;
/** Memory for a chunk of points of G2, their lists, and a group of their trees. */
const PAGES = 640;
const PAGE_BYTES = 65_536;

/**
 * Returns whether all finite points of a section are in the subgroup.
 * @param pairing tests the points, or their sums
 * @param points on their curve, in the form of zkey files
 */
export function areAllInSubgroup(pairing: PairingKernels, group: Group, points: Uint8Array): boolean {
  const { curve } = pairing;
  if (group === "G1" && curve.cofactorG1 === 1n) return true;
  const pointBytes = (group === "G1" ? 2 : 4) * curve.fqBytes;
  if (points.length < POINTS_MIN * pointBytes) return areMembers(pairing, group, points);
  const buckets = new RandomBuckets(curve, group);
  for (let from = 0; from < points.length; from += CHUNK_POINTS * pointBytes) {
    const chunk = points.subarray(from, from + CHUNK_POINTS * pointBytes);
    if (!buckets.holdMembers(chunk, (sums) => areMembers(pairing, group, sums))) return false;
  }
  return true;
}

function areMembers(pairing: PairingKernels, group: Group, points: Uint8Array): boolean {
  const { curve } = pairing;
  const pointBytes = (group === "G1" ? 2 : 4) * curve.fqBytes;
  const g1: G1Point[] = [];
  const g2: G2Point[] = [];
  for (let at = 0; at < points.length; at += pointBytes) {
    if (isInfinity(points, at, pointBytes)) continue;
    const point = group === "G1" ? decodeG1(points, at, curve) : decodeG2(points, at, curve);
    if (point === undefined) return false;
    if (typeof point.x === "bigint") g1.push(point as G1Point);
    else g2.push(point as G2Point);
  }
  return !pairing.areInSubgroupG1(g1).includes(false) && !pairing.areInSubgroupG2(g2).includes(false);
}

/** Sums of points by random buckets, in a memory of their own. */
class RandomBuckets {
  readonly #kernels: Kernels;
  readonly #arena: Arena;
  readonly #group: "g1" | "g2";

  constructor(curve: CurveParameters, group: Group) {
    this.#kernels = loadKernels({ curve, pages: PAGES });
    this.#arena = new Arena(KERNEL_RESERVED_BYTES, PAGES * PAGE_BYTES);
    this.#group = group === "G1" ? "g1" : "g2";
  }

  /** Returns whether the test holds for the sums of all buckets, in each pass; infinity as zeros. */
  holdMembers(points: Uint8Array, test: (sums: Uint8Array) => boolean): boolean {
    return this.#arena.scoped(() => {
      const places = this.#import(points);
      for (let pass = 0; pass < PASSES; pass += 1) if (!test(this.#sums(places))) return false;
      return true;
    });
  }

  /** Returns the addresses of the finite points. */
  #import(points: Uint8Array): Uint32Array {
    const kernels = this.#kernels;
    const { pointBytes } = kernels[this.#group];
    const coordinates = this.#group === "g1" ? 2 : 4;
    const rawBytes = coordinates * kernels.fq.bytes;
    const count = points.length / rawBytes;
    const target = this.#arena.take(count * pointBytes);
    this.#arena.scoped(() => {
      const raw = this.#arena.take(points.length);
      kernels.bytes(raw, points.length).set(points);
      kernels.call("fq_import_foreign", target, raw, count * coordinates);
    });
    const finite = [...Array(count).keys()].filter((i) => !isInfinity(points, i * rawBytes, rawBytes));
    return Uint32Array.from(finite, (i) => target + i * pointBytes);
  }

  #sums(places: Uint32Array): Uint8Array {
    const kernels = this.#kernels;
    return this.#arena.scoped(() => {
      const buckets = randomBytes(places.length);
      const counts = new Uint32Array(BUCKETS);
      for (const bucket of buckets) counts[bucket] = (counts[bucket] ?? 0) + 1;
      const items = this.#arena.take(4 * places.length);
      const trees = new PointTrees(kernels, this.#group, this.#arena);
      const tree = trees.create(BUCKETS, items);
      tree.counts.set(counts);
      let next = 0;
      for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
        tree.starts[bucket] = next;
        next += counts[bucket] ?? 0;
      }
      const free = tree.starts.slice();
      const words = kernels.words(items, places.length);
      for (const [i, bucket] of buckets.entries()) {
        const place = free[bucket] ?? 0;
        words[place] = places[i] ?? 0;
        free[bucket] = place + 1;
      }
      trees.sum(tree);
      return this.#export(Array.from({ length: BUCKETS }, (_, bucket) => trees.resultWord(tree, bucket)));
    });
  }

  #export(words: readonly number[]): Uint8Array {
    const kernels = this.#kernels;
    const coordinates = this.#group === "g1" ? 2 : 4;
    const rawBytes = coordinates * kernels.fq.bytes;
    const sums = new Uint8Array(words.length * rawBytes);
    const out = this.#arena.take(rawBytes);
    for (const [i, word] of words.entries()) {
      if (word === 0 || kernels.callOne(`${this.#group}_is_marked`, word) === 1) continue;
      kernels.call("fq_export_foreign", out, word, coordinates);
      sums.set(kernels.bytes(out, rawBytes), i * rawBytes);
    }
    return sums;
  }
}

function isInfinity(bytes: Uint8Array, from: number, length: number): boolean {
  for (let at = from; at < from + length; at += 1) if (bytes[at] !== 0) return false;
  return true;
}
