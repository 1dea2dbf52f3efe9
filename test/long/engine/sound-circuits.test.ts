/** Circuits that fix all that they say: none is accused, and what is proved of them is written down. */
import { describe, expect, it } from "vitest";
import { analyzed, libraryCircuit, oneFile } from "../../support/analyzed-circuits.js";

const DETERMINED: readonly (readonly [file: string, call: string])[] = [
  ["comparators", "IsZero()"],
  ["comparators", "IsEqual()"],
  ["comparators", "ForceEqualIfEnabled()"],
  ["comparators", "LessThan(32)"],
  ["comparators", "GreaterEqThan(32)"],
  ["bitify", "Num2Bits(253)"],
  ["bitify", "Num2Bits_strict()"],
  ["bitify", "Bits2Num(16)"],
  ["binsum", "BinSum(8, 3)"],
  ["compconstant", "CompConstant(12345678901234567890)"],
  ["gates", "MultiAND(9)"],
  ["multiplexer", "Multiplexer(3, 8)"],
  ["mux3", "Mux3()"],
  ["switcher", "Switcher()"],
  ["poseidon", "Poseidon(2)"],
];

describe("circuits that fix every signal", () => {
  it.each(DETERMINED)("proves the library's template %s %s", async (file, call) => {
    const { verdict, counts, pair } = await analyzed(libraryCircuit(file, call));
    expect(verdict).toBe("determined");
    expect(counts).toMatchObject({ conditional: 0, open: 0 });
    expect(pair).toBeNull();
  });

  it("counts the inverse in a zero test as free without effect", async () => {
    const { counts } = await analyzed(libraryCircuit("comparators", "IsZero()"));
    expect(counts).toEqual({ inputs: 1, determined: 1, conditional: 0, open: 0, without_effect: 1 });
  });

  it("names the denominators of an addition of points, and accuses nothing", async () => {
    const { verdict, conditions, condition_count: count } = await analyzed(libraryCircuit("babyjub", "BabyAdd()"));
    expect(verdict).toBe("determined_except");
    expect(count).toBe(2);
    expect(conditions.map(({ signal }) => signal.name)).toEqual(["main.xout", "main.yout"]);
    expect(conditions[0]?.denominator).toBe("1 + 168696 * main.tau");
  });

  it("does not claim a division with all its ranges, which no rule covers", async () => {
    const text = `include "circomlib/circuits/comparators.circom";
      template T() { signal input a; signal input b; signal output q; signal output r;
        q <-- a \\ b; r <-- a % b; a === q * b + r;
        component rangeQ = Num2Bits(16); rangeQ.in <== q; component rangeB = Num2Bits(16); rangeB.in <== b;
        component less = LessThan(16); less.in[0] <== r; less.in[1] <== b; less.out === 1;
        component rangeR = Num2Bits(16); rangeR.in <== r; }
      component main = T();`;
    const { verdict, reason, pair } = await analyzed(oneFile(text));
    expect({ verdict, reason, pair }).toEqual({ verdict: "not_proven", reason: "rules", pair: null });
  });

  it("trusts the alias check of the shipped library only, not of a copy that was changed", async () => {
    const text = `template CompConstant(c) { signal input in[254]; signal output out; out <== 0; }
      template AliasCheck() { signal input in[254]; component c = CompConstant(-1);
        for (var i = 0; i < 254; i++) { in[i] ==> c.in[i]; } c.out === 0; }
      template T() { signal input x; signal output b[254]; var s = 0;
        for (var i = 0; i < 254; i++) { b[i] <-- (x >> i) & 1; b[i] * (b[i] - 1) === 0; s += b[i] * 2 ** i; } s === x;
        component check = AliasCheck(); for (var i = 0; i < 254; i++) { check.in[i] <== b[i]; } }
      component main = T();`;
    expect((await analyzed(oneFile(text))).verdict).toBe("under_determined");
  });
});
