/**
 * The random weights of a check, one of 128 bits for each place of a section, and what they mean for Lagrange points.
 * They are drawn after the file is fixed, so that whoever made it could not know them: an equation between weighted
 * sums then holds for wrong points with probability 2^-128.
 */
import { createCipheriv } from "node:crypto";
import { readBigIntLE } from "../field/bytes.js";
import { power as powerModulo, inverse } from "../field/prime-field.js";
import { Domain, coefficientPlaces, vectorBytes, writeDomainTables } from "../kernels/ntt/domain.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels/kernels.js";
import type { Kernels } from "../kernels/kernels.js";
import { Arena, align } from "../kernels/wasm/arena.js";
import { WASM_PAGE_BYTES } from "../circuit/wasm-memory.js";
import type { AnyCurve } from "../curves/curve-parameters.js";

/** Bytes of the seed from which all weights of a check follow. */
export const SEED_BYTES = 16;
/** Random bytes of a weight: one block of AES. */
const WEIGHT_BYTES = 16;
/** Weights written at once. */
const CHUNK_WEIGHTS = 1 << 14;
/** Alignment, tables' scratch, factors. */
const FIXED_BYTES = 1 << 12;

/**
 * Writes the weights of the places from `first` on as scalars of `scalarBytes` bytes, little-endian. Weight i is block
 * i of AES-128 in counter mode.
 */
export function writeWeights(
  target: Uint8Array,
  seed: Uint8Array,
  { first, scalarBytes }: { readonly first: number; readonly scalarBytes: number },
): void {
  const counter = Buffer.alloc(WEIGHT_BYTES);
  counter.writeBigUInt64BE(BigInt(first), 8);
  const cipher = createCipheriv("aes-128-ctr", seed, counter);
  const words = new Uint32Array(target.buffer, target.byteOffset, target.length / 4);
  const [perWeight, perScalar] = [WEIGHT_BYTES / 4, scalarBytes / 4];
  const count = target.length / scalarBytes;
  words.fill(0);
  for (let from = 0; from < count; from += CHUNK_WEIGHTS) {
    const size = Math.min(CHUNK_WEIGHTS, count - from);
    const random = cipher.update(new Uint8Array(size * WEIGHT_BYTES));
    const source = new Uint32Array(random.buffer, random.byteOffset, size * perWeight);
    for (let i = 0; i < size; i += 1) {
      for (let k = 0; k < perWeight; k += 1) words[(from + i) * perScalar + k] = source[i * perWeight + k] ?? 0;
    }
  }
}

/** Returns the weight of place 0. */
export function firstWeight(seed: Uint8Array): bigint {
  const scalar = new Uint8Array(WEIGHT_BYTES);
  writeWeights(scalar, seed, { first: 0, scalarBytes: WEIGHT_BYTES });
  return readBigIntLE(scalar, 0, WEIGHT_BYTES);
}

/**
 * Returns the scalars by which the powers of tauG1 must be weighted to give the weighted sum of its Lagrange points, of
 * the levels 0 to power + 1: 2^(power + 1) scalars. A Lagrange point of a domain of size m at root^i is 1/m * sum over
 * j of root^(-i j) tau^j, so its weight goes to the powers by one transform for each level. 0.1 s for 2^16 on one
 * thread.
 */
export function lagrangeCoefficients(curve: AnyCurve, power: number, seed: Uint8Array): Uint8Array {
  const sizing = loadKernels({ pages: 1, curve });
  const { bytes, elementBytes } = sizing.fr;
  const size = 2 ** (power + 1);
  const total = KERNEL_RESERVED_BYTES + 3 * align(vectorBytes(sizing, power + 1)) + size * (bytes + elementBytes + 4);
  const pages = Math.ceil((total + FIXED_BYTES) / WASM_PAGE_BYTES);
  const kernels = loadKernels({ pages, curve, preferred: sizing.kind });
  const levels = new Levels(kernels, new Arena(KERNEL_RESERVED_BYTES, pages * WASM_PAGE_BYTES), power + 1);
  for (let level = 0; level <= power + 1; level += 1) levels.add(level, seed);
  return levels.export(power + 1);
}

/** Sums the levels' coefficients in a kernel memory. */
class Levels {
  readonly #kernels: Kernels;
  readonly #sum: number;
  readonly #vector: number;
  readonly #tables: number;
  readonly #scalars: number;
  readonly #elements: number;
  readonly #places: number;
  readonly #scratch: number;

  constructor(kernels: Kernels, arena: Arena, log: number) {
    const { fr } = kernels;
    this.#kernels = kernels;
    [this.#sum, this.#vector, this.#tables] = [0, 1, 2].map(() => arena.take(vectorBytes(kernels, log))) as [
      number,
      number,
      number,
    ];
    this.#scalars = arena.take(2 ** log * fr.bytes);
    this.#elements = arena.take(2 ** log * fr.elementBytes);
    this.#places = arena.take(4 * 2 ** log);
    this.#scratch = arena.take(256);
    writeDomainTables(kernels, log, { target: this.#tables, scratch: this.#scratch });
    kernels.bytes(this.#sum, vectorBytes(kernels, log)).fill(0);
  }

  add(level: number, seed: Uint8Array): void {
    const kernels = this.#kernels;
    const { fr, curve } = kernels;
    const size = 2 ** level;
    const blocks = Math.max(1, size / fr.lanes);
    const vector = this.#vector;
    const scalars = kernels.bytes(this.#scalars, size * fr.bytes);
    // Level l of a Lagrange section begins behind the 2^l - 1 points of the levels below.
    writeWeights(scalars, seed, { first: size - 1, scalarBytes: fr.bytes });
    kernels.call("fr_import_plain", this.#elements, this.#scalars, size);
    kernels.bytes(vector, blocks * fr.lanes * fr.elementBytes).fill(0);
    kernels.call("fr_scatter_blocks", vector, this.#elements, 0, size);
    if (level > 0) {
      new Domain(kernels, level, this.#tables).forward(vector);
      kernels.words(this.#places, size).set(coefficientPlaces(level));
      kernels.call("fr_order_elements", this.#elements, vector, this.#places, size, fr.elementBytes);
      kernels.call("fr_scatter_blocks", vector, this.#elements, 0, size);
    }
    const factor = this.#scratch + 128;
    kernels.writeInteger(this.#scratch, inverse(powerModulo(2n, BigInt(level), curve.r), curve.r), fr.bytes);
    kernels.call("fr_import_plain", factor, this.#scratch, 1);
    kernels.call("fr_add_scaled", this.#sum, vector, blocks, factor);
  }

  export(log: number): Uint8Array {
    const kernels = this.#kernels;
    const { fr } = kernels;
    const size = 2 ** log;
    kernels.call("fr_export_blocks", this.#scalars, this.#sum, size / fr.lanes);
    return kernels.bytes(this.#scalars, size * fr.bytes).slice();
  }
}
