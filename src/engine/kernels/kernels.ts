/**
 * The WebAssembly kernels of a curve: bulk arithmetic for provers and verifiers, emitted and compiled at run time. This
 * file loads them onto a memory and is the only one that calls them. They keep no state and check nothing: addresses
 * and counts are the caller's to get right, and what was computed must be checked (a proof is verified before it is
 * handed out). Threads may share the memory.
 *
 * Memory: bytes 0 to KERNEL_RESERVED_BYTES - 1 belong to this file, the rest to the caller.
 *
 * Map of the room. "Emits" means: runs once per thread and writes WebAssembly. The rest runs with every proof.
 * - kernel-module.ts: which functions the module of a curve has.
 * - wasm/: the assembler (wasm-builder, wasm-ops, wasm-bytes), the test for fused multiply-add (features), parts of a
 *   memory (arena), compiled modules (module-cache).
 * - field/: emits field arithmetic behind one interface (field.ts): FmaField on fused multiply-add, IntegerField where
 *   that is missing, and what stands on them (quadratic extension, inversion, conversions).
 * - point/: emits batched affine additions (point-batch), single projective ones (point-single) and the test that
 *   points are on their curve (point-survey); point-tree sums many lists of points with them.
 * - msm/: multi-scalar multiplication (msm.ts), multiples of one point (fixed-base.ts), of many points by one number
 *   (scale-points.ts, eisenstein-digits.ts; point/point-multiples.ts emits it), and the bookkeeping that the first two
 *   need (buckets emits it, window-plan chooses the window, msm-lists lays out the memory, point-levels writes
 *   multiples that windows share).
 * - ntt/: number-theoretic transforms (domain.ts; ntt.ts emits the layers) and the two ends of Groth16's quotient
 *   (quotient.ts emits them).
 * - wide/: the four-lane form of some kernels. wide-module.ts and wide-pairing-module.ts emit it from the same source,
 *   choose-form.ts finds out whether it is right and faster here, wide-form.ts is what kernels.ts and pairing/ ask,
 *   compute-surely.ts is for what nobody checks after it.
 * - threads/: one piece of work spread over threads (thread-team), the memory of a key (key-memory) and the
 *   workspaces in it that threads take (workspaces).
 * - groth16/: the prover. A key in memory (resident-key, build-resident-key) with multiples of its points (key-tables),
 *   the steps of a proof (proof-steps), the thread that leads or helps (resident-prover), and the way in and out for
 *   the engine's types (resident-proving).
 * - plonk/: the prover of PLONK (files named plonk-*, build-plonk-key: key, workspace, steps, quotient, openings), and
 *   what FFLONK shares with it: a circuit in memory (resident-circuit, circuit-tables) and outside of it (sections),
 *   the columns and the cosets (columns, coset-values), scalars and points by name (scalar-memory, named-memory), the
 *   steps and the thread that leads or helps (step-list, team-prover), and what they emit (vectors, constraints,
 *   cosets).
 * - fflonk/: the prover of FFLONK on that. Its key (fflonk-key, build-fflonk-key), the workspace of a proof
 *   (fflonk-layout, fflonk-context), its steps (fflonk-steps, fflonk-polynomials, fflonk-openings), its prover.
 * - poseidon/: the hash of the trees (poseidon-kernel.ts) with a module of its own (poseidon-module.ts): two hashes at
 *   once (rounds.ts) or one alone (single-pair.ts); sparse-rounds.ts computes the constants.
 * - pairing/: the pairing (pairing.ts) with a WebAssembly module of its own (pairing-module.ts); what differs between
 *   curves is in pairing-plan.ts and final-exponentiation.ts. Its formulas are lists of jobs (tower-blocks.ts), done
 *   one at a time (one-by-one-blocks.ts) or two at once (twin-blocks.ts).
 */
import { BN254 } from "../curves/bn254.js";
import { hasFusedMultiplyAdd } from "./wasm/features.js";
import { buildKernelModule, kernelModuleName } from "./kernel-module.js";
import { ModuleCache } from "./wasm/module-cache.js";
import type { CompiledModule } from "./wasm/module-cache.js";
import { LIST_ENTRY_BYTES } from "./point/batch-layout.js";
import { isWideOn, wideFormOf } from "./wide/wide-form.js";
import type { WideForm } from "./wide/wide-form.js";
import { wasmHost } from "./wasm/wasm-host.js";
import { generatorCoordinates } from "../curves/curve-parameters.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { FieldLayout, GroupLayout, KernelKind, KernelModule } from "./kernel-module.js";

