pragma circom 2.1.0;

include "circomlib/circuits/bitify.circom";
include "circomlib/circuits/poseidon.circom";

// Knowledge of a committed Value with Minimum <= Value <= Maximum, all of them unsigned numbers of the given bits.
// Commitment = Poseidon(Value, Blinding); the blinding is random, else a short value could be guessed from its commitment.
template RangeProof(bits) {
    signal input Value;
    signal input Blinding;
    signal input Commitment;
    signal input Minimum;
    signal input Maximum;

    signal digest <== Poseidon(2)([Value, Blinding]);
    Commitment === digest;
    // Every number is held to its bits first: a difference of field elements says nothing about order by itself.
    signal valueBits[bits] <== Num2Bits(bits)(Value);
    signal minimumBits[bits] <== Num2Bits(bits)(Minimum);
    signal maximumBits[bits] <== Num2Bits(bits)(Maximum);
    signal aboveBits[bits] <== Num2Bits(bits)(Value - Minimum);
    signal belowBits[bits] <== Num2Bits(bits)(Maximum - Value);
}

component main {public [Commitment, Minimum, Maximum]} = RangeProof(64);
