import { describe, expect, it } from "vitest";
import { checkInputs, hasMoreValues, INPUT_PROBLEMS_MAX } from "../../../src/engine/circuit/inputs.js";
import {
  CircuitInterfaceError,
  elementPaths,
  publicSignalsFrom,
  readCircuitInterface,
  runsOf,
  scalarFieldOf,
} from "../../../src/engine/circuit/interface.js";
import type { CircuitInterface } from "../../../src/engine/circuit/interface.js";
import type { R1csHeader } from "../../../src/engine/circuit/r1cs.js";

const R = scalarFieldOf("BN254");

function header(outputCount: number, publicInputCount: number, privateInputCount: number, prime = R): R1csHeader {
  const wireCount = 1 + outputCount + publicInputCount + privateInputCount;
  return {
    fieldBytes: 32,
    prime,
    wireCount,
    outputCount,
    publicInputCount,
    privateInputCount,
    labelCount: wireCount,
    constraintCount: 1,
  };
}

function sym(...paths: string[]): Uint8Array {
  return Buffer.from(
    [...paths.map((path, i) => `${i + 1},${i + 1},0,main.${path}`), `${paths.length + 1},-1,0,main.inner`].join("\n"),
  );
}

const PATHS = [
  "sum",
  "flags[0]",
  "flags[1]",
  "grid[0][0]",
  "grid[0][1]",
  "grid[1][0]",
  "grid[1][1]",
  "points[0].x",
  "points[0].y[0]",
  "points[0].y[1]",
  "points[1].x",
  "points[1].y[0]",
  "points[1].y[1]",
  "secret",
];
/** Output sum; public flags[2]; private grid[2][2], points[2].{x, y[2]}, secret. */
const CIRCUIT = readCircuitInterface(header(1, 2, 11), sym(...PATHS));
const GOOD = {
  flags: ["1", 0],
  grid: [
    ["1", "2"],
    ["3", "4"],
  ],
  points: [
    { x: 5, y: [6, 7] },
    { x: 8, y: [9, 10] },
  ],
  secret: "0xff",
};

/** cube[2][2][3] */
function cubePaths(): string[] {
  const paths: string[] = [];
  for (let i = 0; i < 2; i += 1)
    for (let j = 0; j < 2; j += 1) for (let k = 0; k < 3; k += 1) paths.push(`cube[${i}][${j}][${k}]`);
  return paths;
}

function titleOf(value: unknown): string {
  return typeof value === "string" && value.length > 40
    ? `${value.slice(0, 20)}... of ${value.length} characters`
    : `${JSON.stringify(value)} ${typeof value}`;
}

function problems(inputs: unknown, options = {}): [string, string][] {
  const result = checkInputs(CIRCUIT, inputs, options);
  return result.ok ? [] : result.details.map(({ path, message }) => [path, message]);
}

describe("readCircuitInterface", () => {
  it("tells names, shapes and visibility in circuit order and survives JSON", () => {
    expect(CIRCUIT.signals).toEqual([
      { name: "sum", dimensions: [], visibility: "output" },
      { name: "flags", dimensions: [2], visibility: "public" },
      { name: "grid", dimensions: [2, 2], visibility: "private" },
      {
        name: "points",
        dimensions: [2],
        visibility: "private",
        members: [
          { name: "x", dimensions: [] },
          { name: "y", dimensions: [2] },
        ],
      },
      { name: "secret", dimensions: [], visibility: "private" },
    ]);
    expect(JSON.parse(JSON.stringify(CIRCUIT))).toEqual(CIRCUIT);
  });

  it("names every element and every run of the witness program", () => {
    expect(CIRCUIT.signals.flatMap((signal) => elementPaths(signal))).toEqual(PATHS);
    expect(CIRCUIT.signals.flatMap((signal) => runsOf(signal))).toEqual([
      { path: "sum", size: 1 },
      { path: "flags", size: 2 },
      { path: "grid", size: 4 },
      { path: "points[0].x", size: 1 },
      { path: "points[0].y", size: 2 },
      { path: "points[1].x", size: 1 },
      { path: "points[1].y", size: 2 },
      { path: "secret", size: 1 },
    ]);
  });

  it.each([
    ["fewer lines than signals", header(0, 0, 3), "1,1,0,main.a\n2,2,0,main.b"],
    ["labels out of order", header(0, 0, 2), "2,1,0,main.a\n1,2,0,main.b"],
    ["a name of another form", header(0, 0, 1), "1,1,0,other.a"],
    ["an array with a hole", header(0, 0, 2), "1,1,0,main.a[0]\n2,2,0,main.a[2]"],
    ["an array with an absurd index", header(0, 0, 1), "1,1,0,main.a[4000000000]"],
    ["an array in another order", header(0, 0, 2), "1,1,0,main.a[1]\n2,2,0,main.a[0]"],
    ["the field of another curve", header(0, 0, 1, R + 2n), "1,1,0,main.a"],
  ])("refuses %s", (_name, head, text) => {
    expect(() => readCircuitInterface(head, Buffer.from(text))).toThrow(CircuitInterfaceError);
  });
});

