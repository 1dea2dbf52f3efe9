/**
 * Loads the kernels of a curve onto a memory, and is the one place that calls into them. Everything they do is in that
 * memory, which threads may share; the kernels keep no state of their own. They check nothing: addresses and counts are
 * the caller's to get right, and a caller must check what it computes with them (a proof is verified before it is
 * handed out).
 *
 * Memory: bytes 0 to KERNEL_RESERVED_BYTES - 1 belong to this file, the rest to the caller.
 */
import { BN254 } from "../curves/bn254.js";
import { hasFusedMultiplyAdd } from "./wasm/features.js";
import { buildKernelModule } from "./kernel-module.js";
import { LIST_ENTRY_BYTES } from "./point/point-batch.js";
import { wasmHost } from "./wasm/wasm-host.js";
import { generatorCoordinates } from "../curves/curve-parameters.js";
import type { AnyCurve } from "../curves/curve-parameters.js";
import type { FieldLayout, GroupLayout, KernelKind, KernelModule } from "./kernel-module.js";

export interface KernelOptions {
  /** Shared memory to work in; a new one of `pages` 64 KiB pages when left out. */
  readonly memory?: WebAssembly.Memory;
  /**
   * True when another thread has loaded kernels of the same curve and kind onto the memory before: its constants are
   * not written again.
   */
  readonly isPrepared?: boolean;
  readonly pages?: number;
  readonly curve?: AnyCurve;
  /** "integer" forces the fallback; "fma" (the default) takes it only where the machine fuses multiply-add. */
  readonly preferred?: KernelKind;
}

/** First byte of a kernel memory that callers may use. */
export const KERNEL_RESERVED_BYTES = 4096;
/**
 * Constant points at the start of the memory: infinity, and two that fill up a batch (with different x), for either
 * group.
 */
const PLACE = { g1: 64, g2: 1024, fillerTarget: 2048, scratch: 3072 } as const;

type Exports = Record<string, (...args: readonly number[]) => number | readonly number[] | undefined>;

interface Compiled {
  readonly layout: KernelModule;
  readonly module: WebAssembly.Module;
}

/** Compiled once per thread, curve and kind: the engine keeps the optimised code with the module. */
const compiledModules = new Map<string, Compiled>();

export class Kernels {
  readonly kind: KernelKind;
  readonly curve: AnyCurve;
  readonly memory: WebAssembly.Memory;
  readonly fr: FieldLayout;
  readonly fq: FieldLayout;
  readonly g1: GroupLayout;
  readonly g2: GroupLayout;
  /** Bits of the group order. */
  readonly scalarBits: number;
  /** Addresses of the points at infinity. */
  readonly infinity: { readonly g1: number; readonly g2: number };
  readonly #exports: Exports;
  /** The whole memory; kernel memories have a fixed size. */
  readonly #memoryWords: Uint32Array;

  constructor(compiled: Compiled, kind: KernelKind, curve: AnyCurve, memory: WebAssembly.Memory, isPrepared: boolean) {
    const { layout, module } = compiled;
    this.kind = kind;
    this.curve = curve;
    this.memory = memory;
    this.fr = layout.fr;
    this.fq = layout.fq;
    this.g1 = layout.g1;
    this.g2 = layout.g2;
    this.scalarBits = curve.r.toString(2).length;
    this.infinity = { g1: PLACE.g1, g2: PLACE.g2 };
    this.#exports = new WebAssembly.Instance(module, { env: { memory } }).exports as Exports;
    this.#memoryWords = new Uint32Array(memory.buffer);
    if (!isPrepared) this.#writeConstantPoints();
  }

  call(name: string, ...args: readonly number[]): void {
    this.#function(name)(...args);
  }

  callOne(name: string, ...args: readonly number[]): number {
    const result = this.#function(name)(...args);
    if (typeof result !== "number") throw new TypeError(`kernel ${name} gives no number`);
    return result >>> 0;
  }

  callPair(name: string, ...args: readonly number[]): readonly [number, number] {
    const result = this.#function(name)(...args);
    if (typeof result !== "object") throw new TypeError(`kernel ${name} gives no pair`);
    const [first, second] = result;
    if (first === undefined || second === undefined) throw new TypeError(`kernel ${name} gives no pair`);
    return [first >>> 0, second >>> 0];
  }

