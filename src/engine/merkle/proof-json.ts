/**
 * Proofs of the trees as JSON, as the API answers them and as a file keeps them, and their check without any server:
 * only the hash and the proof are needed. Members that are not named here are left alone. Formats: README.md beside
 * this file.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import type { ConsistencyProof, InclusionProof } from "./dense-proofs.js";
import { verifyConsistency, verifyInclusion } from "./dense-proofs.js";
import { verifySparseProof } from "./sparse-tree.js";
import type { SparseProof } from "./sparse-tree.js";
import { EMPTY_NODE, isElement } from "./tree-hasher.js";
import type { TreeHasher } from "./tree-hasher.js";

/** A proof of any tree. */
export type TreeProof =
  | { readonly kind: "inclusion"; readonly proof: InclusionProof }
  | { readonly kind: "consistency"; readonly proof: ConsistencyProof }
  /** `found` tells membership from non-membership. */
  | { readonly kind: "sparse"; readonly proof: SparseProof };

/** No path of a tree is longer: the bits of a key over BLS12-381. */
const SIBLINGS_MAX = 255;

/** Returns an inclusion proof with the members of the API. */
export function inclusionJson({ curve, depth, size, index, leaf, siblings, root }: InclusionProof) {
  return { curve, depth, size, index, leaf, siblings, root };
}

/** Returns a consistency proof with the members of the API. */
export function consistencyJson(proof: ConsistencyProof) {
  const { curve, depth, fromSize, fromRoot, toSize, toRoot, leaf, siblings } = proof;
  const sizes = { from_size: fromSize, from_root: fromRoot, to_size: toSize, to_root: toRoot };
  return { curve, depth, ...sizes, leaf, siblings };
}

/** Returns a proof of membership or non-membership with the members of the API. */
export function sparseJson({ curve, root, key, found, value, siblings, oldKey, oldValue, isOld0 }: SparseProof) {
  return { curve, root, key, found, value, siblings, old_key: oldKey, old_value: oldValue, is_old0: isOld0 };
}

/**
 * Reads a proof from JSON: the object itself, or the member `proof` of an answer. The kind shows in its members.
 * @throws TypeError that names the member which is missing or malformed
 */
export function readTreeProof(json: unknown): TreeProof {
  const outer = objectOf(json, "the proof");
  const members =
    typeof outer["proof"] === "object" && outer["proof"] !== null ? objectOf(outer["proof"], "proof") : outer;
  if ("from_size" in members) return { kind: "consistency", proof: readConsistency(members) };
  if ("leaf" in members) return { kind: "inclusion", proof: readInclusion(members) };
  if ("key" in members) return { kind: "sparse", proof: readSparse(members) };
  throw new TypeError(
    "the proof has none of the members leaf (inclusion), from_size (consistency) and key (nullifiers)",
  );
}

/** Checks a proof of any tree against the roots that it names. */
export function verifyTreeProof({ kind, proof }: TreeProof, hasher?: TreeHasher): boolean {
  switch (kind) {
    case "inclusion":
      return verifyInclusion(proof, hasher);
    case "consistency":
      return verifyConsistency(proof, hasher);
    case "sparse":
      return verifySparseProof(proof, hasher);
  }
}

type Members = Readonly<Record<string, unknown>>;

function readInclusion(members: Members): InclusionProof {
  const curve = curveOf(members);
  const element = (name: string): string => elementOf(members, name, curve);
  return {
    curve,
    ...{ depth: integerOf(members, "depth"), size: integerOf(members, "size"), index: integerOf(members, "index") },
    ...{ leaf: element("leaf"), siblings: siblingsOf(members, curve), root: element("root") },
  };
}

function readConsistency(members: Members): ConsistencyProof {
  const curve = curveOf(members);
  const element = (name: string): string => elementOf(members, name, curve);
  return {
    curve,
    depth: integerOf(members, "depth"),
    ...{ fromSize: integerOf(members, "from_size"), fromRoot: element("from_root") },
    ...{ toSize: integerOf(members, "to_size"), toRoot: element("to_root") },
    ...{ leaf: element("leaf"), siblings: siblingsOf(members, curve) },
  };
}

function readSparse(members: Members): SparseProof {
  const curve = curveOf(members);
  const element = (name: string): string => elementOf(members, name, curve);
  const found = booleanOf(members, "found");
  return {
    curve,
    ...{ root: element("root"), key: element("key"), found },
    ...{ value: found ? element("value") : EMPTY_NODE, siblings: siblingsOf(members, curve) },
    ...(found
      ? { oldKey: EMPTY_NODE, oldValue: EMPTY_NODE, isOld0: false }
      : { oldKey: element("old_key"), oldValue: element("old_value"), isOld0: booleanOf(members, "is_old0") }),
  };
}

function objectOf(value: unknown, what: string): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError(`${what} is not a JSON object`);
  return value as Members;
}

function curveOf(members: Members): CurveName {
  const { curve } = members;
  if (curve !== "BN254" && curve !== "BLS12_381") throw new TypeError("curve: BN254 or BLS12_381 is expected");
  return curve;
}

function integerOf(members: Members, name: string): number {
  const value = members[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new TypeError(`${name}: an integer from 0 is expected`);
  return value;
}

function booleanOf(members: Members, name: string): boolean {
  const value = members[name];
  if (typeof value !== "boolean") throw new TypeError(`${name}: true or false is expected`);
  return value;
}

function elementOf(members: Members, name: string, curve: CurveName): string {
  const value = members[name];
  if (!isElement(value, curve))
    throw new TypeError(`${name}: 64 lower-case hex digits below the order of ${curve}'s scalar field are expected`);
  return value;
}

function siblingsOf(members: Members, curve: CurveName): string[] {
  const { siblings } = members;
  if (!Array.isArray(siblings) || siblings.length > SIBLINGS_MAX)
    throw new TypeError(`siblings: a list of up to ${String(SIBLINGS_MAX)} hashes is expected`);
  return siblings.map((sibling: unknown, i) =>
    elementOf({ [`siblings[${String(i)}]`]: sibling }, `siblings[${String(i)}]`, curve),
  );
}
