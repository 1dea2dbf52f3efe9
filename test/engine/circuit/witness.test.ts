import { afterEach, describe, expect, it, vi } from "vitest";
import { findUnsatisfied } from "../../../src/engine/circuit/satisfaction.js";
import { compileCircuit } from "../../../src/engine/circuit/compile-circuit.js";
import { checkInputs } from "../../../src/engine/circuit/inputs.js";
import { readCircuitInterface, scalarFieldOf } from "../../../src/engine/circuit/interface.js";
import type { CircuitInterface, SignalValues } from "../../../src/engine/circuit/interface.js";
import type { CurveName } from "../../../src/engine/curves/curve-parameters.js";
import { readR1cs } from "../../../src/engine/circuit/r1cs.js";
import type { R1cs } from "../../../src/engine/circuit/r1cs.js";
import { computeWitness } from "../../../src/engine/circuit/witness.js";
import type { WitnessResult } from "../../../src/engine/circuit/witness.js";

interface Compiled {
  readonly module: WebAssembly.Module;
  readonly r1cs: R1cs;
  readonly circuit: CircuitInterface;
}

const R = scalarFieldOf("BN254");

async function compile(source: string, curve: CurveName = "BN254"): Promise<Compiled> {
  const result = await compileCircuit({
    sources: { "main.circom": `pragma circom 2.2.0;\n${source}` },
    main: "main.circom",
    curve,
  });
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  const r1cs = readR1cs(result.r1cs);
  return { module: new WebAssembly.Module(result.wasm), r1cs, circuit: readCircuitInterface(r1cs, result.sym) };
}

function valuesOf(circuit: CircuitInterface, inputs: unknown): SignalValues {
  const checked = checkInputs(circuit, inputs);
  if (!checked.ok) throw new Error(JSON.stringify(checked.details));
  return checked.values;
}

function run({ module, circuit }: Compiled, inputs: unknown): WitnessResult {
  return computeWitness(module, circuit, valuesOf(circuit, inputs));
}

function element(result: WitnessResult, wire: number): bigint {
  if (!result.ok) throw new Error(result.message);
  return BigInt(
    `0x${Buffer.from(result.witness.slice(32 * wire, 32 * wire + 32))
      .reverse()
      .toString("hex")}`,
  );
}

afterEach(() => vi.restoreAllMocks());

