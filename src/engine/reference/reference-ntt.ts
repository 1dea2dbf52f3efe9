/**
 * Part of the reference (reference-arena.ts): number-theoretic transforms over the scalar field on a domain of
 * 2^domainPower elements. Interpolation leaves its result in
 * bit-reversed order and evaluation starts from that order, so that elements are never permuted; twiddle factors are
 * stored, not recomputed.
 */
import { writeBigIntLE } from "../field/bytes.js";
import { inverse } from "../field/prime-field.js";
import type { ReferenceArena } from "./reference-arena.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import type { CurveParameters } from "../curves/curve-parameters.js";

/** Writes a scalar in Montgomery form into newly allocated arena memory and returns its pointer. */
export function putScalar(arena: ReferenceArena, value: bigint): number {
  const bytes = new Uint8Array(arena.fr.bytes);
  writeBigIntLE(value, bytes);
  const pointer = arena.put(bytes);
  arena.fr.toMontgomery(pointer, pointer);
  return pointer;
}

/** Tables for one domain, in the arena's memory; they are given back with the scope that made them. */
export class NttDomain {
  readonly size: number;
  readonly #arena: ReferenceArena;
  readonly #twiddles: number;
  readonly #shifts: number;
  readonly #domainPower: number;
  readonly #sizeInverse: bigint;

  /** Makes the tables of the domain and of the coset that the square root of its generator shifts it to. */
  constructor(arena: ReferenceArena, curve: CurveParameters, domainPower: number) {
    this.#arena = arena;
    this.size = 2 ** domainPower;
    this.#domainPower = domainPower;
    this.#sizeInverse = inverse(BigInt(this.size), curve.r);
    const half = Math.max(1, this.size / 2);
    this.#twiddles = arena.alloc(half * arena.fr.bytes);
    this.#shifts = arena.alloc(this.size * arena.fr.bytes);
    arena.scoped(() => {
      const generator = putScalar(arena, rootOfUnity(curve, domainPower));
      const shift = putScalar(arena, rootOfUnity(curve, domainPower + 1));
      const sizeInverse = putScalar(arena, this.#sizeInverse);
      const { bytes, mul, copy, one } = arena.fr;
      one(this.#twiddles);
      for (let i = 1; i < half; i += 1) mul(this.#twiddles + (i - 1) * bytes, generator, this.#twiddles + i * bytes);
      // shift^i / size, laid out in the order in which interpolation leaves the coefficients.
      const current = arena.alloc(bytes);
      copy(sizeInverse, current);
      for (let i = 0; i < this.size; i += 1) {
        copy(current, this.#shifts + reverseBits(i, domainPower) * bytes);
        mul(current, shift, current);
      }
    });
  }

  /**
   * Replaces the values of a polynomial on the domain by those on the shifted coset: the odd points of the domain of
   * twice the size. Montgomery form.
   */
  moveToCoset(values: number): void {
    this.#interpolate(values);
    const { bytes, mul } = this.#arena.fr;
    for (let i = 0, end = this.size * bytes; i < end; i += bytes) mul(values + i, this.#shifts + i, values + i);
    this.#evaluate(values);
  }

  /** Replaces the values of a polynomial on the domain by its coefficients, from the lowest on. Montgomery form. */
  toCoefficients(values: number): void {
    this.#interpolate(values);
    const { bytes, mul, copy } = this.#arena.fr;
    this.#arena.scoped(() => {
      const sizeInverse = putScalar(this.#arena, this.#sizeInverse);
      const kept = this.#arena.alloc(bytes);
      for (let i = 0; i < this.size; i += 1) {
        const at = values + i * bytes;
        const other = values + reverseBits(i, this.#domainPower) * bytes;
        mul(at, sizeInverse, at);
        // Both of a pair are scaled once the later one is; then they change places.
        if (other >= at) continue;
        copy(at, kept);
        copy(other, at);
        copy(kept, other);
      }
    });
  }

  /** Values to `size` times the coefficients, in bit-reversed order (decimation in frequency, inverse root). */
  #interpolate(values: number): void {
    const { bytes, add, sub, mul } = this.#arena.fr;
    const difference = this.#arena.scoped(() => this.#arena.alloc(bytes));
    const twiddles = this.#twiddles;
    const middle = (this.size / 2) * bytes;
    for (let half = this.size / 2; half >= 1; half /= 2) {
      const stride = (this.size / (2 * half)) * bytes,
        halfBytes = half * bytes;
      for (let block = 0; block < this.size * bytes; block += 2 * halfBytes) {
        // The first butterfly's root is one. For the others w^-k = -w^(n/2 - k), so the difference is taken the other
        // way round.
        let low = values + block,
          high = low + halfBytes;
        sub(low, high, difference);
        add(low, high, low);
        this.#arena.fr.copy(difference, high);
        for (let j = 1, twiddle = twiddles + middle - stride; j < half; j += 1, twiddle -= stride) {
          low += bytes;
          high += bytes;
          sub(high, low, difference);
          add(low, high, low);
          mul(difference, twiddle, high);
        }
      }
    }
  }

  /** Coefficients in bit-reversed order to values in natural order (decimation in time). */
  #evaluate(values: number): void {
    const { bytes, add, sub, mul } = this.#arena.fr;
    const product = this.#arena.scoped(() => this.#arena.alloc(bytes));
    for (let half = 1; half < this.size; half *= 2) {
      const stride = (this.size / (2 * half)) * bytes,
        halfBytes = half * bytes;
      for (let block = 0; block < this.size * bytes; block += 2 * halfBytes) {
        let low = values + block,
          high = low + halfBytes;
        this.#arena.fr.copy(high, product);
        sub(low, product, high);
        add(low, product, low);
        for (let j = 1, twiddle = this.#twiddles + stride; j < half; j += 1, twiddle += stride) {
          low += bytes;
          high += bytes;
          mul(high, twiddle, product);
          sub(low, product, high);
          add(low, product, low);
        }
      }
    }
  }
}

function reverseBits(value: number, bits: number): number {
  let reversed = 0;
  for (let i = 0; i < bits; i += 1) reversed = (reversed << 1) | ((value >>> i) & 1);
  return reversed;
}
