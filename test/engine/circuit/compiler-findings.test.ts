/**
 * What the real compiler says of wrong circuits, as findings: code, place, cause and notes, for each kind of report
 * that it prints.
 */
import { describe, expect, it } from "vitest";
import { compileCircuit } from "../../../src/engine/circuit/compile-circuit.js";
import { LIBRARY_WARNINGS_MAX, type Diagnostic } from "../../../src/engine/circuit/diagnostics.js";

const HEAD = "pragma circom 2.1.6;\n";
const SQUARE = "template S() {\n  signal input x;\n  signal output z;\n  z <== x * x;\n}\n";

async function findingsOf(main: string, others: Record<string, string> = {}): Promise<readonly Diagnostic[]> {
  const sources = { "main.circom": main, ...others };
  const result = await compileCircuit({ sources, main: "main.circom", curve: "BN254" });
  return result.ok ? result.warnings : result.diagnostics;
}

/** One template `M` with input a and output b, and these statements. */
function template(statements: string): string {
  return `${HEAD}template M() {\n  signal input a;\n  signal output b;\n  ${statements}\n}\ncomponent main = M();\n`;
}

type Case = readonly [name: string, source: string, expected: Partial<Diagnostic>, others: Record<string, string>];

const CASES: readonly Case[] = (
  [
    [
      "tags of a main component",
      `${HEAD}template M() {\n  signal input {binary} x;\n  signal output y;\n  y <== x;\n}\ncomponent main = M();\n`,
      {
        code: "T2051",
        message: "Typing error found: Main component cannot have inputs with tags",
        line: 7,
        column: 18,
      },
    ],
    [
      "an include that is not there, with the file and line that includes it",
      `${HEAD}include "pkg/lib/x.circom";\ncomponent main = B();\n`,
      {
        code: "P1014",
        message: "The file nope/y.circom to be included has not been found",
        file: "pkg/lib/x.circom",
        line: 5,
        column: 3,
        notes: ["Consider using compilation option -l to indicate include paths"],
      },
      {
        "pkg/lib/x.circom": `${HEAD}// include "nope/y.circom";\n/* include "nope/y.circom";\n*/\n  include "nope/y.circom";\n`,
      },
    ],
    [
      "a symbol that is not there, in a file below a folder named lib",
      `${HEAD}include "pkg/lib/x.circom";\ncomponent main = B();\n`,
      {
        code: "T2021",
        message: "Undeclared symbol: Using unknown symbol",
        file: "pkg/lib/x.circom",
        line: 4,
        column: 9,
      },
      { "pkg/lib/x.circom": `template B() {\n  signal input a;\n  signal output b;\n  b <== q;\n}\n` },
    ],
    [
      "a template that is there twice",
      `${HEAD}${SQUARE}template S() { signal input a; }\ncomponent main = S();\n`,
      { code: "T2008", message: "Duplicated callable symbol: S is already in use", line: 7, column: 1 },
    ],
    [
      "a wrong number of parameters",
      `${HEAD}template M(n) { signal input a[n]; }\ncomponent main = M();\n`,
      { code: "T2012", message: "Calling function with wrong number of arguments: Got 0 params, 1 where expected" },
    ],
    [
      "a constraint of degree three, over several lines",
      template("b <== a *\n  a *\n  a;"),
      {
        code: "T3001",
        message: "Non quadratic constraints are not allowed!",
        line: 5,
        column: 3,
        notes: ["call trace: ->M"],
      },
    ],
    [
      "an assertion in a library template, with the chain of templates",
      `${HEAD}include "circomlib/circuits/comparators.circom";\ntemplate M() {\n  signal input a;\n  signal output b <== LessThan(300)([a, a]);\n}\ncomponent main = M();\n`,
      {
        code: "T3001",
        message: "False assert reached",
        file: "circomlib/circuits/comparators.circom",
        line: 90,
        notes: ["call trace: ->M ->LessThan"],
      },
    ],
    [
      "a component whose inputs are missing",
      `${HEAD}${SQUARE}template M() {\n  signal input a;\n  signal output b;\n  component c = S();\n  b <== c.z;\n}\ncomponent main = M();\n`,
      {
        code: "T3001",
        message:
          "Exception caused by invalid access: trying to access to an output signal of a component with not all its inputs initialized. Missing input: x",
        line: 11,
      },
    ],
    [
      "a missing version",
      `${SQUARE}component main = S();\n`,
      {
        severity: "warning",
        code: "P1004",
        message: 'File "main.circom" does not include pragma version. Assuming pragma version 2.2.3',
        file: "main.circom",
        line: 1,
        notes: [
          'At the beginning of file "main.circom", you should add the directive "pragma circom <Version>", to indicate which compiler version you are using.',
        ],
      },
    ],
    [
      "another version of the language",
      `// Made for a later one.\npragma circom 9.0.0;\n${SQUARE}component main = S();\n`,
      { code: "P1003", file: "main.circom", line: 2, column: 1 },
    ],
    [
      "no main component",
      `${HEAD}${SQUARE}`,
      { code: "P1001", message: "No main specified in the project structure", file: "main.circom", line: 1 },
    ],
    [
      "two main components, with both places",
      `${HEAD}include "b.circom";\n${SQUARE}component main = S();\n`,
      {
        code: "P1002",
        message: "Multiple main components in the project structure: This is a main component",
        line: 8,
        notes: ["b.circom:2: Here it is another main component"],
      },
      { "b.circom": `${HEAD}component main = S();\n` },
    ],
    [
      "a missing semicolon",
      template("b <== a"),
      { code: "P1008", message: "Missing semicolon: A semicolon is needed here" },
    ],
    ["an open bracket", template("b <== (a;"), { code: "P1012", message: "illegal expression", line: 5, column: 3 }],
    [
      "a comment without an end",
      `${HEAD}template M() { /* never`,
      { code: "P1005", message: "unterminated /* */: Comment starts here", line: 2 },
    ],
    [
      "an index outside its array",
      template("signal s[2]; s[2] <== a; b <== a;"),
      { code: "T3001", message: "Out of bounds exception", line: 5 },
    ],
    [
      "a signal that is assigned twice",
      template("b <== a; b <== a;"),
      {
        message: "Exception caused by invalid assignment Signal has been already assigned",
        column: 12,
        notes: ["main.circom:5: This is the previous assignment to the variable", "call trace: ->M"],
      },
    ],
    [
      "a public signal that is no input",
      template("b <== a;").replace("main = M", "main {public [z]} = M"),
      { code: "T2008", message: "Invalid public list: z is not an input signal" },
    ],
    [
      "a function without a result, at its definition",
      `${HEAD}// function f(x)\nfunction f(x) { if (x > 1) { return 1; } }\n${SQUARE}component main = S();\n`,
      { code: "T2015", message: "In f there are paths without return", file: "main.circom", line: 3, column: 1 },
    ],
    [
      "a constraint that depends on an input",
      template("if (a == 1) { b <== a; } else { b <== 2; }"),
      {
        code: "T2005",
        message:
          "Typing error found: There are constraints depending on the value of the condition and it can be unknown during the constraint generation phase",
      },
    ],
    [
      "a label of two lines",
      `${HEAD}template M(n) {\n  var x = n[0];\n}\ncomponent main = M(1);\n`,
      {
        code: "T2032",
        message:
          "Typing error found: Array access does not match the dimensions of the expression. Expected 0 dimensions, given 1.",
      },
    ],
    [
      "a tag that is missing",
      `${HEAD}${SQUARE.replace("input x", "input {maxbit} x")}template M() {\n  signal input a;\n  component c = S();\n  c.x <== a;\n}\ncomponent main = M();\n`,
      {
        code: "T3001",
        message:
          "Invalid assignment: missing tags required by input signal. Missing tag: input signal x requires tag maxbit",
      },
    ],
    [
      "a tuple of another length",
      template("(b, _) <== (a, a, a);"),
      {
        code: "TAC02",
        message: "The number of elements in both tuples does not coincide: This is the tuple whose use is not allowed",
      },
    ],
  ] as readonly ([string, string, Partial<Diagnostic>] | Case)[]
).map(([name, source, expected, others]): Case => [name, source, expected, others ?? {}]);

