/** Single scalars and points between bigints and the kernels' memory. */
import type { G1Point } from "../../curves/points.js";
import { reduce } from "../../field/prime-field.js";
import type { Kernels } from "../kernels.js";
import type { Arena } from "../wasm/arena.js";

/** Reads and writes with the help of an arena of scratch. It is meant for few values at a time. */
export class ScalarMemory {
  readonly #kernels: Kernels;
  readonly #scratch: Arena;

  constructor(kernels: Kernels, scratch: Arena) {
    this.#kernels = kernels;
    this.#scratch = scratch;
  }

  /** Writes neighbouring elements in Montgomery form. Any integer is reduced. */
  writeElements(address: number, values: readonly bigint[]): void {
    const kernels = this.#kernels;
    const { bytes } = kernels.fr;
    this.#scratch.scoped(() => {
      const raw = this.#scratch.take(values.length * bytes);
      this.writeIntegers(raw, values);
      kernels.call("fr_import_plain", address, raw, values.length);
      kernels.bytes(raw, values.length * bytes).fill(0);
    });
  }

  /** Reads neighbouring elements. */
  readElements(address: number, count: number): bigint[] {
    const kernels = this.#kernels;
    const { bytes } = kernels.fr;
    return this.#scratch.scoped(() => {
      const raw = this.#scratch.take(count * bytes);
      kernels.call("fr_export_plain", raw, address, count);
      const values = this.readIntegers(raw, count);
      kernels.bytes(raw, count * bytes).fill(0);
      return values;
    });
  }

  /** Writes neighbouring canonical integers, little-endian. */
  writeIntegers(address: number, values: readonly bigint[]): void {
    const { fr, curve } = this.#kernels;
    for (const [i, value] of values.entries())
      this.#kernels.writeInteger(address + i * fr.bytes, reduce(value, curve.r), fr.bytes);
  }

  /** Reads neighbouring little-endian integers. */
  readIntegers(address: number, count: number): bigint[] {
    const { bytes } = this.#kernels.fr;
    return Array.from({ length: count }, (_, i) => this.#kernels.readInteger(address + i * bytes, bytes));
  }

  /** Runs the work with the address of an element that lives as long as it runs. */
  withElement<T>(value: bigint, work: (address: number) => T): T {
    return this.#scratch.scoped(() => {
      const address = this.#scratch.take(this.#kernels.fr.elementBytes);
      this.writeElements(address, [value]);
      return work(address);
    });
  }

  /** Reads the element at a place of a vector of blocks. */
  readAt(vector: number, place: number): bigint {
    return this.#scratch.scoped(() => {
      const element = this.#scratch.take(this.#kernels.fr.elementBytes);
      this.#kernels.call("fr_gather_blocks", element, vector, place, 1);
      return this.readElements(element, 1)[0] ?? 0n;
    });
  }

  /** Adds to the element at a place of a vector of blocks. */
  addAt(vector: number, place: number, value: bigint): void {
    this.withElement(this.readAt(vector, place) + value, (element) => {
      this.#kernels.call("fr_scatter_blocks", vector, element, place, 1);
    });
  }

  /** Writes an element to a place of a vector of blocks. */
  writeAt(vector: number, place: number, value: bigint): void {
    this.withElement(value, (element) => {
      this.#kernels.call("fr_scatter_blocks", vector, element, place, 1);
    });
  }

  /** Reads an affine point of G1; undefined is infinity. */
  readPoint(address: number): G1Point | undefined {
    const kernels = this.#kernels;
    if (kernels.callOne("g1_is_marked", address) === 1) return undefined;
    const { bytes } = kernels.fq;
    return this.#scratch.scoped(() => {
      const raw = this.#scratch.take(2 * bytes);
      kernels.call("fq_export_plain", raw, address, 2);
      return { x: kernels.readInteger(raw, bytes), y: kernels.readInteger(raw + bytes, bytes) };
    });
  }
}
