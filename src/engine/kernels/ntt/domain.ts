/**
 * Transforms between the values of a polynomial on a domain of roots of unity and its coefficients, with tables that
 * are made once and may be shared by threads. Only the powers of the root itself are stored: the way back uses them
 * too, and so gives its result in the order 0, n-1, n-2, ..., 1.
 *
 * A vector of n elements is ceil(n / lanes) blocks (field.ts).
 */
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { inverse, power } from "../../field/prime-field.js";
import type { Kernels } from "../kernels.js";

/** Elements that stay in the second-level cache while several layers pass over them: 2^13 of 40 bytes are 320 KiB. */
const CACHE_LOG = 13;
/**
 * A transform is cut into at most 2^4 blocks: enough for 2^17 elements in cache-sized blocks, and for the threads of a
 * large machine.
 */
const DEPTH_MAX = 4;
/** Smaller blocks are not worth a pass of their own. */
const BLOCK_LOG_MIN = 12;

/** The transforms over one domain of 2^log elements, on vectors at addresses of blocks. */
export class Domain {
  readonly log: number;
  readonly size: number;
  readonly #kernels: Kernels;
  readonly #tables: number;
  readonly #lanes: number;
  readonly #blockBytes: number;

  /** `tables` is the address of what `writeDomainTables` wrote for the same size. */
  constructor(kernels: Kernels, log: number, tables: number) {
    this.#kernels = kernels;
    this.log = log;
    this.size = 2 ** log;
    this.#tables = tables;
    this.#lanes = kernels.fr.lanes;
    this.#blockBytes = kernels.fr.elementBytes * this.#lanes;
  }

  /**
   * Natural order to bit-reversed: element k of the result, at the place of k's reversed bits, is sum over i of data_i
   * * root^(i k).
   */
  forward(data: number): void {
    for (let slice = 0; slice < this.slices; slice += 1) this.forwardSlice(data, slice);
    for (let block = 0; block < this.blocks; block += 1) this.forwardBlock(data, block);
  }

  /** Bit-reversed order to natural: element i of the result is sum over k of data_k * root^(i k). */
  backward(data: number): void {
    for (let block = 0; block < this.blocks; block += 1) this.backwardBlock(data, block);
    for (let slice = 0; slice < this.slices; slice += 1) this.backwardSlice(data, slice);
  }

  /**
   * Runs the outer layers of `forward`, those that pair elements of different blocks, for one slice: the same places of
   * every block. Slices have no elements in common and may run in any order; the blocks follow when all are done.
   */
  forwardSlice(data: number, slice: number): void {
    for (let half = this.size / 2; half >= this.blockSize; half /= 2) this.#outerLayer("fr_dif_run", data, slice, half);
  }

  /** Runs the outer layers of `backward` for one slice, when all blocks are done. */
  backwardSlice(data: number, slice: number): void {
    for (let half = this.blockSize; half < this.size; half *= 2) this.#outerLayer("fr_dit_run", data, slice, half);
  }

  /** Runs the inner layers of `forward` for one block, when all slices are done. */
  forwardBlock(data: number, block: number): void {
    this.#layersDown(data + this.#bytesOf(block * this.blockSize), this.log - this.#depth);
  }

  /** Runs the inner layers of `backward` for one block; blocks may run in any order. */
  backwardBlock(data: number, block: number): void {
    this.#layersUp(data + this.#bytesOf(block * this.blockSize), this.log - this.#depth);
  }

  /** Blocks that a transform is cut into, of `blockSize` elements. */
  get blocks(): number {
    return 2 ** this.#depth;
  }

  get blockSize(): number {
    return 2 ** (this.log - this.#depth);
  }

  /** Neighbouring elements that a slice has in each block: all of a slice together fit the cache. */
  get sliceRun(): number {
    return Math.min(this.blockSize, 2 ** (CACHE_LOG - this.#depth));
  }

  /** Slices that the outer layers are cut into. */
  get slices(): number {
    return this.blockSize / this.sliceRun;
  }

  get #depth(): number {
    return Math.max(0, Math.min(DEPTH_MAX, this.log - BLOCK_LOG_MIN));
  }

  /** Butterflies at distance `half`, a multiple of the block size, between the slice's runs. */
  #outerLayer(name: string, data: number, slice: number, half: number): void {
    const first = slice * this.sliceRun;
    for (let run = first; run < this.size; run += this.blockSize) {
      if (run % (2 * half) >= half) continue;
      const low = data + this.#bytesOf(run);
      this.#kernels.call(
        name,
        low,
        low + this.#bytesOf(half),
        this.sliceRun / this.#lanes,
        this.#tables + this.#bytesOf(half + (run % half)),
      );
    }
  }

  /** `elements` is a multiple of the lanes. */
  #bytesOf(elements: number): number {
    return (elements / this.#lanes) * this.#blockBytes;
  }

