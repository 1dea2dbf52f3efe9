pragma circom 2.1.0;

include "circomlib/circuits/poseidon.circom";

// Knowledge of a leaf in a binary tree with the given root, without telling which one.
// PathIndices[i] is 0 when the node on level i is its parent's left child and 1 when it is the right one; leaves are level 0.
template MerkleMembership(depth) {
    signal input Leaf;
    signal input PathElements[depth];
    signal input PathIndices[depth];
    signal input Root;

    signal nodes[depth + 1];
    signal swaps[depth];
    nodes[0] <== Leaf;
    for (var i = 0; i < depth; i++) {
        PathIndices[i] * (PathIndices[i] - 1) === 0;
        // One product serves both children: left = node + swap, right = sibling - swap.
        swaps[i] <== PathIndices[i] * (PathElements[i] - nodes[i]);
        nodes[i + 1] <== Poseidon(2)([nodes[i] + swaps[i], PathElements[i] - swaps[i]]);
    }
    Root === nodes[depth];
}

component main {public [Root]} = MerkleMembership(20);
