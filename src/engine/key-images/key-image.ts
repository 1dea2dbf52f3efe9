/**
 * An open key as bytes: all that a later process needs in order not to make it from its file again. Room for proofs is
 * left out, and what threads write beside it is zero: nothing of a witness is in it. The reader must know from
 * elsewhere that the bytes are those that this server has written: a key that another made can give a witness away in
 * proofs that are valid.
 */
import { deserialize, serialize } from "node:v8";
import { hasFusedMultiplyAdd, MEMORY_PAGES_MAX } from "../kernels/wasm/features.js";
import { KERNEL_CONSTANT_BYTES, KERNEL_RESERVED_BYTES } from "../kernels/kernels.js";
import type { SharedKey } from "../kernels/threads/shared-key.js";
import { wasmHost } from "../kernels/wasm/wasm-host.js";

/** How long the parts of an image are, as JSON at its front. */
export interface KeyImageSizes {
  /** Pages of 64 KiB that the key's memory has. */
  readonly pages: number;
  /** Bytes of the key in its memory, from the first: the constants of the kernels are there. */
  readonly memory: number;
  /** Bytes of each section outside of the memory. */
  readonly sections: readonly number[];
  /** Bytes of what names all places in them. */
  readonly names: number;
}

/** The parts of an image, in the order in which they are stored. */
export interface KeyImage {
  readonly sizes: KeyImageSizes;
  readonly parts: Iterable<Uint8Array>;
}

/** An empty key, for whoever fills its parts. */
export interface EmptyKey {
  /** Views to be filled in this order. */
  readonly parts: readonly Uint8Array[];
  /** Returns the key once they are full. @throws KeyImageError when it was made for other kernels */
  finish(): SharedKey;
}

/** The bytes are no image that this server can use. */
export class KeyImageError extends Error {
  override readonly name = "KeyImageError";
}

/** Changes with what the bytes of an open key mean, for any scheme; test/engine/key-images.test.ts says when. */
export const KEY_IMAGE_VERSION = 1;

const PAGE_BYTES = 65_536;
const SECTIONS_MAX = 64;
const NAMES_BYTES_MAX = 16 * 1024 ** 2;
/** Piece of the memory that is copied at a time. */
const PIECE_BYTES = 4 * 1024 ** 2;
/** Stands in the names for the section of this number. */
const SECTION = "$section";

/** Returns an open key as an image. Proofs may run meanwhile: they write to no part of it but the marks. */
export function keyImage(key: SharedKey): KeyImage {
  const { memory, ...rest } = key;
  const sections: SharedArrayBuffer[] = [];
  const names = serialize(withoutSections(rest, sections));
  return {
    sizes: {
      pages: memory.buffer.byteLength / PAGE_BYTES,
      memory: key.keyBytes,
      sections: sections.map(({ byteLength }) => byteLength),
      names: names.length,
    },
    parts: partsOf(key, sections, names),
  };
}

/** Bytes of the file of an image, but for its front. */
export function keyImageBytes({ memory, sections, names }: Omit<KeyImageSizes, "pages">): number {
  return sections.reduce((sum, bytes) => sum + bytes, memory + names);
}

/**
 * Makes the memory for the image of a key.
 * @throws RangeError when the system has none
 */
export function emptyKey(sizes: KeyImageSizes): EmptyKey {
  const { pages } = sizes;
  const memory = new wasmHost.Memory({ initial: pages, maximum: pages, shared: true });
  const sections = sizes.sections.map((bytes) => new SharedArrayBuffer(bytes));
  const names = new Uint8Array(sizes.names);
  return {
    parts: [
      new Uint8Array(memory.buffer, 0, sizes.memory),
      ...sections.map((section) => new Uint8Array(section)),
      names,
    ],
    finish: () => {
      const key = withSections(readNames(names), sections) as Omit<SharedKey, "memory">;
      if ((key.kind === "fma") !== hasFusedMultiplyAdd())
        throw new KeyImageError("the key was opened on another kind of processor");
      return { ...key, memory };
    },
  };
}

function* partsOf(key: SharedKey, sections: readonly SharedArrayBuffer[], names: Uint8Array): Iterable<Uint8Array> {
  const { memory, keyBytes, workspaceFlags, workspaces, helperPlaces = [] } = key;
  // What threads write in it while they prove.
  const written = [
    [KERNEL_CONSTANT_BYTES, KERNEL_RESERVED_BYTES],
    [workspaceFlags, workspaceFlags + 4 * (workspaces.length + helperPlaces.length)],
  ] as const;
  for (let from = 0; from < keyBytes; from += PIECE_BYTES) {
    const to = Math.min(keyBytes, from + PIECE_BYTES);
    const piece = new Uint8Array(memory.buffer, from, to - from).slice();
    for (const [start, end] of written)
      if (start < to && end > from) piece.fill(0, Math.max(0, start - from), Math.min(to, end) - from);
    yield piece;
  }
  for (const section of sections) yield new Uint8Array(section);
  yield names;
}

/** Another version of V8 may have written them. */
function readNames(names: Uint8Array): unknown {
  try {
    return deserialize(names);
  } catch (error) {
    throw new KeyImageError("the names in the image cannot be read", { cause: error });
  }
}

/** Returns the same with a number in the place of each section, which is added to the list. */
function withoutSections(value: unknown, sections: SharedArrayBuffer[]): unknown {
  if (value instanceof SharedArrayBuffer) return { [SECTION]: sections.push(value) - 1 };
  return mapped(value, (each) => withoutSections(each, sections));
}

function withSections(value: unknown, sections: readonly SharedArrayBuffer[]): unknown {
  if (typeof value === "object" && value !== null && SECTION in value) {
    const section = sections[Number(value[SECTION])];
    if (section === undefined) throw new KeyImageError("a section is missing");
    return section;
  }
  return mapped(value, (each) => withSections(each, sections));
}

/** A list or an object with each of its members changed; anything else as it is. */
function mapped(value: unknown, change: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, change(each)]));
}

/**
 * Returns sizes that a key can have.
 * @throws KeyImageError
 */
export function checkedSizes(given: unknown): KeyImageSizes {
  const sizes = given as Partial<KeyImageSizes> | null;
  if (typeof sizes !== "object" || sizes === null) throw new KeyImageError("the sizes are missing");
  const { pages, memory, sections, names } = sizes;
  const isCount = (value: unknown, max: number): value is number =>
    typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= max;
  if (!isCount(pages, MEMORY_PAGES_MAX) || !isCount(names, NAMES_BYTES_MAX))
    throw new KeyImageError("the sizes are wrong");
  if (!isCount(memory, pages * PAGE_BYTES)) throw new KeyImageError("the sizes are wrong");
  if (!Array.isArray(sections) || sections.length > SECTIONS_MAX) throw new KeyImageError("the sizes are wrong");
  if (!sections.every((bytes) => isCount(bytes, Number.MAX_SAFE_INTEGER)))
    throw new KeyImageError("the sizes are wrong");
  return { pages, memory, sections, names };
}
