/** Single scalars and points that the steps of a proof hand to each other by name, in shared memory. */
import type { G1Point } from "../../curves/points.js";
import type { Kernels } from "../kernels.js";
import type { ScalarMemory } from "./scalar-memory.js";

/** Canonical integers, one after the other in the order of their names. */
export class NamedScalars<Name extends string> {
  readonly #scalars: ScalarMemory;
  readonly #address: (name: Name) => number;

  constructor(
    kernels: Kernels,
    scalars: ScalarMemory,
    place: { readonly names: readonly Name[]; readonly address: number },
  ) {
    this.#scalars = scalars;
    this.#address = (name) => place.address + place.names.indexOf(name) * kernels.fr.bytes;
  }

  /** Returns the number that an earlier step has set. */
  get(name: Name): bigint {
    return this.#scalars.readIntegers(this.#address(name), 1)[0] ?? 0n;
  }

  /** Sets a number. */
  set(name: Name, value: bigint): void {
    this.#scalars.writeIntegers(this.#address(name), [value]);
  }
}

/** Affine points, one after the other in the order of their names. */
export class NamedPoints<Name extends string> {
  readonly #scalars: ScalarMemory;
  readonly #address: (name: Name) => number;

  constructor(
    kernels: Kernels,
    scalars: ScalarMemory,
    place: { readonly names: readonly Name[]; readonly address: number },
  ) {
    this.#scalars = scalars;
    this.#address = (name) => place.address + place.names.indexOf(name) * kernels.g1.pointBytes;
  }

  /** Returns the address of a point. */
  address(name: Name): number {
    return this.#address(name);
  }

  /**
   * Returns a commitment that an earlier step has computed.
   * @throws Error when it is infinity: the setup is degenerate.
   */
  get(name: Name): G1Point {
    const point = this.#scalars.readPoint(this.#address(name));
    if (point === undefined) throw new Error("a commitment is the point at infinity: the setup is degenerate");
    return point;
  }
}
