/**
 * The nodes of nullifier trees in the store, by their hash. A node never changes and none is dropped, so that every
 * root of the past still has its tree.
 */
import type { HashedSparseNode, ReadSparseNode, SparseNode } from "../../engine/merkle/sparse-tree.js";
import { AppError } from "../../platform/errors.js";
import type { Store, StorePut } from "../../platform/store/store.js";
import { keyIn, type StoreReference } from "./store-records.js";

/** `L` or `B`, then the two members of 64 hex digits. */
const NODE = /^([LB])([0-9a-f]{64})([0-9a-f]{64})$/;

/** Returns the reader of a store's nodes. It throws `data_corrupt` for a record that is no node. */
export function nodeReader(store: Store, reference: StoreReference): ReadSparseNode {
  return (hash) => {
    const found = store.get<string>(keyIn("nullifier_node", reference, hash));
    return found === undefined ? undefined : decode(found.value);
  };
}

/** Returns what is written for new nodes. */
export function nodePuts(reference: StoreReference, added: readonly HashedSparseNode[]): StorePut[] {
  return added.map(({ hash, node }) => ({ key: keyIn("nullifier_node", reference, hash), value: encode(node) }));
}

function encode(node: SparseNode): string {
  return node.kind === "leaf" ? `L${node.key}${node.value}` : `B${node.left}${node.right}`;
}

function decode(text: string): SparseNode {
  const [, kind, first, second] = NODE.exec(text) ?? [];
  if (kind === undefined || first === undefined || second === undefined)
    throw new AppError("data_corrupt", { message: "a node of a nullifier tree is damaged" });
  return kind === "L" ? { kind: "leaf", key: first, value: second } : { kind: "branch", left: first, right: second };
}
