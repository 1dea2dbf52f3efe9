/**
 * An instance of the pairing module with its memory: calls by name, workspace, and integers in and out. Nothing else
 * knows its layout.
 */
import { Arena } from "../wasm/arena.js";
import { isCheckedWide } from "../wide/wide-form.js";
import { wasmHost } from "../wasm/wasm-host.js";
import type { PairingModule } from "./pairing-module.js";
import { COEFFICIENTS } from "./target-field.js";

/** 4 MiB: the lines of two hundred points, or the tables of a thousand. */
export const PAIRING_PAGES = 64;

/** Lanes on which multiples of points are computed: a point in each. */
export type PairingLanes = PairingModule["lanes"];

type Exports = Readonly<Record<string, (...args: readonly number[]) => number>>;

/** A module of the same kernels on four lanes, and those of them that are used. */
interface WidePairing {
  readonly module: WebAssembly.Module;
  readonly kernels: readonly string[];
}

/** The kernel whose choice decides for all that have a parameter for each lane. */
const LANE_KERNEL = "g1_lane_accumulate";

/** One instance of the pairing module and its workspace. */
export class PairingMemory {
  readonly layout: PairingModule;
  readonly #bytes: Uint8Array;
  readonly #words: BigUint64Array;
  readonly #table: Uint32Array;
  readonly #exports: Exports;
  /** The same, with those on four lanes that are used in their place. */
  readonly #mixedExports: Exports;
  /** The module on four lanes, if its kernels that have a parameter for each lane are used. */
  readonly #laneExports: Exports | undefined;
  readonly #arena: Arena;
  /** For each word of 64 bits of an integer, the bits below it. */
  readonly #shifts: readonly bigint[];

  constructor(layout: PairingModule, module: WebAssembly.Module, wide?: WidePairing) {
    this.layout = layout;
    const memory = new wasmHost.Memory({ initial: PAIRING_PAGES, maximum: PAIRING_PAGES, shared: true });
    this.#bytes = new Uint8Array(memory.buffer);
    this.#words = new BigUint64Array(memory.buffer);
    this.#table = new Uint32Array(memory.buffer);
    const open = (each: WebAssembly.Module): Exports =>
      new WebAssembly.Instance(each, { env: { memory } }).exports as Exports;
    this.#exports = open(module);
    const onFour = wide === undefined ? {} : open(wide.module);
    const chosen = Object.entries(onFour).filter(([name]) => wide?.kernels.includes(name) === true);
    this.#mixedExports = { ...this.#exports, ...Object.fromEntries(chosen) };
    this.#laneExports = wide?.kernels.includes(LANE_KERNEL) === true ? onFour : undefined;
    this.#shifts = Array.from({ length: layout.fqBytes / 8 }, (_, i) => BigInt(64 * i));
    this.#arena = new Arena(layout.reservedBytes, PAIRING_PAGES * 65_536);
  }

  /** Calls a kernel, in the form that this thread takes now, and returns its result, if it has one. */
  call(name: string, ...args: readonly number[]): number {
    return kernelOf(isCheckedWide() ? this.#mixedExports : this.#exports, name)(...args);
  }

  /** The lanes that multiples of points take now. */
  get lanesNow(): PairingLanes {
    return this.#laneExports !== undefined && isCheckedWide() ? 4 : this.layout.lanes;
  }

  /** Calls a kernel that has a parameter for each lane, on as many as `lanesNow` or `layout` has said. */
  callOnLanes(lanes: PairingLanes, name: string, ...args: readonly number[]): void {
    kernelOf(lanes === 4 ? (this.#laneExports ?? {}) : this.#exports, name)(...args);
  }

  /** Takes workspace from the arena. */
  take(bytes: number): number {
    return this.#arena.take(bytes);
  }

  /** Runs the work and gives back the workspace that it took. */
  scoped<T>(work: () => T): T {
    return this.#arena.scoped(work);
  }

  /** Takes workspace for the bytes, copies them there and returns their address. */
  put(bytes: Uint8Array): number {
    const address = this.take(bytes.length);
    this.#bytes.set(bytes, address);
    return address;
  }

  /** Returns a copy of bytes of the memory. */
  read(address: number, length: number): Uint8Array {
    return this.#bytes.slice(address, address + length);
  }

  /** Copies bytes inside the memory. */
  copy(target: number, source: number, length: number): void {
    this.#bytes.copyWithin(target, source, source + length);
  }

  /** Fills bytes with zeros. */
  clear(address: number, length: number): void {
    this.#bytes.fill(0, address, address + length);
  }

  /** Writes numbers of 32 bits, one after the other; `target` is a multiple of 4. */
  writeTable(target: number, values: readonly number[]): void {
    this.#table.set(values, target / 4);
  }

  /** Writes integers as elements of Fq, one after the other. */
  writeElements(target: number, values: readonly bigint[]): void {
    if (values.length === 0) return;
    this.scoped(() => {
      const plain = this.take(values.length * this.layout.fqBytes);
      let word = plain / 8;
      for (const value of values) {
        for (const shift of this.#shifts) this.#words[word++] = value >> shift;
      }
      this.call("fq_import_plain", target, plain, values.length);
    });
  }

  /** Reads elements of Fq as canonical integers. */
  readElements(source: number, count: number): bigint[] {
    return this.scoped(() => {
      const plain = this.take(count * this.layout.fqBytes);
      this.call("fq_export_plain", plain, source, count);
      let word = plain / 8;
      return Array.from({ length: count }, () =>
        this.#shifts.reduce((value, shift) => value | ((this.#words[word++] ?? 0n) << shift), 0n),
      );
    });
  }

  /** Returns a value of Fq12 as canonical little-endian integers of `fqBytes` bytes, c0 and c1 of each power of w. */
  exportTarget(value: number): Uint8Array {
    const count = 2 * COEFFICIENTS;
    return this.scoped(() => {
      const elements = this.take(count * this.layout.elementBytes),
        plain = this.take(count * this.layout.fqBytes);
      this.call("fq2_scatter", elements, value, COEFFICIENTS);
      this.call("fq_export_plain", plain, elements, count);
      return this.read(plain, count * this.layout.fqBytes);
    });
  }
}

function kernelOf(exports: Exports, name: string): Exports[string] {
  const kernel = exports[name];
  if (kernel === undefined) throw new TypeError(`there is no kernel ${name}`);
  return kernel;
}
