/**
 * Proofs of the trees as inputs of circuits: the private inputs of the templates in `circuits/` (dense_tree.circom,
 * nullifier_tree.circom). Numbers are decimal.
 */
import type { ConsistencyProof, InclusionProof } from "./dense-proofs.js";
import type { SparseProof } from "./sparse-tree.js";
import { EMPTY_NODE, hexToElement } from "./tree-hasher.js";

/** Inputs by the names of a template's signals. */
export type CircuitInputs = Readonly<Record<string, string | readonly string[]>>;

/** Returns the inputs of `NoteInclusion(depth)`, whose output is the root. */
export function inclusionInputs({ leaf, index, siblings }: InclusionProof): CircuitInputs {
  return { Leaf: decimal(leaf), Index: String(index), Siblings: siblings.map(decimal) };
}

/**
 * Returns the inputs of `TreeConsistency(depth)`, whose outputs are the two roots.
 * @throws RangeError when the older tree is full: then the roots are equal, and nothing is left to prove
 */
export function consistencyInputs({ fromSize, leaf, siblings, depth }: ConsistencyProof): CircuitInputs {
  if (fromSize === 2 ** depth) throw new RangeError("a full tree has no later one: its roots are equal");
  return { Size: String(fromSize), Leaf: decimal(leaf), Siblings: siblings.map(decimal) };
}

/**
 * Returns the inputs of `NullifierMembership(levels)` or `NullifierAbsence(levels)`, depending on the proof.
 * @param levels larger than the number of siblings; 255 are enough for every proof
 * @throws RangeError when the circuit has too few levels, or the proof is not over BN254
 */
export function nullifierInputs(proof: SparseProof, levels: number): CircuitInputs {
  const { curve, root, key, found, value, siblings, oldKey, oldValue, isOld0 } = proof;
  if (curve !== "BN254") throw new RangeError("circomlib's verifier takes keys of 254 bits: BN254 only");
  if (siblings.length >= levels)
    throw new RangeError(`a proof with ${String(siblings.length)} siblings needs a circuit of more levels`);
  const padded = Array.from({ length: levels }, (_, i) => decimal(siblings[i] ?? EMPTY_NODE));
  const inputs = { Root: decimal(root), Key: decimal(key), Siblings: padded };
  if (found) return { ...inputs, Value: decimal(value) };
  return { ...inputs, OldKey: decimal(oldKey), OldValue: decimal(oldValue), IsOld0: isOld0 ? "1" : "0" };
}

function decimal(hex: string): string {
  return hexToElement(hex).toString();
}
