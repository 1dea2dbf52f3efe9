pragma circom 2.1.0;

include "circomlib/circuits/smt/smtverifier.circom";

// Proofs about the sparse nullifier tree (src/engine/merkle/README.md), by circomlib's SMTVerifier. Siblings go from the
// root down, and zeros fill up what a proof leaves: levels must be larger than its number of siblings, and 255 are
// enough for every proof. Over BN254 only, as the verifier takes keys of 254 bits.

// The tree has the value under the key.
template NullifierMembership(levels) {
    signal input Root;
    signal input Key;
    signal input Value;
    signal input Siblings[levels];

    component verifier = SMTVerifier(levels);
    verifier.enabled <== 1;
    verifier.fnc <== 0;
    verifier.root <== Root;
    verifier.siblings <== Siblings;
    verifier.oldKey <== 0;
    verifier.oldValue <== 0;
    verifier.isOld0 <== 0;
    verifier.key <== Key;
    verifier.value <== Value;
}

// The tree has nothing under the key: its path ends at an empty place, or at the leaf of OldKey.
template NullifierAbsence(levels) {
    signal input Root;
    signal input Key;
    signal input Siblings[levels];
    signal input OldKey;
    signal input OldValue;
    signal input IsOld0;

    // The verifier leaves this to its caller. Without it a factor other than 0 and 1 turns the leaf of any OldKey into
    // the leaf that is there, so that every key could be shown to be absent.
    IsOld0 * (IsOld0 - 1) === 0;

    component verifier = SMTVerifier(levels);
    verifier.enabled <== 1;
    verifier.fnc <== 1;
    verifier.root <== Root;
    verifier.siblings <== Siblings;
    verifier.oldKey <== OldKey;
    verifier.oldValue <== OldValue;
    verifier.isOld0 <== IsOld0;
    verifier.key <== Key;
    verifier.value <== 0;
}
