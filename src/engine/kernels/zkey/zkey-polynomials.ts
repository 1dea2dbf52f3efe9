/** Polynomials of a circuit as snarkjs' `.zkey` files have them: n coefficients, then 4 n values. */
import { VALUES_PER_COEFFICIENT } from "../../plonk/zkey/zkey-parts.js";
import type { Kernels } from "../kernels.js";
import { Domain, vectorBytes, writeDomainTables } from "../ntt/domain.js";
import type { Arena } from "../wasm/arena.js";
import type { ResidentCircuit } from "../plonk/resident-circuit.js";
import { ScalarMemory } from "../plonk/scalar-memory.js";

/** What of a key the polynomials take. */
type PolynomialKey = Pick<ResidentCircuit, "domainPower" | "places" | "domainTables" | "inverseSize">;

/** Polynomials in the form of the file, computed in a workspace of the key. */
export class ZkeyPolynomials {
  readonly #kernels: Kernels;
  readonly #key: PolynomialKey;
  readonly #arena: Arena;
  readonly #size: number;
  readonly #fine: Domain;
  /** Places of all coefficients for a transform to the values, and elements in natural order. */
  readonly #reversed: number;
  readonly #elements: number;
  readonly #values: number;

  constructor(kernels: Kernels, key: PolynomialKey, arena: Arena) {
    const log = key.domainPower + Math.log2(VALUES_PER_COEFFICIENT);
    this.#kernels = kernels;
    this.#key = key;
    this.#arena = arena;
    this.#size = 2 ** key.domainPower;
    const tables = arena.take(vectorBytes(kernels, log));
    arena.scoped(() => writeDomainTables(kernels, log, { target: tables, scratch: arena.take(256) }));
    this.#fine = new Domain(kernels, log, tables);
    this.#reversed = arena.take(4 * 2 ** log);
    this.#elements = arena.take(2 ** log * kernels.fr.elementBytes);
    this.#values = arena.take(vectorBytes(kernels, log));
    writeReversed(kernels.words(this.#reversed, 2 ** log));
  }

  /** Bytes of one polynomial. */
  get writtenBytes(): number {
    return (1 + VALUES_PER_COEFFICIENT) * this.#size * this.#kernels.fr.bytes;
  }

  /** Returns coefficients and values of a polynomial of the key. */
  written(polynomial: number): Uint8Array {
    const kernels = this.#kernels;
    const { elementBytes, lanes } = kernels.fr;
    const count = VALUES_PER_COEFFICIENT * this.#size;
    kernels.bytes(this.#elements, count * elementBytes).fill(0);
    kernels.call("fr_order_elements", this.#elements, polynomial, this.#key.places, this.#size, elementBytes);
    const coefficients = this.exported(this.#elements, this.#size);
    kernels.call("fr_gather_elements", this.#values, this.#reversed, count / lanes, this.#elements);
    this.#fine.backward(this.#values);
    kernels.call("fr_gather_blocks", this.#elements, this.#values, 0, count);
    return Buffer.concat([coefficients, this.exported(this.#elements, count)]);
  }

  /** Returns the same of the Lagrange polynomial that is 1 at one row. */
  writtenLagrange(row: number): Uint8Array {
    const kernels = this.#kernels;
    const key = this.#key;
    return this.#arena.scoped(() => {
      const bytes = vectorBytes(kernels, key.domainPower);
      const vector = this.#arena.take(bytes);
      kernels.bytes(vector, bytes).fill(0);
      new ScalarMemory(kernels, this.#arena).writeAt(vector, row, 1n);
      new Domain(kernels, key.domainPower, key.domainTables).forward(vector);
      kernels.call("fr_scale_blocks", vector, vector, this.#size / kernels.fr.lanes, key.inverseSize);
      return this.written(vector);
    });
  }

  /** Returns neighbouring elements in the form of files. */
  exported(elements: number, count: number): Uint8Array {
    const kernels = this.#kernels;
    return this.#arena.scoped(() => {
      const raw = this.#arena.take(count * kernels.fr.bytes);
      kernels.call("fr_export_foreign", raw, elements, count);
      return Uint8Array.from(kernels.bytes(raw, count * kernels.fr.bytes));
    });
  }
}

/** Writes at each place the number with the reversed bits. */
function writeReversed(words: Uint32Array): void {
  let reversed = 0;
  for (let i = 0; i < words.length; i += 1) {
    words[i] = reversed;
    let bit = words.length >>> 1;
    for (; bit > 0 && (reversed & bit) !== 0; bit >>>= 1) reversed ^= bit;
    reversed |= bit;
  }
}