describe("checkInputs for proving", () => {
  it("takes arrays, nested objects, numbers, decimal and hex strings", () => {
    const result = checkInputs(CIRCUIT, GOOD);
    expect(result.ok && [...result.values]).toEqual([
      ["flags", [1n, 0n]],
      ["grid", [1n, 2n, 3n, 4n]],
      ["points", [5n, 6n, 7n, 8n, 9n, 10n]],
      ["secret", [255n]],
    ]);
  });

  it("takes arrays of several dimensions with all values in one list, as snarkjs does", () => {
    const circuit = readCircuitInterface(header(0, 0, 12), sym(...cubePaths()));
    const values = Array.from({ length: 12 }, (_, i) => i);
    const nested = [0, 6].map((at) => [values.slice(at, at + 3), values.slice(at + 3, at + 6)]);
    const expected = new Map([["cube", values.map(BigInt)]]);
    for (const cube of [values, nested, nested.map((plane) => plane.flat())])
      expect(checkInputs(circuit, { cube })).toEqual({ ok: true, values: expected });
    expect(checkInputs(circuit, { "cube[0]": values.slice(0, 6), "cube[1]": values.slice(6) })).toEqual({
      ok: true,
      values: expected,
    });
    expect(checkInputs(CIRCUIT, { ...GOOD, grid: [1, 2, 3, 4] })).toEqual(checkInputs(CIRCUIT, GOOD));
  });

  it("names what is wrong with values in one list", () => {
    expect(problems({ ...GOOD, grid: [1, 2, 3] })).toEqual([
      ["grid", "grid has 3 values in one list, the circuit takes 4 (2 x 2)"],
    ]);
    expect(problems({ ...GOOD, grid: [1, -2, 3, "x"] })).toEqual([
      ["grid[0][1]", "grid[0][1] must not be negative"],
      ["grid[1][1]", "grid[1][1] must be a decimal or 0x-hex string"],
    ]);
    expect(problems({ ...GOOD, grid: [1, [2], 3, 4] })).toHaveLength(1);
    expect(problems({ ...GOOD, points: [1, 2, 3, 4, 5, 6] }).map(([path]) => path)).toEqual(["points"]);
  });

  it("takes members with the names of every object's own", () => {
    const names = ["constructor", "__proto__", "prototype", "toString", "hasOwnProperty", "valueOf"];
    const circuit = readCircuitInterface(header(0, 0, names.length), sym(...names));
    const inputs: unknown = JSON.parse(`{${names.map((name, i) => `"${name}": ${String(i)}`).join(", ")}}`);
    const result = checkInputs(circuit, inputs);
    expect(result.ok && [...result.values]).toEqual(names.map((name, i) => [name, [BigInt(i)]]));
    const missing = checkInputs(circuit, {});
    expect(!missing.ok && missing.details.map(({ path }) => path)).toEqual(names);
  });

  it("takes members by index and by dotted name, in any order and mixture", () => {
    const flat = {
      "points[1].y": [9, 10],
      "points[0]": { "y[1]": 7, x: 5, "y[0]": 6 },
      "points[1].x": 8,
      "flags[1]": 0,
      "flags[0]": 1,
      "grid[1]": [3, 4],
      "grid[0][1]": 2,
      "grid[0][0]": 1,
      secret: 255,
    };
    expect(checkInputs(CIRCUIT, flat)).toEqual(checkInputs(CIRCUIT, GOOD));
  });

  it.each([
    ["0", 0n],
    ["0x0", 0n],
    ["007", 7n],
    [0, 0n],
    [Number.MAX_SAFE_INTEGER, BigInt(Number.MAX_SAFE_INTEGER)],
    [(R - 1n).toString(), R - 1n],
    [`0x${(R - 1n).toString(16).toUpperCase()}`, R - 1n],
  ])("takes the value %s", (value, expected) => {
    const result = checkInputs(CIRCUIT, { ...GOOD, secret: value });
    expect(result.ok && result.values.get("secret")).toEqual([expected]);
  });

  it.each(
    (
      [
        [R.toString(), "is not below the prime"],
        [`0x${R.toString(16)}`, "is not below the prime"],
        ["9".repeat(80), "is not below the prime"],
        ["9".repeat(81), "is too long"],
        ["1".repeat(1_000_000), "is too long"],
        ["-1", "must not be negative"],
        [-1, "must not be negative"],
        [1.5, "must be a whole number"],
        [Number.MAX_SAFE_INTEGER + 1, "is too large for a JSON number"],
        [Number.NaN, "must be a whole number"],
        ["", "must be a decimal or 0x-hex string"],
        [" 1", "must be a decimal or 0x-hex string"],
        ["1e3", "must be a decimal or 0x-hex string"],
        ["0x", "must be a decimal or 0x-hex string"],
        ["0b1", "must be a decimal or 0x-hex string"],
        ["swordfish", "must be a decimal or 0x-hex string"],
        [true, "must be a decimal or 0x-hex string, or"],
        [null, "must be a decimal or 0x-hex string, or"],
        [["1"], "must be a decimal or 0x-hex string, or"],
        [{ x: 1 }, "must be a decimal or 0x-hex string, or"],
      ] as readonly (readonly [unknown, string])[]
    ).map(([value, message]) => [titleOf(value), value, message] as const),
  )("refuses the value %s, naming the member and never repeating it", (_title, value, message) => {
    const found = problems({ ...GOOD, secret: value });
    expect(found).toEqual([["secret", expect.stringContaining(`secret ${message}`)]]);
    if (typeof value === "string" && value.length > 3) expect(found[0]![1]).not.toContain(value);
  });

  it("names each missing member once: a signal, an element, a member of a bus", () => {
    expect(problems({})).toEqual(["flags", "grid", "points", "secret"].map((name) => [name, `${name} is missing`]));
    expect(
      problems({
        ...GOOD,
        flags: undefined,
        "flags[1]": 1,
        grid: [
          [1, 2],
          [3, 4],
        ],
      }).map(([path]) => path),
    ).toContain("flags");
    const { flags: _flags, points: _points, ...rest } = GOOD;
    expect(problems({ ...rest, "flags[1]": 0, "points[1]": { x: 1, y: [2, 3] }, "points[0].x": 1 })).toEqual([
      ["flags[0]", "flags[0] is missing"],
      ["points[0].y[0]", "points[0].y[0] is missing"],
      ["points[0].y[1]", "points[0].y[1] is missing"],
    ]);
  });

  it("names arrays that are too short, too long, or none, once each", () => {
    expect(
      problems({
        ...GOOD,
        flags: [1],
        grid: [
          [1, 2],
          [3, 4, 5],
        ],
        points: "5",
      }),
    ).toEqual([
      ["flags", "flags has 1 values, the circuit takes 2"],
      ["grid[1]", "grid[1] has 3 values, the circuit takes 2"],
      ["points", "points must be an array of 2 values"],
    ]);
    expect(problems({ ...GOOD, points: [{ x: 1, y: [1, 2] }, 7] })).toEqual([
      ["points[1]", "points[1] must be an object of member names and values"],
    ]);
    expect(problems({ ...GOOD, grid: [[1, 2]] })).toEqual([["grid", "grid has 1 values, the circuit takes 2"]]);
  });

  it.each(
    [
      "other",
      "secret[0]",
      "secret.x",
      "flags[2]",
      "grid[0][2]",
      "grid[0][0][0]",
      "points.x",
      "points[0].z",
      "points[2].x",
      "constructor",
      "toString",
      "a b",
      "secret ",
      "flags[-1]",
      "",
      "x".repeat(500),
    ].map((key) => [titleOf(key), key] as const),
  )("refuses the unknown member %s", (_title, key) => {
    const found = problems({ ...GOOD, [key]: "1" });
    expect(found).toHaveLength(1);
    expect(found[0]![1]).toContain("is not a member of this circuit");
    expect(found[0]![1].length).toBeLessThan(200);
  });

  it("refuses a member named __proto__ that came as JSON", () => {
    const inputs: unknown = JSON.parse(`{"__proto__": 1, ${JSON.stringify(GOOD).slice(1)}`);
    expect(problems(inputs)).toEqual([["__proto__", "__proto__ is not a member of this circuit"]]);
  });

  it("refuses unknown members inside a bus", () => {
    expect(
      problems({
        ...GOOD,
        points: [
          { x: 1, y: [1, 2], z: 3 },
          { x: 1, y: [1, 2], "not a name": 3 },
        ],
      }).map(([path]) => path),
    ).toEqual(["points[0].z", "points[1].not a name"]);
  });

  it("refuses what is given twice in two spellings", () => {
    expect(problems({ ...GOOD, "flags[0]": 1 })).toEqual([["flags[0]", "flags[0] is given twice"]]);
    expect(problems({ ...GOOD, "points[1].y[0]": 9 })).toEqual([["points[1].y[0]", "points[1].y[0] is given twice"]]);
  });

  it("refuses an output, saying that the circuit computes it", () => {
    expect(problems({ ...GOOD, sum: 1 })).toEqual([["sum", expect.stringContaining("is an output")]]);
  });

  it.each([null, undefined, 1, "text", [], [GOOD]])("refuses inputs that are no object: %j", (inputs) => {
    expect(problems(inputs)).toHaveLength(1);
  });

  it("lists so many problems and counts the rest", () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`unknown${i}`, 1]));
    const result = checkInputs(CIRCUIT, { ...GOOD, ...many });
    const details = result.ok ? [] : result.details;
    expect(details).toHaveLength(INPUT_PROBLEMS_MAX + 1);
    expect(details.at(-1)?.message).toBe(`and ${1000 - INPUT_PROBLEMS_MAX} more`);
    expect(new Set(details.map(({ code }) => code))).toEqual(new Set(["witness_invalid"]));
  });

  it("handles a hostile number of elements in bounded time", () => {
    expect(problems({ ...GOOD, flags: new Array(1_000_000).fill("1") })).toEqual([
      ["flags", "flags has 1000000 values, the circuit takes 2"],
    ]);
  });
});