  /** Runs a list of additions (see point-batch.ts); the list must have room for `entriesPerStep` more. */
  addBatch(group: "g1" | "g2", list: number, entries: number, scratch: number): void {
    const { pointBytes, entriesPerStep } = this[group];
    const padded = Math.ceil(entries / entriesPerStep) * entriesPerStep;
    const filler = this.infinity[group] + pointBytes;
    for (let i = entries; i < padded; i += 1)
      this.words(list + i * LIST_ENTRY_BYTES, 3).set([filler, filler + pointBytes, PLACE.fillerTarget]);
    this.call(`${group}_add_batch`, list, padded, scratch);
  }

  /** `address` is a multiple of 4. */
  words(address: number, count: number): Uint32Array {
    return this.#memoryWords.subarray(address >>> 2, (address >>> 2) + count);
  }

  word(address: number): number {
    const word = this.#memoryWords[address >>> 2];
    if (word === undefined) throw new RangeError("address outside the kernel memory");
    return word;
  }

  bytes(address: number, count: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, address, count);
  }

  /** Little-endian, `byteLength` bytes. */
  writeInteger(address: number, value: bigint, byteLength: number): void {
    const bytes = this.bytes(address, byteLength);
    for (let i = 0; i < byteLength; i += 1) bytes[i] = Number((value >> BigInt(8 * i)) & 0xffn);
  }

  readInteger(address: number, byteLength: number): bigint {
    let value = 0n;
    for (const byte of this.bytes(address, byteLength).slice().reverse()) value = (value << 8n) | BigInt(byte);
    return value;
  }

  /** Writes a point from coordinates in fq (x, y, or x.c0, x.c1, y.c0, y.c1); `scratch` has room for them as bytes. */
  writePoint(address: number, coordinates: readonly bigint[], scratch: number): void {
    for (const [i, coordinate] of coordinates.entries())
      this.writeInteger(scratch + i * this.fq.bytes, coordinate, this.fq.bytes);
    this.call("fq_import_plain", address, scratch, coordinates.length);
  }

  #function(name: string): (...args: readonly number[]) => number | readonly number[] | undefined {
    const found = this.#exports[name];
    if (found === undefined) throw new TypeError(`there is no kernel ${name}`);
    return found;
  }

  #writeConstantPoints(): void {
    for (const group of ["g1", "g2"] as const) {
      const base = this.infinity[group];
      const { pointBytes } = this[group];
      const generator = generatorCoordinates(this.curve, group);
      this.call(`${group}_mark`, base);
      // Fillers need not lie on the curve: only x1 <> x2 counts.
      this.writePoint(base + pointBytes, generator, PLACE.scratch);
      this.writePoint(
        base + 2 * pointBytes,
        generator.map((coordinate) => coordinate + 1n),
        PLACE.scratch,
      );
    }
  }
}

/** Pages of a memory that the caller did not size: enough for tests and small work. */
const DEFAULT_PAGES = 1024;

/** Compiles (once per thread) and instantiates. Costs about 0.1 s the first time, a millisecond later. */
export function loadKernels(options: KernelOptions = {}): Kernels {
  const curve = options.curve ?? BN254;
  const kind: KernelKind = options.preferred !== "integer" && hasFusedMultiplyAdd() ? "fma" : "integer";
  const pages = options.pages ?? DEFAULT_PAGES;
  const memory = options.memory ?? new wasmHost.Memory({ initial: pages, maximum: pages, shared: true });
  return new Kernels(compile(curve, kind), kind, curve, memory, options.isPrepared ?? false);
}

function compile(curve: AnyCurve, kind: KernelKind): Compiled {
  const key = `${curve.name} ${kind}`;
  const known = compiledModules.get(key);
  if (known !== undefined) return known;
  const layout = buildKernelModule(curve, kind);
  const compiled = { layout, module: new WebAssembly.Module(layout.bytes) };
  compiledModules.set(key, compiled);
  return compiled;
}
