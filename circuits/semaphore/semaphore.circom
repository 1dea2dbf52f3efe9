pragma circom 2.1.0;

include "circomlib/circuits/babyjub.circom";
include "circomlib/circuits/bitify.circom";
include "circomlib/circuits/comparators.circom";
include "circomlib/circuits/poseidon.circom";

// Membership in a group, once for each scope, without telling who it is. Identities, groups, nullifiers and the order of
// the public signals are those of Semaphore 4 (https://docs.semaphore.pse.dev, MIT), with the root and the nullifier as
// public inputs in place of outputs.

// The root of a path in a LeanIMT, whose nodes without a right sibling move up as they are: a path has as many siblings
// as `length` says. Every level up to maxDepth is computed, and the length selects one.
template LeanPathRoot(maxDepth) {
    signal input leaf;
    signal input length;
    signal input index;
    signal input siblings[maxDepth];
    signal output root;

    signal sides[maxDepth] <== Num2Bits(maxDepth)(index);
    signal nodes[maxDepth + 1];
    signal swaps[maxDepth];
    signal isEnd[maxDepth + 1];
    signal sums[maxDepth + 2];
    nodes[0] <== leaf;
    for (var i = 0; i < maxDepth; i++) {
        swaps[i] <== sides[i] * (siblings[i] - nodes[i]);
        nodes[i + 1] <== Poseidon(2)([nodes[i] + swaps[i], siblings[i] - swaps[i]]);
    }
    var ends = 0;
    sums[0] <== 0;
    for (var i = 0; i <= maxDepth; i++) {
        isEnd[i] <== IsEqual()([length, i]);
        ends += isEnd[i];
        sums[i + 1] <== sums[i] + isEnd[i] * nodes[i];
    }
    // The length is 0 to maxDepth.
    ends === 1;
    root <== sums[maxDepth + 1];
}

template Semaphore(maxDepth) {
    signal input merkleRoot;
    signal input nullifier;
    signal input message;
    signal input scope;
    signal input secret;
    signal input merkleProofLength;
    signal input merkleProofIndex;
    signal input merkleProofSiblings[maxDepth];

    // Below the order of Baby Jubjub's subgroup (EIP-2494): otherwise one identity would have several secrets, and a
    // nullifier for each. BabyPbk holds the secret to 253 bits, so that the comparison cannot wrap around.
    signal isCanonical <== LessThan(251)([
        secret,
        2736030358979909402780800718157159386076813972158567259200215660948447373041
    ]);
    isCanonical === 1;

    component publicKey = BabyPbk();
    publicKey.in <== secret;
    signal commitment <== Poseidon(2)([publicKey.Ax, publicKey.Ay]);
    signal root <== LeanPathRoot(maxDepth)(commitment, merkleProofLength, merkleProofIndex, merkleProofSiblings);
    merkleRoot === root;
    signal scopedSecret <== Poseidon(2)([scope, secret]);
    nullifier === scopedSecret;
    // Ties the message to a constraint, so that a proof for one message is none for another.
    signal messageSquared <== message * message;
}

component main {public [merkleRoot, nullifier, message, scope]} = Semaphore(20);