describe("hasMoreValues", () => {
  it("counts values in lists and objects, and nothing beyond the bound", () => {
    expect(hasMoreValues({ a: [1, 2], b: { c: 3 }, d: "4" }, 4)).toBe(false);
    expect(hasMoreValues({ a: [1, 2], b: { c: 3 }, d: "4" }, 3)).toBe(true);
    expect(hasMoreValues({ a: [[], {}, []] }, 2)).toBe(true);
    expect(hasMoreValues({ a: [[], {}, []] }, 3)).toBe(false);
    expect(hasMoreValues("1", 1)).toBe(false);
    expect(hasMoreValues({}, 0)).toBe(true);
  });
});

describe("checkInputs for verification", () => {
  it("requires outputs and public inputs and ignores private members, even bad ones", () => {
    const result = checkInputs(
      CIRCUIT,
      { sum: "7", flags: [1, 0], secret: "not a number", "points[9].z": [] },
      { publicOnly: true },
    );
    expect(result.ok && publicSignalsFrom(CIRCUIT, result.values)).toEqual([7n, 1n, 0n]);
    expect(problems({ flags: [1, 0] }, { publicOnly: true })).toEqual([["sum", "sum is missing"]]);
    expect(problems({ sum: 1, flags: [1, 0], other: 1 }, { publicOnly: true })).toEqual([
      ["other", "other is not a member of this circuit"],
    ]);
    expect(problems({ sum: R.toString(), flags: [1, -1] }, { publicOnly: true }).map(([path]) => path)).toEqual([
      "sum",
      "flags[1]",
    ]);
  });

  it("lines the public signals up as outputs, then public inputs, whatever order they came in", () => {
    const circuit: CircuitInterface = readCircuitInterface(header(2, 1, 0), sym("b[0]", "b[1]", "a"));
    const result = checkInputs(circuit, { a: 3, b: [1, 2] }, { publicOnly: true });
    expect(result.ok && publicSignalsFrom(circuit, result.values)).toEqual([1n, 2n, 3n]);
  });

  it("does not line up an incomplete set", () => {
    expect(() => publicSignalsFrom(CIRCUIT, new Map([["sum", [1n]]]))).toThrow("flags");
  });
});
