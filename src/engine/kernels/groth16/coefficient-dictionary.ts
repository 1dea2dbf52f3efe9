/** Stores each distinct coefficient of a proving key once: see `CoefficientDictionary`. */
import { randomBytes } from "node:crypto";

/** Bytes of a coefficient in the entries of a zkey. */
const COEFFICIENT_VALUE_BYTES = 32;

/**
 * Numbers the distinct coefficients of a key in the order of their first use; number 0 is the value 0. A key has
 * millions of entries and few values.
 */
export class CoefficientDictionary {
  readonly #entries: Uint8Array;
  readonly #view: DataView;
  /** Numbers of the values by hash; there is hardly ever more than one. */
  readonly #numbers = new Map<number, number[]>();
  readonly #offsets: number[] = [];
  /** Odd and secret, so that no author of a circuit can choose coefficients that all have the same hash. */
  readonly #multiplier = randomBytes(4).readUInt32LE() | 1;

  constructor(entries: Uint8Array) {
    this.#entries = entries;
    this.#view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength);
  }

  /** Numbers given so far, that of the value 0 included. */
  get size(): number {
    return this.#offsets.length + 1;
  }

  /** Returns the number of the value at an offset in the entries, a new one when it is seen for the first time. */
  numberOf(offset: number): number {
    const hash = this.#hashOf(offset);
    const candidates = this.#numbers.get(hash) ?? [];
    const existing = candidates.find((number) => this.#isSame(this.#offsets[number - 1] ?? 0, offset));
    if (existing !== undefined) return existing;
    this.#offsets.push(offset);
    const number = this.#offsets.length;
    candidates.push(number);
    this.#numbers.set(hash, candidates);
    return number;
  }

  /** Returns the values by number, in the form that they have in the entries. */
  values(): Uint8Array {
    const bytes = new Uint8Array(this.size * COEFFICIENT_VALUE_BYTES);
    for (const [i, offset] of this.#offsets.entries()) {
      bytes.set(this.#entries.subarray(offset, offset + COEFFICIENT_VALUE_BYTES), (i + 1) * COEFFICIENT_VALUE_BYTES);
    }
    return bytes;
  }

  #hashOf(offset: number): number {
    let hash = 0;
    for (let at = 0; at < COEFFICIENT_VALUE_BYTES; at += 4) {
      hash = Math.imul(hash ^ this.#view.getUint32(offset + at, true), this.#multiplier);
      hash ^= hash >>> 15;
    }
    return hash;
  }

  #isSame(a: number, b: number): boolean {
    for (let at = 0; at < COEFFICIENT_VALUE_BYTES; at += 4)
      if (this.#view.getUint32(a + at) !== this.#view.getUint32(b + at)) return false;
    return true;
  }
}
