/**
 * A kernel memory whose values are written and read without kernels: those that would do it must not be optimised while
 * V8 pairs instructions (choose-form.ts), and what is tried must be compared with other arithmetic.
 */
import { FmaArithmetic } from "../field/fma-arithmetic.js";
import { balancedLimbs } from "../field/integers.js";
import { inverse, reduce } from "../../field/prime-field.js";
import { KERNEL_RESERVED_BYTES } from "../kernels.js";
import { Arena } from "../wasm/arena.js";
import { wasmHost } from "../wasm/wasm-host.js";

/** Calls a kernel, in either form. */
export type KernelCall = (kernel: string, ...args: readonly number[]) => void;

/** Returns a random integer from 0 to limit - 1. */
export type RandomBelow = (limit: bigint) => bigint;

/** One kernel with inputs of its own. */
export interface WideTrial {
  readonly kernel: string;
  /** Whether the kernel is made of functions that others have called before: its first calls need not be slow. */
  readonly isComposed?: boolean;
  /** Writes the inputs. */
  prepare(): void;
  /** Calls the kernel once, or a few times, on so many lanes; may be called again on what it left. */
  run(call: KernelCall, lanes: 2 | 4): void;
  /** Whether one run after `prepare` gave what the integers, or the kernels on two lanes, give. */
  isRight(onTwo: KernelCall): boolean;
}

const PAGES = 48;
const PAGE_BYTES = 65_536;
const LIMB_BYTES = 8;

/** A prime field as the kernels on fused multiply-add hold it in memory. */
export class TrialField {
  readonly prime: bigint;
  readonly elementBytes: number;
  readonly #arithmetic: FmaArithmetic;
  readonly #inverseRadix: bigint;

  constructor(prime: bigint) {
    this.#arithmetic = new FmaArithmetic(prime);
    this.prime = prime;
    this.elementBytes = this.#arithmetic.limbCount * LIMB_BYTES;
    this.#inverseRadix = inverse(this.#arithmetic.radix, prime);
  }

  /** Returns the doubles of a residue's representative between -prime / 2 and prime / 2. */
  limbsOf(residue: bigint): number[] {
    const positive = reduce(residue * this.#arithmetic.radix, this.prime);
    const centred = positive > this.prime / 2n ? positive - this.prime : positive;
    return balancedLimbs(centred, this.#arithmetic.limbBits, this.#arithmetic.limbCount).map(Number);
  }

  /** Returns the residue that doubles stand for; undefined where the kernels would not have stored them. */
  residueOf(limbs: readonly number[]): bigint | undefined {
    const { limbBits, halfLimb, productMax } = this.#arithmetic;
    if (!limbs.every(Number.isInteger)) return undefined;
    if (limbs.slice(0, -1).some((limb) => BigInt(Math.abs(limb)) > halfLimb)) return undefined;
    const value = limbs.reduceRight((sum, limb) => (sum << BigInt(limbBits)) + BigInt(limb), 0n);
    if (value > productMax || value < -productMax) return undefined;
    return reduce(value * this.#inverseRadix, this.prime);
  }

  /**
   * Residues whose limbs are 0, as small or as large as they become, in either direction: a carry too many or too few
   * shows there.
   */
  extremes(): bigint[] {
    const { limbBits, limbCount, halfLimb } = this.#arithmetic;
    const half = this.prime / 2n;
    const full = (limbs: number): bigint =>
      Array.from({ length: limbs }, (_, j) => (halfLimb - 1n) << BigInt(limbBits * j)).reduce((a, b) => a + b, 0n);
    const raw = [0n, 1n, half, half - 1n, full(limbCount - 1), full(1), halfLimb << BigInt(limbBits)];
    return raw.flatMap((value) => [value, -value]).map((value) => reduce(value * this.#inverseRadix, this.prime));
  }
}

interface TrialMemorySize {
  readonly pages: number;
  /** Bytes at the start that belong to the kernels. */
  readonly reservedBytes: number;
}

/** The memory and what is taken of it. */
export class TrialMemory {
  readonly memory: WebAssembly.Memory;
  readonly arena: Arena;
  readonly words: Uint32Array;
  readonly #doubles: Float64Array;

  /** @param size without it, that of the trials of sums and transforms. */
  constructor({ pages, reservedBytes }: TrialMemorySize = { pages: PAGES, reservedBytes: KERNEL_RESERVED_BYTES }) {
    this.memory = new wasmHost.Memory({ initial: pages, maximum: pages, shared: true });
    this.arena = new Arena(reservedBytes, pages * PAGE_BYTES);
    this.words = new Uint32Array(this.memory.buffer);
    this.#doubles = new Float64Array(this.memory.buffer);
  }

  /** Writes limbs `stride` bytes apart. */
  writeLimbs(address: number, limbs: readonly number[], stride = LIMB_BYTES): void {
    for (const [j, limb] of limbs.entries()) this.#doubles[(address + stride * j) / LIMB_BYTES] = limb;
  }

  /** Reads `count` limbs that are `stride` bytes apart. */
  readLimbs(address: number, count: number, stride = LIMB_BYTES): number[] {
    return Array.from({ length: count }, (_, j) => this.#doubles[(address + stride * j) / LIMB_BYTES] ?? NaN);
  }
}