interface KernelOptions {
  /** Shared memory to work in; without it a new one of `pages` pages of 64 KiB is made. */
  readonly memory?: WebAssembly.Memory;
  readonly pages?: number;
  /** BN254 by default. */
  readonly curve?: CurveParameters;
  /** "fma", the default, is taken only where the machine fuses multiply-add; "integer" forces the fallback. */
  readonly preferred?: KernelKind;
  /**
   * Whether everything that is computed is checked before it is used, as a proof is verified. Such kernels take the
   * four-lane form (wide/wide-form.ts) where this thread has it; others never do.
   */
  readonly isChecked?: boolean;
}

/** First byte of a kernel memory that callers may use. */
export const KERNEL_RESERVED_BYTES = 4096;
/**
 * Places of the constants: in each group the point at infinity, then two points of different x that fill up a batch.
 */
const PLACE = { g1: 64, g2: 1024, fillerTarget: 2048, scratch: 3072 } as const;
/** What is written once, at the front; the rest of the reserved bytes is overwritten by each that computes. */
export const KERNEL_CONSTANT_BYTES = PLACE.fillerTarget;

type KernelFunction = (...args: readonly number[]) => number | readonly number[] | undefined;
type Exports = Record<string, KernelFunction>;

/** The module of each curve and kind that this thread has used. */
const modules = new ModuleCache<KernelModule>();

interface KernelChoice {
  readonly curve: CurveParameters;
  readonly kind: KernelKind;
  readonly wide: WideForm | undefined;
}

/** Smaller batches take longer on four lanes: what they share, one inversion, costs more there. */
const WIDE_ENTRIES_MIN = 32;

/** The kernels of one curve on one memory. Names of kernels: see the files that define them. */
export class Kernels {
  readonly kind: KernelKind;
  readonly curve: CurveParameters;
  readonly memory: WebAssembly.Memory;
  readonly fr: FieldLayout;
  readonly fq: FieldLayout;
  readonly g1: GroupLayout;
  readonly g2: GroupLayout;
  readonly rows: KernelModule["rows"];
  /** Addresses of the points at infinity. */
  readonly infinity: { readonly g1: number; readonly g2: number };
  readonly #exports: Exports;
  /** The kernels that have a four-lane form, in that form. */
  readonly #wideExports: Exports | undefined;
  /** The whole memory; kernel memories have a fixed size. */
  readonly #memoryWords: Uint32Array;

  constructor({ kind, curve, wide }: KernelChoice, compiled: CompiledModule<KernelModule>, memory: WebAssembly.Memory) {
    const { layout, module } = compiled;
    this.kind = kind;
    this.curve = curve;
    this.memory = memory;
    this.fr = layout.fr;
    this.fq = layout.fq;
    this.g1 = layout.g1;
    this.g2 = layout.g2;
    this.rows = layout.rows;
    this.infinity = { g1: PLACE.g1, g2: PLACE.g2 };
    this.#exports = new WebAssembly.Instance(module, { env: { memory } }).exports as Exports;
    this.#wideExports = wide === undefined ? undefined : openWideExports(wide, memory);
    this.#memoryWords = new Uint32Array(memory.buffer);
  }

  /** Returns the lanes that a kernel runs on now; small batches of additions take two in any case. */
  formOf(name: string): "two" | "four" {
    return this.#wideExports?.[name] !== undefined && isWideOn() ? "four" : "two";
  }

  /** Calls a kernel for its effect. */
  call(name: string, ...args: readonly number[]): void {
    this.#function(name)(...args);
  }

  /** Calls a kernel that gives one number, and returns it as an unsigned integer. */
  callOne(name: string, ...args: readonly number[]): number {
    const result = this.#function(name)(...args);
    if (typeof result !== "number") throw new TypeError(`kernel ${name} gives no number`);
    return result >>> 0;
  }

  /** Calls a kernel that gives two numbers, and returns them as unsigned integers. */
  callPair(name: string, ...args: readonly number[]): readonly [number, number] {
    const result = this.#function(name)(...args);
    if (typeof result !== "object") throw new TypeError(`kernel ${name} gives no pair`);
    const [first, second] = result;
    if (first === undefined || second === undefined) throw new TypeError(`kernel ${name} gives no pair`);
    return [first >>> 0, second >>> 0];
  }

