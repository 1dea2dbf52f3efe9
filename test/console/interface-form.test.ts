/** Forms made of a circuit's interface: fields, and the inputs that their texts stand for. */
import { describe, expect, it } from "vitest";
import {
  elementCount,
  inputFields,
  inputText,
  inputValue,
  signalText,
  type CircuitInterface,
  type InputField,
} from "../../src/console/browser/provers/interface-form.js";

const POINT = [
  { name: "x", dimensions: [] },
  { name: "y", dimensions: [2] },
];
const CIRCUIT: CircuitInterface = {
  wireCount: 12,
  constraintCount: 4,
  outputCount: 1,
  publicInputCount: 1,
  privateInputCount: 9,
  signals: [
    { name: "root", dimensions: [], visibility: "output" },
    { name: "scope", dimensions: [], visibility: "public" },
    { name: "grid", dimensions: [2, 3], visibility: "private" },
    { name: "point", dimensions: [], members: POINT, visibility: "private" },
  ],
};

function field(name: string): InputField {
  const found = inputFields(CIRCUIT).find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no field ${name}`);
  return found;
}

describe("the fields of an interface", () => {
  it("are its inputs in order, without the outputs", () => {
    expect(inputFields(CIRCUIT).map(({ name, kind, visibility }) => [name, kind, visibility])).toEqual([
      ["scope", "number", "public"],
      ["grid", "list", "private"],
      ["point", "json", "private"],
    ]);
    expect(CIRCUIT.signals.map(elementCount)).toEqual([1, 1, 6, 3]);
    expect(signalText(field("grid").shape)).toBe("grid[2][3]");
  });

  it("take numbers in decimal and hexadecimal form, with no digit lost", () => {
    const large = "21888242871839275222246405745257275088548364400416034343698204186575808495616";
    expect(inputValue(field("scope"), ` ${large} `)).toBe(large);
    expect(inputValue(field("scope"), "0xFf")).toBe("0xFf");
    expect(inputValue(field("scope"), "-1")).toBe("-1");
  });

  it("take arrays one number a line, with commas, or as JSON, and fold them by their dimensions", () => {
    const folded = [
      ["1", "2", "3"],
      ["4", "5", "6"],
    ];
    for (const text of ["1\n2\n3\n4\n5\n6", "1, 2, 3, 4, 5, 6", "[[1,2,3],[4,5,6]]", '[["1","2","3"],["4","5","6"]]'])
      expect(inputValue(field("grid"), text)).toEqual(folded);
  });

  it("take buses as JSON, member by member", () => {
    expect(inputValue(field("point"), '{"x": 1, "y": [2, "3"]}')).toEqual({ x: "1", y: ["2", "3"] });
  });

  it.each([
    ["scope", "", "scope is empty. A whole number, or 0x and hexadecimal digits."],
    ["scope", "1.5", "scope: “1.5” is not a whole number."],
    ["scope", "0x", "scope: “0x” is not a whole number."],
    ["grid", "1 2 3", "grid takes 6 numbers, and 3 are given."],
    ["grid", "[[1,2,3],[4,5]]", "grid[1] takes 3 elements, and 2 are given."],
    ["grid", "[1,2]", "grid[0] must be a list of 3."],
    [
      "grid",
      "[[1,2,3],[4,5,9007199254740993]]",
      "grid[1][2]: write this number as a text, in quotes, so that no digit is lost.",
    ],
    ["grid", "[[1,", "grid is not JSON."],
    ["point", "7", "point must be an object with x, y."],
    ["point", '{"x": 1}', "point.y must be a list of 2."],
    ["point", '{"x": true, "y": [1, 2]}', "point.x must be a number."],
  ])("of %s refuse %j and say why", (name, text, sentence) => {
    expect(() => inputValue(field(name), text)).toThrow(new Error(sentence));
  });

  it("show values as the texts from which they come back", () => {
    for (const [name, value] of [
      ["scope", "12"],
      [
        "grid",
        [
          ["1", "2", "3"],
          ["4", "5", "6"],
        ],
      ],
      ["point", { x: "1", y: ["2", "3"] }],
    ] as const)
      expect(inputValue(field(name), inputText(value))).toEqual(value);
    expect(inputText(["1", "2"])).toBe("1\n2");
  });
});
