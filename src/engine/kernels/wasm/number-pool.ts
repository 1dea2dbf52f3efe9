/** Numbers that a module's functions read from the memory, where each instance writes them: see `ModuleBuilder`. */
import type { ByteWriter } from "./wasm-bytes.js";
import { i32 } from "./wasm-ops.js";

/** Room for numbers in the memory: 8 bytes for each. */
export interface NumberPlaces {
  readonly address: number;
  readonly countMax: number;
}

/** Collects the numbers, each once, and gives them their places. */
export class NumberPool {
  readonly #places: NumberPlaces;
  readonly #values: number[] = [];

  constructor(places: NumberPlaces) {
    this.#places = places;
  }

  /** Returns the address of a number. */
  addressOf(value: number): number {
    const known = this.#values.findIndex((each) => Object.is(each, value));
    const index = known < 0 ? this.#values.push(value) - 1 : known;
    if (index >= this.#places.countMax) throw new Error("there are more numbers than room for them");
    return this.#places.address + 8 * index;
  }

  /** Writes the section's content: one segment, which is copied to its address. */
  write(w: ByteWriter): void {
    w.raw([0x01, 0x00]);
    i32.const(this.#places.address).emit(w);
    w.byte(0x0b);
    const bytes = new Uint8Array(new Float64Array(this.#values).buffer);
    w.unsigned(bytes.length);
    w.raw(bytes);
  }
}
