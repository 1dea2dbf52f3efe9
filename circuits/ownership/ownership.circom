pragma circom 2.1.0;

include "dense_tree.circom";
include "circomlib/circuits/poseidon.circom";

// Knowledge of a note of the tree with this root, without telling which one. A note is known by its digest, whose two
// halves of 128 bits are hashed into its leaf. The nullifier is the same whenever the same note is used in a scope, and
// tells nothing of the note to those who do not know its digest.
template Ownership(depth) {
    signal input Root;
    signal input Nullifier;
    signal input Scope;
    signal input Message;
    signal input Note[2];
    signal input Index;
    signal input Siblings[depth];

    // The halves need no check of their range: a leaf has no second opening but by a collision of Poseidon.
    signal leaf <== Poseidon(2)(Note);
    signal root <== NoteInclusion(depth)(leaf, Index, Siblings);
    Root === root;
    signal scopedNote <== Poseidon(3)([Note[0], Note[1], Scope]);
    Nullifier === scopedNote;
    // Ties the message to a constraint, so that a proof for one message is none for another.
    signal messageSquared <== Message * Message;
}

component main {public [Root, Nullifier, Scope, Message]} = Ownership(32);
