pragma circom 2.1.0;

include "mimc_preimage.circom";

// The circuit `mimc` under the name that newer clients use.
component main {public [Hash]} = MiMCPreimage();