  /** Decimation in frequency: one layer over all, then each half by itself while a half does not fit the cache. */
  #layersDown(data: number, log: number): void {
    if (log > CACHE_LOG) {
      const half = 2 ** (log - 1);
      this.#layer("fr_dif_layer", data, half, 1);
      this.#layersDown(data, log - 1);
      this.#layersDown(data + (half / this.#lanes) * this.#blockBytes, log - 1);
      return;
    }
    for (let half = 2 ** (log - 1); half >= this.#lanes; half /= 2)
      this.#layer("fr_dif_layer", data, half, 2 ** log / (2 * half));
    if (this.#lanes === 2 && log > 0) this.#kernels.call("fr_pair_layer", data, 2 ** (log - 1));
  }

  #layersUp(data: number, log: number): void {
    if (log > CACHE_LOG) {
      const half = 2 ** (log - 1);
      this.#layersUp(data, log - 1);
      this.#layersUp(data + (half / this.#lanes) * this.#blockBytes, log - 1);
      this.#layer("fr_dit_layer", data, half, 1);
      return;
    }
    if (this.#lanes === 2 && log > 0) this.#kernels.call("fr_pair_layer", data, 2 ** (log - 1));
    for (let half = this.#lanes; half < 2 ** log; half *= 2)
      this.#layer("fr_dit_layer", data, half, 2 ** log / (2 * half));
  }

  #layer(name: string, data: number, half: number, groups: number): void {
    this.#kernels.call(name, data, half / this.#lanes, groups, this.#tables + (half / this.#lanes) * this.#blockBytes);
  }
}

/** Returns the bytes of a vector of 2^log elements, and of the tables of that domain. */
export function vectorBytes(kernels: Kernels, log: number): number {
  return Math.max(1, 2 ** log / kernels.fr.lanes) * kernels.fr.elementBytes * kernels.fr.lanes;
}

/** Addresses of a table, of `vectorBytes` bytes, and of 256 bytes of scratch. */
interface TablePlace {
  readonly target: number;
  readonly scratch: number;
}

/** Writes root^j for every layer: the powers of the root of order 2 * half stand from element `half` on. */
export function writeDomainTables(kernels: Kernels, log: number, { target, scratch }: TablePlace): void {
  const { lanes, elementBytes } = kernels.fr;
  for (let layerLog = 1; layerLog <= log; layerLog += 1) {
    const half = 2 ** (layerLog - 1);
    if (half < lanes) continue;
    const root = rootOfUnity(kernels.curve, layerLog);
    writeGeometric(kernels, {
      target: target + half * elementBytes,
      log: layerLog - 1,
      first: 1n,
      ratioOfDoubling: (done) => power(root, BigInt(done), kernels.curve.r),
      scratch,
    });
  }
}

/**
 * Writes the factors that take the result of `forward` on values (coefficients times the size n, in the reversed order
 * of the way back) to coefficients for the coset of `shift`: the place of k's reversed bits gets shift^((n - k) mod n)
 * / n.
 */
export function writeCosetScale(
  kernels: Kernels,
  { log, shift }: { readonly log: number; readonly shift: bigint },
  place: TablePlace,
): void {
  writePowers(kernels, { log, base: shift, factor: inverse(2n ** BigInt(log), kernels.curve.r) }, place);
}

/**
 * Writes factor * base^j for the coefficients j = 0 to n - 1 of a polynomial in the order in which `forward` on values
 * gives them: the place of k's reversed bits belongs to j = (n - k) mod n.
 */
export function writePowers(
  kernels: Kernels,
  { log, base, factor }: { readonly log: number; readonly base: bigint; readonly factor: bigint },
  { target, scratch }: TablePlace,
): void {
  const { r } = kernels.curve;
  const size = 2n ** BigInt(log);
  const inverseBase = inverse(base, r);
  const first = (power(base, size, r) * factor) % r;
  writeGeometric(kernels, {
    target,
    log,
    first,
    ratioOfDoubling: (done) => power(inverseBase, size / BigInt(2 * done), r),
    scratch,
  });
  writeElements(
    kernels,
    target,
    [factor, ...(log > 0 ? [(first * power(inverseBase, size / 2n, r)) % r] : [])],
    scratch,
  );
}

/** Returns the place of each of the 2^log coefficients in the order that `writePowers` names. */
export function coefficientPlaces(log: number): Uint32Array {
  const size = 2 ** log;
  const places = new Uint32Array(size);
  let reversed = 0;
  for (let k = 0; k < size; k += 1) {
    places[(size - k) % size] = reversed;
    let bit = size >>> 1;
    for (; bit > 0 && (reversed & bit) !== 0; bit >>>= 1) reversed ^= bit;
    reversed |= bit;
  }
  return places;
}

interface Geometric {
  readonly target: number;
  readonly log: number;
  readonly first: bigint;
  /** Factor from elements 0..done-1 to elements done..2*done-1. */
  readonly ratioOfDoubling: (done: number) => bigint;
  readonly scratch: number;
}

/** Writes 2^log elements, each half of the table from the one before. */
function writeGeometric(kernels: Kernels, series: Geometric): void {
  const { lanes, elementBytes } = kernels.fr;
  const { target, scratch } = series;
  const size = 2 ** series.log;
  let done = Math.min(lanes, size);
  const start =
    done === 2 ? [series.first, (series.first * series.ratioOfDoubling(1)) % kernels.curve.r] : [series.first];
  writeElements(kernels, target, start, scratch);
  while (done < size) {
    const factor = scratch + 128;
    kernels.writeInteger(scratch, series.ratioOfDoubling(done), kernels.fr.bytes);
    kernels.call("fr_import_plain", factor, scratch, 1);
    kernels.call("fr_scale_blocks", target + done * elementBytes, target, done / lanes, factor);
    done *= 2;
  }
}

/** Writes up to one block of elements. */
function writeElements(kernels: Kernels, block: number, values: readonly bigint[], scratch: number): void {
  for (const [lane, value] of values.entries()) {
    kernels.writeInteger(scratch, value, kernels.fr.bytes);
    kernels.call("fr_import_plain", scratch + 128, scratch, 1);
    kernels.call("fr_scatter_blocks", block, scratch + 128, lane, 1);
  }
}
