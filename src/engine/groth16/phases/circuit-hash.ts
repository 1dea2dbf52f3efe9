/**
 * The hash by which snarkjs names a circuit's key before its first contribution (BLAKE2b-512, RFC 7693): the header's
 * points, then IC, the powers behind H, C, A, B1 and B2, each with its number of points. Points are uncompressed and
 * big-endian, infinity as zeros. Every contribution of phase 2 answers it.
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import { WASM_PAGE_BYTES } from "../../circuit/wasm-memory.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../kernels/kernels.js";
import type { Kernels } from "../../kernels/kernels.js";
import { Arena } from "../../kernels/wasm/arena.js";
import { bigEndianPoints, uncompressedG1, uncompressedG2 } from "../../powers-of-tau/ceremony-challenge.js";
import type { ZkeyHeaderPoints } from "../zkey-writer.js";

/** Points of a key with delta = 1, affine, Montgomery form, little-endian. */
export interface HashedKey {
  readonly header: ZkeyHeaderPoints;
  readonly ic: Uint8Array;
  /** tau^(n + i) - tau^i in G1 for every i below n - 1, and those that snarkjs hashes behind them (`hashedCount`). */
  readonly vanishing: Uint8Array;
  readonly domainPower: number;
  readonly c: Uint8Array;
  readonly a: Uint8Array;
  readonly b1: Uint8Array;
  readonly b2: Uint8Array;
}

/** Points converted at once. */
const CHUNK_POINTS = 1 << 13;
/** snarkjs hashes the powers behind H in parts of this many points. */
const SNARKJS_CHUNK_POINTS = 1 << 14;

/**
 * Returns how many of the powers behind H are hashed: n - 1, but for domains of more than one part n, because the last
 * part is as long as the others there.
 */
export function hashedCount(domainPower: number): number {
  const size = 2 ** domainPower;
  return size - 1 > SNARKJS_CHUNK_POINTS ? size : size - 1;
}

/** Computes the hash, 64 bytes; about 0.3 s for 60,000 wires. */
export function circuitHash(curve: CurveParameters, key: HashedKey): Uint8Array {
  const hash = createHash("blake2b512");
  const { header } = key;
  for (const point of [header.alphaG1, header.betaG1]) hash.update(uncompressedG1(point, curve));
  for (const point of [header.betaG2, curve.generatorG2]) hash.update(uncompressedG2(point, curve));
  hash.update(uncompressedG1(curve.generatorG1, curve)).update(uncompressedG2(curve.generatorG2, curve));
  const points = new PointHasher(hash, curve);
  points.update("g1", key.ic);
  points.update("g1", key.vanishing, 2 ** key.domainPower - 1);
  points.update("g1", key.c);
  points.update("g1", key.a);
  points.update("g1", key.b1);
  points.update("g2", key.b2);
  return Uint8Array.from(hash.digest());
}

class PointHasher {
  readonly #hash: Hash;
  readonly #kernels: Kernels;
  readonly #raw: number;
  readonly #elements: number;
  readonly #plain: number;

  constructor(hash: Hash, curve: CurveParameters) {
    const sizing = loadKernels({ pages: 1, curve });
    const coordinates = 4 * CHUNK_POINTS;
    const bytes = coordinates * (2 * sizing.fq.bytes + sizing.fq.elementBytes) + WASM_PAGE_BYTES;
    const pages = Math.ceil((KERNEL_RESERVED_BYTES + bytes) / WASM_PAGE_BYTES);
    this.#hash = hash;
    this.#kernels = loadKernels({ pages, curve, preferred: sizing.kind });
    const arena = new Arena(KERNEL_RESERVED_BYTES, pages * WASM_PAGE_BYTES);
    this.#raw = arena.take(coordinates * sizing.fq.bytes);
    this.#elements = arena.take(coordinates * sizing.fq.elementBytes);
    this.#plain = arena.take(coordinates * sizing.fq.bytes);
  }

  /** Hashes the number of the points and the points. */
  update(group: "g1" | "g2", points: Uint8Array, said?: number): void {
    const { fq } = this.#kernels;
    const pointBytes = (group === "g1" ? 2 : 4) * fq.bytes;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(said ?? points.length / pointBytes);
    this.#hash.update(count);
    for (let at = 0; at < points.length; at += CHUNK_POINTS * pointBytes) {
      const chunk = points.subarray(at, at + CHUNK_POINTS * pointBytes);
      this.#kernels.bytes(this.#raw, chunk.length).set(chunk);
      this.#kernels.call("fq_import_foreign", this.#elements, this.#raw, chunk.length / fq.bytes);
      this.#kernels.call("fq_export_plain", this.#plain, this.#elements, chunk.length / fq.bytes);
      this.#hash.update(bigEndianPoints(this.#kernels.bytes(this.#plain, chunk.length), pointBytes / 2));
    }
  }
}
