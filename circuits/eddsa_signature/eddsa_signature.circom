pragma circom 2.1.0;

include "circomlib/circuits/eddsaposeidon.circom";

// Knowledge of an EdDSA signature (Baby Jubjub, Poseidon) on Message by the holder of PublicKey.
template EdDSASignature() {
    signal input PublicKey[2];
    signal input Message;
    signal input R8[2];
    signal input S;

    component verifier = EdDSAPoseidonVerifier();
    verifier.enabled <== 1;
    verifier.Ax <== PublicKey[0];
    verifier.Ay <== PublicKey[1];
    verifier.R8x <== R8[0];
    verifier.R8y <== R8[1];
    verifier.S <== S;
    verifier.M <== Message;
}

component main {public [PublicKey, Message]} = EdDSASignature();
