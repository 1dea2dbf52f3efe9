/**
 * The tasks of the trees for a thread that cannot read the store: the nodes that they need come with the message.
 */
import type {
  InsertNullifiersMessage,
  InsertNullifiersValue,
  ProveNotesMessage,
  ProveNotesValue,
} from "../protocol.js";
import { proveConsistency, proveInclusion } from "./dense-proofs.js";
import { insertAll } from "./sparse-tree.js";

/** Runs the task `insert_nullifiers`. */
export function insertNullifiers(message: InsertNullifiersMessage): InsertNullifiersValue {
  const nodes = new Map(message.nodes.map(({ hash, node }) => [hash, node]));
  return insertAll((hash) => nodes.get(hash), message);
}

/** Runs the task `prove_notes`. */
export function proveNotes({ curve, depth, nodes, query }: ProveNotesMessage): ProveNotesValue {
  const byPlace = new Map(nodes.map(({ level, index, hash }) => [`${String(level)}/${String(index)}`, hash]));
  const tree = {
    ...{ curve, depth },
    read: (level: number, index: number) => byPlace.get(`${String(level)}/${String(index)}`),
  };
  return query.kind === "inclusion"
    ? { kind: "inclusion", proof: proveInclusion(tree, query) }
    : { kind: "consistency", proof: proveConsistency(tree, query) };
}
