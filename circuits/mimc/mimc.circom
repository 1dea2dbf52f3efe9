pragma circom 2.1.0;

include "mimc_preimage.circom";

// Knowledge of Preimage with Hash = MiMC(Preimage).
component main {public [Hash]} = MiMCPreimage();
