/**
 * Points and scalars from a seed, exactly as ffjavascript draws them, because the proofs of knowledge and the beacons
 * of powers-of-tau files are made from them: a stream of ChaCha20 with nonce and counter 0 (RFC 8439, with a counter of
 * 64 bits).
 */
import { createCipheriv } from "node:crypto";
import type { Cipher } from "node:crypto";
import type { AnyCurve } from "../curves/curve-parameters.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { addFq2, inverse, multiplyFq2, negateFq2, reduce, squareRoot, squareRootFq2 } from "../field/prime-field.js";
import type { Fq2 } from "../field/prime-field.js";

/** The stream, word by word. */
export class SeededStream {
  readonly #cipher: Pick<Cipher, "update">;

  /** Takes the first 32 bytes of the seed as eight big-endian words. */
  constructor(seed: Uint8Array) {
    const words = new DataView(seed.buffer, seed.byteOffset, 32);
    const key = new Uint8Array(32);
    const swapped = new DataView(key.buffer);
    for (let at = 0; at < key.length; at += 4) swapped.setUint32(at, words.getUint32(at), true);
    this.#cipher = createCipheriv("chacha20", key, new Uint8Array(16));
  }

  /** Returns the next 32 bits. */
  nextWord(): number {
    const word = this.#cipher.update(new Uint8Array(4));
    return new DataView(word.buffer, word.byteOffset, 4).getUint32(0, true);
  }

  /** A residue below the prime, by rejection: words of 64 bits from the lowest on, each with its upper half first. */
  nextResidue(prime: bigint, bytes: number): bigint {
    const mask = (1n << BigInt(prime.toString(2).length)) - 1n;
    for (;;) {
      let value = 0n;
      for (let i = 0; i < bytes / 8; i += 1) {
        const upper = BigInt(this.nextWord());
        value |= ((upper << 32n) | BigInt(this.nextWord())) << BigInt(64 * i);
      }
      value &= mask;
      if (value < prime) return value;
    }
  }

  /** A scalar: the residue is its Montgomery form. */
  nextScalar({ r, frBytes }: AnyCurve): bigint {
    return (this.nextResidue(r, frBytes) * inverse(1n << BigInt(8 * frBytes), r)) % r;
  }

  /** A point of the curve; on a curve with a cofactor it may lie outside the subgroup. */
  nextPointG1(curve: AnyCurve): G1Point {
    const { q } = curve;
    for (;;) {
      const x = this.#nextCoordinate(curve);
      const isLarge = (this.nextWord() & 1) === 1;
      const root = squareRoot(reduce(x * x * x + curve.b, q), q);
      if (root !== undefined) return { x, y: isLarger(root, q) === isLarge ? root : reduce(-root, q) };
    }
  }

  /** A point of the twist, outside the subgroup. */
  nextPointOnTwist(curve: AnyCurve): G2Point {
    const { q } = curve;
    for (;;) {
      const c0 = this.#nextCoordinate(curve);
      const x = { c0, c1: this.#nextCoordinate(curve) };
      const isLarge = (this.nextWord() & 1) === 1;
      const root = squareRootFq2(addFq2(multiplyFq2(multiplyFq2(x, x, q), x, q), curve.twistB, q), q);
      if (root !== undefined) return { x, y: isLargerFq2(root, q) === isLarge ? root : negateFq2(root, q) };
    }
  }

  #nextCoordinate({ q, fqBytes }: AnyCurve): bigint {
    return (this.nextResidue(q, fqBytes) * inverse(1n << BigInt(8 * fqBytes), q)) % q;
  }
}

function isLarger(value: bigint, q: bigint): boolean {
  return 2n * value > q;
}

function isLargerFq2({ c0, c1 }: Fq2, q: bigint): boolean {
  return c1 === 0n ? isLarger(c0, q) : isLarger(c1, q);
}