  /**
   * Runs a list of additions (point/point-batch.ts). The list must have room for `entriesPerStep` entries more, and the
   * scratch for `entries + entriesPerStep` entries of `batchScratch`.
   */
  addBatch(group: "g1" | "g2", list: number, entries: number, scratch: number): void {
    const { pointBytes, entriesPerStep, narrowEntriesPerStep } = this[group];
    const isNarrow = entries < WIDE_ENTRIES_MIN;
    const step = isNarrow ? narrowEntriesPerStep : entriesPerStep;
    const padded = Math.ceil(entries / step) * step;
    const filler = this.infinity[group] + pointBytes;
    for (let i = entries; i < padded; i += 1)
      this.words(list + i * LIST_ENTRY_BYTES, 3).set([filler, filler + pointBytes, PLACE.fillerTarget]);
    const name = `${group}_add_batch`;
    const add = isNarrow ? this.#narrowFunction(name) : this.#function(name);
    add(list, padded, scratch);
  }

  /** Returns a view of `count` words of 32 bits; `address` is a multiple of 4. */
  words(address: number, count: number): Uint32Array {
    return this.#memoryWords.subarray(address >>> 2, (address >>> 2) + count);
  }

  /** Returns the word of 32 bits at an address that is a multiple of 4. */
  word(address: number): number {
    const word = this.#memoryWords[address >>> 2];
    if (word === undefined) throw new RangeError("address outside the kernel memory");
    return word;
  }

  /** Returns a view of `count` bytes. */
  bytes(address: number, count: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, address, count);
  }

  /** Writes an integer little-endian, in `byteLength` bytes. */
  writeInteger(address: number, value: bigint, byteLength: number): void {
    const bytes = this.bytes(address, byteLength);
    for (let i = 0; i < byteLength; i += 1) bytes[i] = Number((value >> BigInt(8 * i)) & 0xffn);
  }

  /** Reads a little-endian integer of `byteLength` bytes. */
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

  /** Writes the constants that the kernels read, once per memory. */
  writeConstants(): void {
    for (const group of ["g1", "g2"] as const) {
      const base = this.infinity[group];
      const { pointBytes } = this[group];
      const generator = generatorCoordinates(this.curve, group);
      this.call(`${group}_mark`, base);
      // The two that fill up a batch need not lie on the curve; their x must differ.
      this.writePoint(base + pointBytes, generator, PLACE.scratch);
      this.writePoint(
        base + 2 * pointBytes,
        generator.map((coordinate) => coordinate + 1n),
        PLACE.scratch,
      );
    }
  }

  #function(name: string): KernelFunction {
    const wide = this.#wideExports?.[name];
    return wide !== undefined && isWideOn() ? wide : this.#narrowFunction(name);
  }

  #narrowFunction(name: string): KernelFunction {
    const found = this.#exports[name];
    if (found === undefined) throw new TypeError(`there is no kernel ${name}`);
    return found;
  }
}

/** Pages of a memory whose size the caller leaves open: enough for tests and small work. */
const DEFAULT_PAGES = 1024;

/**
 * Loads kernels onto a memory and writes their constants there. Takes some 30 ms once per thread, 0.2 s where the
 * module is not prepared, then a millisecond.
 */
export function loadKernels(options: KernelOptions = {}): Kernels {
  const pages = options.pages ?? DEFAULT_PAGES;
  const memory = options.memory ?? new wasmHost.Memory({ initial: pages, maximum: pages, shared: true });
  const kernels = openKernels(memory, options);
  kernels.writeConstants();
  return kernels;
}

/** Opens kernels on a memory that `loadKernels` has prepared, on any thread, for the same curve and kind. */
export function openKernels(
  memory: WebAssembly.Memory,
  { curve = BN254, preferred, isChecked = false }: Pick<KernelOptions, "curve" | "preferred" | "isChecked"> = {},
): Kernels {
  const kind: KernelKind = preferred !== "integer" && hasFusedMultiplyAdd() ? "fma" : "integer";
  const compiled = modules.get(kernelModuleName(curve, kind), () => buildKernelModule(curve, kind));
  const wide = isChecked && kind === "fma" ? wideFormOf(curve.name, "kernels") : undefined;
  return new Kernels({ curve, kind, wide }, compiled, memory);
}

function openWideExports({ module, kernels }: WideForm, memory: WebAssembly.Memory): Exports {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  return Object.fromEntries(Object.entries(exports as Exports).filter(([name]) => kernels.includes(name)));
}
