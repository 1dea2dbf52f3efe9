/**
 * Circuits with faults that were found in practice, each written anew in its smallest form. An accusation is two
 * witnesses, which the support file checks against the constraints by other code.
 *
 * SOURCE of the kinds of faults: the 0xPARC zk-bug-tracker, the zkbugs data set of zkSecurity, and Veridise's report on
 * circomlib (V-CIRCOMLIB-VUL-001, 005, 006, 007).
 */
import { describe, expect, it } from "vitest";
import { analyzed, libraryCircuit, oneFile } from "../../support/analyzed-circuits.js";

const COMPARATORS = `include "circomlib/circuits/comparators.circom";`;
const BITIFY = `include "circomlib/circuits/bitify.circom";`;

/** Name -> text and the first output that differs. */
const BROKEN: Readonly<Record<string, string>> = {
  "a zero test without its second constraint": `template T() { signal input x; signal output z; signal i;
    i <-- x != 0 ? 1 / x : 0; z <== 1 - x * i; } component main = T();`,
  "a zero test without its first constraint": `template T() { signal input x; signal output z;
    z <-- x == 0 ? 1 : 0; x * z === 0; } component main = T();`,
  "an output that is assigned and not constrained": `template T() { signal input a; signal input b; signal output c;
    c <-- a * b; } component main = T();`,
  "an output that is never assigned": `template T() { signal input a; signal output o; signal s; s <== a * a; }
    component main = T();`,
  "a square root": `template T() { signal input y; signal output x; x <-- y == 0 ? 0 : 1; x * x === y; }
    component main = T();`,
  "a quotient whose divisor may be zero": `template T() { signal input a; signal input b; signal output q;
    q <-- a / b; q * b === a; } component main = T();`,
  "a factor whose other factor may be zero": `template T() { signal input a; signal input b; signal output s;
    s <-- 1; s * (a - b) === 0; } component main = T();`,
  "a division with remainder without ranges": `template T() { signal input a; signal input b; signal output q;
    signal output r; q <-- a \\ b; r <-- a % b; a === q * b + r; } component main = T();`,
  "bits without their sum": `template T(n) { signal input x; signal output b[n];
    for (var i = 0; i < n; i++) { b[i] <-- (x >> i) & 1; b[i] * (b[i] - 1) === 0; } } component main = T(8);`,
  "a lowest bit that may be any value": `template T(n) { signal input x; signal output b[n]; var s = 0;
    for (var i = 0; i < n; i++) { b[i] <-- (x >> i) & 1; if (i > 0) { b[i] * (b[i] - 1) === 0; } s += b[i] * 2 ** i; }
    s === x; } component main = T(8);`,
  "a highest bit that may be any value": `template T(n) { signal input x; signal output b[n]; var s = 0;
    for (var i = 0; i < n; i++) { b[i] <-- (x >> i) & 1; if (i < n - 1) { b[i] * (b[i] - 1) === 0; } s += b[i] * 2 ** i; }
    s === x; } component main = T(8);`,
  "a maximum that may be the minimum": `template T() { signal input a; signal input b; signal output m;
    m <-- a > b ? a : b; (m - a) * (m - b) === 0; } component main = T();`,
  "a choice that may be another": `template T(n) { signal input k; signal output c[n]; var s = 0;
    for (var i = 0; i < n; i++) { c[i] <-- k == i ? 1 : 0; c[i] * (c[i] - 1) === 0; s += c[i]; } s === 1; }
    component main = T(4);`,
  "a sum whose carry has no range": `${BITIFY} template T() { signal input a; signal input b; signal output s;
    signal output c; s <-- (a + b) % 256; c <-- (a + b) \\ 256; s + 256 * c === a + b;
    component range = Num2Bits(8); range.in <== s; } component main = T();`,
  "an inner signal that reaches an output": `template T() { signal input a[3]; signal output o; signal t;
    t <-- a[0] * a[1]; o <== t * a[2]; } component main = T();`,
  "an unchecked result of a checked component": `${COMPARATORS} template T() { signal input a; signal output o;
    component z = IsZero(); z.in <== a; signal t; t <-- z.out; o <== t + 1; } component main = T();`,
};

/** Library templates whose faults are published; with constraints on their inputs they are used safely. */
const PUBLISHED: readonly (readonly [file: string, call: string])[] = [
  ["multiplexer", "Decoder(4)"],
  ["montgomery", "MontgomeryAdd()"],
  ["montgomery", "MontgomeryDouble()"],
  ["montgomery", "Edwards2Montgomery()"],
  ["montgomery", "Montgomery2Edwards()"],
  ["escalarmulany", "BitElementMulAny()"],
  ["pedersen", "Window4()"],
  ["escalarmulfix", "WindowMulFix()"],
];

describe("circuits that do not fix their outputs", () => {
  it.each(Object.entries(BROKEN))("accuses %s", async (_name, text) => {
    const { verdict, pair, signals } = await analyzed(oneFile(text));
    expect(verdict).toBe("under_determined");
    expect(pair?.differs).toBe("output");
    expect(signals[0]).toMatchObject({ role: "output", template: "T", file: "main.circom" });
  });

  it.each(PUBLISHED)("accuses the library's template %s %s", async (file, call) => {
    const { verdict, pair } = await analyzed(libraryCircuit(file, call));
    expect(verdict).toBe("under_determined");
    expect(pair?.signals[0]).toMatchObject({ role: "output", file: `circomlib/circuits/${file}.circom` });
  });

  it.each([0, 1] as const)(
    "accuses 254 bits that may stand for a number or for it and the prime, at O%i",
    async (level) => {
      const { verdict, pair } = await analyzed(libraryCircuit("bitify", "Num2Bits(254)"), { optimization: level });
      expect(verdict).toBe("under_determined");
      expect(pair?.signalCount).toBeGreaterThan(1);
    },
  );

  it("names path, template, file and line of the unchecked assignment", async () => {
    const text = `
      template Half() { signal input in; signal output out;
        signal unused <== in;
        out <-- in / 2;
      }
      component main = Half();`;
    const { signals } = await analyzed(oneFile(text));
    expect(signals).toEqual([
      { name: "main.out", role: "output", state: "open", template: "Half", file: "main.circom", line: 5 },
    ]);
  });

  it("accuses no circuit without outputs, and shows what differs inside", async () => {
    const text = `template T() { signal input a; signal input y; signal x; x <-- a; y === x * x; }
      component main { public [y] } = T();`;
    const { verdict, pair } = await analyzed(oneFile(text));
    expect(verdict).toBe("not_proven");
    expect(pair).toMatchObject({ differs: "internal", signals: [{ name: "main.x" }] });
  });
});
