/** The memory of a resident key: the key, then a workspace for each thread, with room foreseen before it is made. */
import type { AnyCurve } from "../../curves/curve-parameters.js";
import type { KernelKind } from "../kernel-module.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { MEMORY_PAGES_MAX } from "../wasm/features.js";
import { Arena, align } from "../wasm/arena.js";
import { wasmHost } from "../wasm/wasm-host.js";

/** Room for threads. */
export interface KeyPlaces {
  /** Number of threads that may prove or help with the key at the same time. */
  readonly workspaces: number;
  /** Number of threads that may only help, beside one workspace. Default 0. */
  readonly helpers?: number;
}

/** How a key is built, whatever its scheme. */
export interface KeyMemoryOptions extends KeyPlaces {
  readonly curve: AnyCurve;
  readonly preferred?: KernelKind;
  /** Memory for multiples of the key's points, which make sums shorter; none unless given. */
  readonly tableBytesMax?: number;
  /** The largest memory that may be made; 4 GiB, all that 32-bit addresses reach, unless given. */
  readonly memoryBytesMax?: number;
}

/** Bytes of the key alone, and of each workspace; the first also serves while the key is built. */
export interface KeyBytes {
  readonly key: number;
  readonly workspace: number;
  /** Scratch of a thread that only helps; without it helpers take a whole workspace. */
  readonly helper?: number;
}

export interface KeyMemory {
  readonly kernels: Kernels;
  readonly workspaces: readonly { readonly start: number; readonly end: number }[];
  readonly helperPlaces: readonly { readonly start: number; readonly end: number }[];
  readonly keyBytes: number;
  readonly arenas: { readonly key: Arena; readonly scratch: Arena };
}

/** No memory holds the key with its places. */
export class KeyTooLargeError extends RangeError {
  override readonly name = "KeyTooLargeError";
}

const PAGE_BYTES = 65_536;

/** Returns the pages of a memory for the key and its places. */
export function keyMemoryPages(bytes: KeyBytes, { workspaces, helpers = 0 }: KeyPlaces): number {
  const workspaceBytes = align(bytes.workspace);
  const helperBytes = align(bytes.helper ?? bytes.workspace);
  const total = align(KERNEL_RESERVED_BYTES + bytes.key) + workspaces * workspaceBytes + helpers * helperBytes;
  return Math.ceil(total / PAGE_BYTES);
}

/** Whether a memory of the largest size holds the key and its places. */
export function fitsKeyMemory(bytes: KeyBytes, options: KeyMemoryOptions): boolean {
  const { memoryBytesMax = MEMORY_PAGES_MAX * PAGE_BYTES } = options;
  return keyMemoryPages(bytes, options) <= Math.min(MEMORY_PAGES_MAX, Math.floor(memoryBytesMax / PAGE_BYTES));
}

/** Loads kernels on the smallest memory, to compute sizes with. */
export function sizingKernels({ curve, preferred }: Pick<KeyMemoryOptions, "curve" | "preferred">): Kernels {
  return loadKernels({ pages: 1, curve, ...(preferred === undefined ? {} : { preferred }) });
}

/**
 * Makes the memory.
 * @throws KeyTooLargeError when it would be larger than it may be; RangeError when the system does not give it
 */
export function makeKeyMemory(options: KeyMemoryOptions, bytesOf: (kernels: Kernels) => KeyBytes): KeyMemory {
  const { curve, workspaces: count, helpers = 0 } = options;
  const sizing = sizingKernels(options);
  const bytes = bytesOf(sizing);
  if (!fitsKeyMemory(bytes, options)) throw new KeyTooLargeError("the key does not fit into a WebAssembly memory");
  const pages = keyMemoryPages(bytes, options);
  const memory = new wasmHost.Memory({ initial: pages, maximum: pages, shared: true });
  const start = align(KERNEL_RESERVED_BYTES + bytes.key);
  const places = (from: number, size: number, number: number): { readonly start: number; readonly end: number }[] =>
    Array.from({ length: number }, (_, i) => ({ start: from + i * size, end: from + (i + 1) * size }));
  const workspaceBytes = align(bytes.workspace);
  return {
    kernels: loadKernels({ memory, curve, preferred: sizing.kind }),
    workspaces: places(start, workspaceBytes, count),
    helperPlaces: places(start + count * workspaceBytes, align(bytes.helper ?? bytes.workspace), helpers),
    keyBytes: start,
    arenas: { key: new Arena(KERNEL_RESERVED_BYTES, start), scratch: new Arena(start, start + workspaceBytes) },
  };
}
