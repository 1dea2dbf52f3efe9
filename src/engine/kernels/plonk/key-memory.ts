/** The memory of a resident key: the key, then a workspace for each thread, with room foreseen before it is made. */
import type { AnyCurve } from "../../curves/curve-parameters.js";
import type { KernelKind } from "../kernel-module.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { MEMORY_PAGES_MAX } from "../wasm/features.js";
import { Arena, align } from "../wasm/arena.js";
import { wasmHost } from "../wasm/wasm-host.js";

/** How a key is built, whatever its scheme. */
export interface KeyMemoryOptions {
  readonly curve: AnyCurve;
  /** Number of threads that may prove or help with the key at the same time. */
  readonly workspaces: number;
  readonly preferred?: KernelKind;
}

/** Bytes of the key alone, and of each workspace; the first also serves while the key is built. */
export interface KeyBytes {
  readonly key: number;
  readonly workspace: number;
}

export interface KeyMemory {
  readonly kernels: Kernels;
  readonly workspaces: readonly { readonly start: number; readonly end: number }[];
  readonly keyBytes: number;
  readonly arenas: { readonly key: Arena; readonly scratch: Arena };
}

const PAGE_BYTES = 65_536;

/**
 * Makes the memory.
 * @throws RangeError when it would be larger than the 4 GiB that a WebAssembly memory can have
 */
export function makeKeyMemory(
  { curve, workspaces: count, preferred }: KeyMemoryOptions,
  bytesOf: (kernels: Kernels) => KeyBytes,
): KeyMemory {
  const sizing = loadKernels({ pages: 1, curve, ...(preferred === undefined ? {} : { preferred }) });
  const bytes = bytesOf(sizing);
  const start = align(KERNEL_RESERVED_BYTES + bytes.key);
  const workspaceBytes = align(bytes.workspace);
  const pages = Math.ceil((start + count * workspaceBytes) / PAGE_BYTES);
  if (pages > MEMORY_PAGES_MAX) throw new RangeError("the key does not fit into a WebAssembly memory");
  const memory = new wasmHost.Memory({ initial: pages, maximum: pages, shared: true });
  const workspaces = Array.from({ length: count }, (_, i) => ({
    start: start + i * workspaceBytes,
    end: start + (i + 1) * workspaceBytes,
  }));
  return {
    kernels: loadKernels({ memory, curve, preferred: sizing.kind }),
    workspaces,
    keyBytes: start,
    arenas: { key: new Arena(KERNEL_RESERVED_BYTES, start), scratch: new Arena(start, start + workspaceBytes) },
  };
}
