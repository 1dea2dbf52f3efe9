/**
 * The hashes of the trees, over hex: Poseidon of two children, and of the three elements of a sparse tree's leaf. Nodes
 * are 64 lower-case hex digits, big-endian, below the order r of the curve's scalar field.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import { HASHES_AT_ONCE_MAX, poseidonKernel } from "../kernels/poseidon/poseidon-kernel.js";

/** Hashes many nodes at once, in the order of the arguments. */
export interface TreeHasher {
  /** Poseidon(left, right) for each place of two lists of one length. */
  readonly pairs: (lefts: readonly string[], rights: readonly string[]) => string[];
  /** Poseidon(key, value, 1) for each place of two lists of one length: a leaf of the sparse tree. */
  readonly leaves: (keys: readonly string[], values: readonly string[]) => string[];
}

/** The empty subtree of the sparse tree and the empty leaf of the dense one: 0. */
export const EMPTY_NODE = "0".repeat(64);

/** Order of the scalar field in hex: 64 digits, so that texts compare as numbers do. */
const ORDERS: Readonly<Record<CurveName, string>> = {
  BN254: "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001",
  BLS12_381: "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001",
};

/** Tells whether a text is a field element as the trees write it: 64 lower-case hex digits, below r. */
export function isElement(text: unknown, curve: CurveName): text is string {
  return typeof text === "string" && /^[0-9a-f]{64}$/.test(text) && text < ORDERS[curve];
}

/**
 * Asserts that every text is a field element as the trees write it.
 * @throws RangeError that names `what` and the text
 */
export function requireElements(texts: readonly string[], curve: CurveName, what: string): void {
  for (const text of texts) {
    const isOne: boolean = isElement(text, curve);
    if (!isOne)
      throw new RangeError(`${what} is 64 lower-case hex digits below the order of ${curve}'s scalar field: ${text}`);
  }
}

/**
 * Returns the hashes of a curve's trees on the WebAssembly kernel: some 10 to 20 microseconds each, those of one call
 * two at a time. The first use on a thread takes some 10 ms.
 */
export function treeHasher(curve: CurveName): TreeHasher {
  return {
    pairs: (lefts, rights) => hashColumns(curve, lefts.length, [lefts, rights]),
    leaves: (keys, values) => hashColumns(curve, keys.length, [keys, values, keys.map(() => LEAF_TAG)]),
  };
}

/** The third input of a leaf's hash: 1. */
const LEAF_TAG = "1".padStart(64, "0");
const ELEMENT_BYTES = 32;

/** Hashes the i-th elements of all columns, for each i. */
function hashColumns(curve: CurveName, count: number, columns: readonly (readonly string[])[]): string[] {
  for (const column of columns) requireElements(column, curve, "a node");
  if (columns.some((column) => column.length !== count)) throw new RangeError("every hash takes as many elements");
  const arity = columns.length === 2 ? 2 : 3;
  const kernel = poseidonKernel(curve);
  const hashes: string[] = [];
  for (let from = 0; from < count; from += HASHES_AT_ONCE_MAX) {
    const length = Math.min(count - from, HASHES_AT_ONCE_MAX);
    for (let i = 0; i < length; i += 1)
      for (const [place, column] of columns.entries())
        writeHex(kernel.inputs, (i * arity + place) * ELEMENT_BYTES, column[from + i] ?? "");
    kernel.hash(arity, length);
    for (let i = 0; i < length; i += 1) hashes.push(readHex(kernel.outputs, i * ELEMENT_BYTES));
  }
  return hashes;
}

const BYTE_TEXTS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Writes the number as little-endian bytes; its hex is big-endian. */
function writeHex(into: Uint8Array, offset: number, hex: string): void {
  for (let i = 0; i < ELEMENT_BYTES; i += 1)
    into[offset + ELEMENT_BYTES - 1 - i] = (digitOf(hex, 2 * i) << 4) | digitOf(hex, 2 * i + 1);
}

/** The value of a lower-case hex digit. */
function digitOf(hex: string, at: number): number {
  const code = hex.charCodeAt(at);
  return code < 0x3a ? code - 0x30 : code - 0x57;
}

function readHex(bytes: Uint8Array, offset: number): string {
  let hex = "";
  for (let i = ELEMENT_BYTES - 1; i >= 0; i -= 1) hex += BYTE_TEXTS[bytes[offset + i] ?? 0] ?? "";
  return hex;
}

/**
 * Reads a node.
 * @throws RangeError when it is not 64 lower-case hex digits
 */
export function hexToElement(hex: string): bigint {
  if (!/^[0-9a-f]{64}$/.test(hex)) throw new RangeError("a node is 64 lower-case hex digits");
  return BigInt(`0x${hex}`);
}

/** Writes a field element as a node: 64 lower-case hex digits. */
export function elementToHex(element: bigint): string {
  return element.toString(16).padStart(64, "0");
}
