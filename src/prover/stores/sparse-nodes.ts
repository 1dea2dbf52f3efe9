/**
 * The nodes of nullifier trees in the store. Each commit adds its new nodes behind those of earlier ones, some in each
 * record, and a branch names the places of its children beside their hashes: keyed by their hash, every node of a path
 * would dirty another page of the disk. A node never changes and none is dropped, so that every root of the past still
 * has its tree. Nodes that were kept by their hash before are found by it still.
 *
 *   record  node "," node ...            at [size after the commit, part]; the root is the first of part 0
 *   node    "L" key(64) value(64)        a leaf
 *           "B" left(64) right(64) ":" place ":" place
 *   place   size "/" part "/" number     in base 36; empty for the empty node, and for one that is kept by its hash
 */
import type { HashedSparseNode, ReadSparseNode, SparseNode } from "../../engine/merkle/sparse-tree.js";
import { AppError, assert } from "../../platform/errors.js";
import type { Store, StorePut } from "../../platform/store/store.js";
import { keyIn, type StoreReference } from "./store-records.js";

const NODE = /^([LB])([0-9a-f]{64})([0-9a-f]{64})(?::([0-9a-z/]*):([0-9a-z/]*))?$/;
const PLACE = /^[0-9a-z]+\/[0-9a-z]+\/[0-9a-z]+$/;
/** Some 2.5 KB: a path is read out of few records, and little of them is not of it. */
const NODES_OF_RECORD = 16;
const RADIX = 36;

interface PlacedNode {
  readonly node: SparseNode;
  /** Of its children; empty where none is known. */
  readonly places: readonly [left: string, right: string];
}

/** Reads the nodes of one store's tree from a root down, and says how new ones are written. Serves one operation. */
export class SparseNodes {
  readonly #store: Pick<Store, "get">;
  readonly #reference: StoreReference;
  /** Of nodes whose parent was read. */
  readonly #places = new Map<string, string>();
  /** Not decoded: of most records one node is read. */
  readonly #records = new Map<string, readonly string[]>();

  constructor(store: Pick<Store, "get">, reference: StoreReference) {
    this.#store = store;
    this.#reference = reference;
  }

  /**
   * Gives the node of a hash, which is a root or a child of a node that was read before.
   * @throws AppError `data_corrupt` for a record that is none of nodes
   */
  readonly read: ReadSparseNode = (hash) => {
    const place = this.#places.get(hash) ?? this.#placeOfRoot(hash);
    const found = place === undefined ? this.#readByHash(hash) : this.#readAt(place);
    if (found === undefined) return undefined;
    const { node, places } = found;
    if (node.kind === "branch") {
      if (places[0] !== "") this.#places.set(node.left, places[0]);
      if (places[1] !== "") this.#places.set(node.right, places[1]);
    }
    return node;
  };

  /**
   * Returns what is written for the new nodes of a commit.
   * @param after the tree with them
   * @param added all nodes that are new; those that they lead to were read
   */
  puts(after: { readonly root: string; readonly size: number }, added: readonly HashedSparseNode[]): StorePut[] {
    const nodes = fromRootDown(after.root, added);
    for (const [i, { hash }] of nodes.entries()) this.#places.set(hash, placeOf(after.size, i));
    const texts = nodes.map(({ node }) => this.#encode(node));
    return Array.from({ length: Math.ceil(texts.length / NODES_OF_RECORD) }, (_, part) => ({
      key: keyIn("nullifier_nodes", this.#reference, after.size, part),
      value: texts.slice(part * NODES_OF_RECORD, (part + 1) * NODES_OF_RECORD).join(","),
    }));
  }

  #encode(node: SparseNode): string {
    if (node.kind === "leaf") return `L${node.key}${node.value}`;
    const { left, right } = node;
    return `B${left}${right}:${this.#places.get(left) ?? ""}:${this.#places.get(right) ?? ""}`;
  }

  /** Undefined where the hash is no root, or one from before nodes had places. */
  #placeOfRoot(hash: string): string | undefined {
    // Whatever is read after the root was named by its parent.
    if (this.#places.size > 0) return undefined;
    const size = this.#store.get<number>(keyIn("proof_store_size", this.#reference, hash))?.value;
    if (size === undefined) return undefined;
    const place = placeOf(size, 0);
    if (this.#record(place) === undefined) return undefined;
    this.#places.set(hash, place);
    return place;
  }

  #readAt(place: string): PlacedNode {
    const text = this.#record(place)?.[Number.parseInt(place.slice(place.lastIndexOf("/") + 1), RADIX)];
    if (text === undefined) throw corrupt();
    return decode(text);
  }

  #record(place: string): readonly string[] | undefined {
    const name = place.slice(0, place.lastIndexOf("/"));
    const known = this.#records.get(name);
    if (known !== undefined) return known;
    const [size = 0, part = 0] = name.split("/").map((text) => Number.parseInt(text, RADIX));
    const found = this.#store.get<string>(keyIn("nullifier_nodes", this.#reference, size, part));
    if (found === undefined) return undefined;
    const nodes = found.value.split(",");
    this.#records.set(name, nodes);
    return nodes;
  }

  #readByHash(hash: string): PlacedNode | undefined {
    const found = this.#store.get<string>(keyIn("nullifier_node", this.#reference, hash));
    return found === undefined ? undefined : decode(found.value);
  }
}

/** The root first, each path in one piece as far as no other has been there. */
function fromRootDown(root: string, added: readonly HashedSparseNode[]): HashedSparseNode[] {
  const left = new Map(added.map((each) => [each.hash, each]));
  const ordered: HashedSparseNode[] = [];
  const waiting = [root];
  for (let hash = waiting.pop(); hash !== undefined; hash = waiting.pop()) {
    const found = left.get(hash);
    if (found === undefined) continue;
    left.delete(hash);
    ordered.push(found);
    if (found.node.kind === "branch") waiting.push(found.node.right, found.node.left);
  }
  assert(left.size === 0, "the new root leads to all new nodes");
  return ordered;
}

function placeOf(size: number, number: number): string {
  return [size, Math.floor(number / NODES_OF_RECORD), number % NODES_OF_RECORD]
    .map((part) => part.toString(RADIX))
    .join("/");
}

function decode(text: string): PlacedNode {
  const [, kind, first, second, left = "", right = ""] = NODE.exec(text) ?? [];
  if (kind === undefined || first === undefined || second === undefined) throw corrupt();
  if ([left, right].some((place) => place !== "" && !PLACE.test(place))) throw corrupt();
  const node: SparseNode =
    kind === "L" ? { kind: "leaf", key: first, value: second } : { kind: "branch", left: first, right: second };
  return { node, places: [left, right] };
}

function corrupt(): AppError {
  return new AppError("data_corrupt", { message: "a node of a nullifier tree is damaged" });
}
