pragma circom 2.1.0;

// Knowledge of X with Y = X^3 + X + 5.
template Cubic() {
    signal input X;
    signal input Y;

    signal square <== X * X;
    Y === square * X + X + 5;
}

component main {public [Y]} = Cubic();
