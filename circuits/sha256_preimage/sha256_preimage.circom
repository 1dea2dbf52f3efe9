pragma circom 2.1.0;

include "circomlib/circuits/bitify.circom";
include "circomlib/circuits/sha256/sha256.circom";

// Knowledge of a message of the given bytes with the given SHA-256 digest.
// Hash holds the digest as two big-endian numbers of 128 bits: its first 16 bytes, then its last 16.
template Sha256Preimage(bytes) {
    signal input Preimage[bytes];
    signal input Hash[2];

    component sha = Sha256(8 * bytes);
    component split[bytes];
    for (var i = 0; i < bytes; i++) {
        split[i] = Num2Bits(8);
        split[i].in <== Preimage[i];
        for (var j = 0; j < 8; j++) {
            // SHA-256 takes the most significant bit of each byte first.
            sha.in[8 * i + j] <== split[i].out[7 - j];
        }
    }
    for (var half = 0; half < 2; half++) {
        var number = 0;
        for (var j = 0; j < 128; j++) {
            number = 2 * number + sha.out[128 * half + j];
        }
        Hash[half] === number;
    }
}

component main {public [Hash]} = Sha256Preimage(64);
