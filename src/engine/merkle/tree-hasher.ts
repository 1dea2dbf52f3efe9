/**
 * The hashes of the trees, over hex: Poseidon of two children, and of the three elements of a sparse tree's leaf. Nodes
 * are 64 lower-case hex digits, big-endian, below the order r of the curve's scalar field.
 */
import { poseidonPair, poseidonTriple } from "../../crypto/hashes/poseidon.js";
import type { CurveName } from "../curves/curve-parameters.js";

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
    if (!isElement(text, curve))
      throw new RangeError(`${what} is 64 lower-case hex digits below the order of ${curve}'s scalar field: ${text}`);
  }
}

/** Returns the hashes on bigints: 0.3 ms each, the oracle of the tests. */
export function plainTreeHasher(curve: CurveName): TreeHasher {
  return {
    pairs: (lefts, rights) =>
      lefts.map((left, i) => elementToHex(poseidonPair(hexToElement(left), hexToElement(rights[i] ?? ""), curve))),
    leaves: (keys, values) =>
      keys.map((key, i) => elementToHex(poseidonTriple([hexToElement(key), hexToElement(values[i] ?? ""), 1n], curve))),
  };
}

/** Returns the hashes of a curve's trees. */
export function treeHasher(curve: CurveName): TreeHasher {
  return plainTreeHasher(curve);
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
