pragma circom 2.1.0;

include "circomlib/circuits/poseidon.circom";

// Knowledge of Preimage with Hash = Poseidon(Preimage).
template PoseidonPreimage() {
    signal input Preimage;
    signal input Hash;

    signal digest <== Poseidon(1)([Preimage]);
    Hash === digest;
}

component main {public [Hash]} = PoseidonPreimage();