describe("computeWitness", () => {
  it("computes over the scalar field of the curve, which a constant shows", async () => {
    const text =
      "template T() { signal input a; signal input b; signal output c; signal output d; c <== a * b; d <== -1; }\ncomponent main = T();";
    const compiled = await compile(text, "BLS12_381");
    const minusOne = scalarFieldOf("BLS12_381") - 1n;
    const result = run(compiled, { a: String(minusOne), b: String(minusOne) });
    expect([element(result, 1), element(result, 2)]).toEqual([1n, minusOne]);
  });

  it("computes outputs, and every constraint holds, for small values and for the largest", async () => {
    const compiled = await compile(
      "template T() { signal input a; signal input b; signal output c; signal d <== a * b; c <== d * a + b; }\ncomponent main {public [b]} = T();",
    );
    for (const [a, b] of [
      [0n, 0n],
      [1n, 2n],
      [R - 1n, R - 2n],
      [2n ** 32n, 2n ** 64n - 1n],
      [2n ** 252n, 3n],
    ] as const) {
      const result = run(compiled, { a: `${a}`, b: `${b}` });
      expect(element(result, 0), "wire 0").toBe(1n);
      expect(element(result, 1), `c of ${a}, ${b}`).toBe((a * b * a + b) % R);
      expect(result.ok && findUnsatisfied(compiled.r1cs, result.witness)).toBeUndefined();
    }
  });

  it("feeds arrays of arrays, buses and arrays of buses in circuit order", async () => {
    const compiled = await compile(
      `bus Point() { signal x; signal y[2]; }
       template T() {
         input Point() p[2]; input Point() q; signal input m[2][3]; signal output o[12];
         for (var i = 0; i < 2; i++) { o[3*i] <== p[i].x * 1; o[3*i+1] <== p[i].y[0] * 1; o[3*i+2] <== p[i].y[1] * 1; }
         for (var i = 0; i < 2; i++) { for (var j = 0; j < 3; j++) { o[6 + 3*i + j] <== m[i][j] * q.y[0] + q.x - q.y[1]; } }
       }
       component main = T();`,
    );
    const inputs = {
      p: [
        { x: 11, y: [12, 13] },
        { x: 14, y: [15, 16] },
      ],
      "q.x": 0,
      "q.y": [1, 0],
      m: [
        [21, 22, 23],
        [24, 25, 26],
      ],
    };
    const result = run(compiled, inputs);
    expect(Array.from({ length: 12 }, (_, i) => Number(element(result, 1 + i)))).toEqual([
      11, 12, 13, 14, 15, 16, 21, 22, 23, 24, 25, 26,
    ]);
  });

  it("names template and line of a broken constraint, and where it was called from", async () => {
    const compiled = await compile(
      "template Inner() {\n  signal input x;\n  x * x === 9;\n}\ntemplate Outer() {\n  signal input a;\n  component inner = Inner();\n  inner.x <== a;\n}\ncomponent main = Outer();",
    );
    expect(run(compiled, { a: 3 }).ok).toBe(true);
    expect(run(compiled, { a: 4 })).toEqual({
      ok: false,
      code: "constraints_unsatisfied",
      message: "the inputs do not satisfy the circuit: template Inner, line 4",
      details: [
        {
          message: "the inputs do not satisfy the circuit: template Inner, line 4",
          code: "constraints_unsatisfied",
          path: "Inner:4",
        },
        { message: "called from template Outer, line 9", code: "constraints_unsatisfied", path: "Outer:9" },
      ],
    });
  });

  it("keeps the whole name of a template that ends in a number", async () => {
    const compiled = await compile(
      "template Check_2() {\n  signal input a;\n  a * a === 1;\n}\ncomponent main = Check_2();",
    );
    expect(run(compiled, { a: 2 })).toMatchObject({ details: [{ path: "Check_2:4" }] });
  });

  it("tells a failed assert like a broken constraint", async () => {
    const compiled = await compile(
      "template T() {\n  signal input a;\n  signal output b <== a * a;\n  assert(a < 5);\n}\ncomponent main = T();",
    );
    expect(run(compiled, { a: 4 }).ok).toBe(true);
    expect(run(compiled, { a: 5 })).toMatchObject({ ok: false, details: [{ path: "T:5" }] });
  });

  it("prints nothing that a circuit logs, and leaves the result unharmed", async () => {
    const compiled = await compile(
      'template T() {\n  signal input age;\n  signal output b;\n  log("age is", age, "twice", age, age);\n  b <== age * age;\n  log(b);\n age * age === b + (age - 7) * 1; log("after");\n}\ncomponent main = T();',
    );
    const spies = [
      vi.spyOn(process.stdout, "write"),
      vi.spyOn(process.stderr, "write"),
      vi.spyOn(console, "log"),
      vi.spyOn(console, "error"),
    ];
    const good = run(compiled, { age: 7 });
    const bad = run(compiled, { age: 8 });
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    expect(element(good, 1)).toBe(49n);
    expect(bad.ok).toBe(false);
    expect(JSON.stringify(bad)).not.toMatch(/age is|twice|after|49|64/);
  });

  it("carries nothing from a failed run, or from one caller, into the next", async () => {
    const compiled = await compile(
      "template T() { signal input a; signal input b[3]; signal output c; b[0] * b[1] === b[2]; c <== a * b[0]; }\ncomponent main = T();",
    );
    const inputs = { a: 5, b: [2, 3, 6] };
    const first = run(compiled, inputs);
    expect(run(compiled, { a: 7, b: [2, 3, 7] }).ok).toBe(false);
    expect(run(compiled, { a: 7, b: [4, 3, 12] }).ok).toBe(true);
    expect(run(compiled, inputs)).toEqual(first);
  });

  it("gives the same answer each time for inputs that lead the circuit outside its arrays, as its memory is always fresh", async () => {
    const compiled = await compile(
      "template T() {\n  signal input i;\n  signal output o;\n  var table[2] = [5, 6];\n  o <-- table[i];\n  signal t <== o * o;\n}\ncomponent main = T();",
    );
    expect(run(compiled, { i: 1 }).ok).toBe(true);
    for (const i of ["2", "1000000", (R - 1n).toString()]) {
      const first = run(compiled, { i });
      expect(run(compiled, { i: 0 }).ok).toBe(true);
      expect(run(compiled, { i }), `index ${i}`).toEqual(first);
    }
  });

  it("answers for a division by zero and a recursion too deep", async () => {
    const division = await compile(
      "template T() { signal input i; signal output o; o <-- 7 \\ i; o * i === 7; }\ncomponent main = T();",
    );
    expect(run(division, { i: 7 }).ok).toBe(true);
    expect(run(division, { i: 0 })).toMatchObject({ ok: false, code: "constraints_unsatisfied" });
    const recursion = await compile(
      "function f(n) { if (n == 0) { return 0; } return f(n - 1) + 1; }\ntemplate T() { signal input i; signal output o; o <-- f(i); signal t <== o * i; }\ncomponent main = T();",
    );
    expect(run(recursion, { i: 3 }).ok).toBe(true);
    expect(run(recursion, { i: 100_000_000 })).toMatchObject({ ok: false, code: "constraints_unsatisfied" });
  });

  it("refuses a program of another circuit and incomplete values, as faults of the server", async () => {
    const one = await compile("template T() { signal input a; signal output b; b <== a * a; }\ncomponent main = T();");
    const two = await compile(
      "template T() { signal input a; signal input c; signal output b; b <== a * c; }\ncomponent main = T();",
    );
    expect(() =>
      computeWitness(
        one.module,
        two.circuit,
        new Map([
          ["a", [1n]],
          ["c", [1n]],
        ]),
      ),
    ).toThrow();
    expect(() => computeWitness(two.module, two.circuit, new Map([["a", [1n]]]))).toThrow("incomplete");
    const renamed: CircuitInterface = {
      ...one.circuit,
      signals: one.circuit.signals.map((signal) => (signal.name === "a" ? { ...signal, name: "z" } : signal)),
    };
    expect(() => computeWitness(one.module, renamed, new Map([["z", [1n]]]))).toThrow("another shape");
  });
});