describe("findings of the compiler", () => {
  it.each(CASES)("name the cause and the place of %s", async (_name, source, expected, others) => {
    const [first] = await findingsOf(source, others);
    expect(first).toMatchObject({ file: "main.circom", ...expected });
    expect(first?.line).toBeGreaterThan(0);
    expect(first?.column).toBeGreaterThan(0);
    expect(JSON.stringify(first)).not.toMatch(/\/src\/|\/lib\/c|[│┌^]/);
  });

  it("name the declaration of a signal that nothing constrains", async () => {
    const found = await findingsOf(
      `${HEAD}${SQUARE}template M() {\n  signal input a;\n  signal output b;\n  component s = S();\n  s.x <== a;\n  signal t;\n  b <== a;\n}\ncomponent main = M();\n`,
    );
    expect(found.map(({ code, message, line, column }) => [code, message.replace(/^.*?: /, ""), line, column])).toEqual(
      [
        [
          "CA02",
          "Subcomponent input/output signal s.z does not appear in any constraint of the father component",
          10,
          13,
        ],
        ["CA01", "Local signal t does not appear in any constraint", 12, 10],
      ],
    );
  });

  it("tell all of the caller's own warnings first, and ten about library files", async () => {
    const own = 60;
    const unused = (count: number, name: string): string =>
      Array.from({ length: count }, (_, i) => `  signal ${name}${String(i)};\n`).join("");
    const source = `${HEAD}include "node_modules/p/l.circom";\ntemplate M() {\n  signal input a;\n  signal output b <== L()(a);\n${unused(own, "s")}}\ncomponent main = M();\n`;
    const library = `${HEAD}template L() {\n  signal input a;\n  signal output b <== a * a;\n${unused(40, "t")}}\n`;
    const found = await findingsOf(source, { "node_modules/p/l.circom": library });
    expect(found.slice(0, own).every(({ file }) => file === "main.circom")).toBe(true);
    expect(new Set(found.slice(0, own).map(({ line }) => line)).size).toBe(own);
    expect(found.slice(own, -1).map(({ file }) => file)).toEqual(
      Array.from({ length: LIBRARY_WARNINGS_MAX }, () => "node_modules/p/l.circom"),
    );
    expect(found.at(-1)).toEqual({ severity: "warning", code: "more", message: "and 30 more about library files" });
  });

  it("tell one statement once, however many instances of its template there are", async () => {
    const found = await findingsOf(
      `${HEAD}template S() {\n  signal input x;\n  signal output z;\n  z <-- x * x;\n}\ntemplate M() {\n  signal input a;\n  signal output b[9];\n  for (var i = 0; i < 9; i++) { b[i] <== S()(a + i); }\n}\ncomponent main = M();\n`,
    );
    expect(found.filter(({ code }) => code === "T3002")).toHaveLength(1);
  });
});
