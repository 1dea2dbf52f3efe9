/** Nodes of nullifier trees on a real store: found by their places, and by their hash where they were kept so. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { insertAll, pathNodes, proveKey, verifySparseProof } from "../../../src/engine/merkle/sparse-tree.js";
import { EMPTY_NODE } from "../../../src/engine/merkle/tree-hasher.js";
import { newId } from "../../../src/platform/ids.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { SparseNodes } from "../../../src/prover/stores/sparse-nodes.js";
import { keyIn, type StoreReference } from "../../../src/prover/stores/store-records.js";
import { seededRandom } from "../../support/seeded.js";
import { recordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";

const curve = "BN254";
const folder = newFolder("sparse-nodes");
const random = seededRandom();
let store: DurableStore;

beforeAll(async () => {
  store = await openStore({ path: folder }, { log: recordedLog() });
});
afterAll(async () => {
  await store.close();
  removeFolder(folder);
});

interface Tree {
  readonly reference: StoreReference;
  root: string;
  size: number;
  readonly keys: string[];
}

const newTree = (): Tree => ({ reference: { owner: subject(), id: newId() }, root: EMPTY_NODE, size: 0, keys: [] });
const element = (): string =>
  Array.from({ length: 62 }, () => random.below(16).toString(16))
    .join("")
    .padStart(64, "0");

/** Inserts as the server does, or as it did when each node was kept by its hash. */
async function insert(tree: Tree, keys: readonly string[], isByHash = false): Promise<void> {
  const nodes = new SparseNodes(store, tree.reference);
  const entries = keys.map((key) => ({ key, value: key }));
  const known = new Map(pathNodes(nodes.read, { root: tree.root, keys, curve }).map(({ hash, node }) => [hash, node]));
  const { root, added } = insertAll((hash) => known.get(hash), { root: tree.root, entries, curve });
  const size = tree.size + keys.length;
  const puts = isByHash
    ? added.map(({ hash, node }) => ({
        key: keyIn("nullifier_node", tree.reference, hash),
        value: node.kind === "leaf" ? `L${node.key}${node.value}` : `B${node.left}${node.right}`,
      }))
    : nodes.puts({ root, size }, added);
  await store.commit({ puts: [...puts, { key: keyIn("proof_store_size", tree.reference, root), value: size }] });
  Object.assign(tree, { root, size });
  tree.keys.push(...keys);
}

function expectWhole({ reference, root, keys }: Tree): void {
  for (const key of [...keys, element()]) {
    const proof = proveKey(new SparseNodes(store, reference).read, { root, key, curve });
    expect([proof.found, verifySparseProof(proof)], `seed ${String(random.seed)}`).toEqual([keys.includes(key), true]);
  }
}

it("proves every key at every root, with batches of any length", async () => {
  const tree = newTree();
  const past: Tree[] = [];
  for (const length of [1, 1, 2, 40, 1 + random.below(60)]) {
    await insert(tree, Array.from({ length }, element));
    past.push({ ...tree, keys: [...tree.keys] });
  }
  for (const each of past) expectWhole(each);
});

it("follows branches with chosen keys that share a long path", async () => {
  const tree = newTree();
  const [first, second] = ["1", `8${"0".repeat(50)}1`].map((key) => key.padStart(64, "0"));
  await insert(tree, [first!]);
  await insert(tree, [second!]);
  await insert(tree, [element()]);
  expectWhole(tree);
});

it("goes on with trees whose nodes were kept by their hash", async () => {
  const tree = newTree();
  await insert(tree, Array.from({ length: 30 }, element), true);
  const before = { ...tree, keys: [...tree.keys] };
  expectWhole(before);
  await insert(tree, [element()]);
  await insert(tree, Array.from({ length: 20 }, element));
  expectWhole(tree);
  expectWhole(before);
});

it("says that a record is damaged", async () => {
  const tree = newTree();
  await insert(tree, Array.from({ length: 3 }, element));
  const key = keyIn("nullifier_nodes", tree.reference, 3, 0);
  const { value } = store.get<string>(key)!;
  for (const damaged of ["", value.slice(1), value.split(",")[0]!, value.replace(":", ":?")]) {
    await store.commit({ puts: [{ key, value: damaged }] });
    const readAll = (): unknown =>
      tree.keys.map((each) =>
        proveKey(new SparseNodes(store, tree.reference).read, { root: tree.root, key: each, curve }),
      );
    expect(readAll, damaged.slice(0, 20)).toThrow("damaged");
  }
});
