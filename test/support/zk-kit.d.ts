/** The parts of zk-kit's sparse tree that tests use as an oracle; its declarations are not where its exports say. */
declare module "@zk-kit/sparse-merkle-tree" {
  export interface SparseProof {
    readonly siblings: readonly bigint[];
    /** Key, value and mark of the entry; the key alone when it is absent. */
    readonly entry: readonly bigint[];
    /** Of another key at the end of an absent one's path. */
    readonly matchingEntry?: readonly bigint[];
    readonly membership: boolean;
    readonly root: bigint;
  }
  export class SparseMerkleTree {
    constructor(hash: (nodes: readonly bigint[]) => bigint, bigNumbers: true);
    readonly root: bigint;
    add(key: bigint, value: bigint): void;
    createProof(key: bigint): SparseProof;
  }
}
