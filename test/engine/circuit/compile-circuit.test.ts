import { describe, expect, it } from "vitest";
import { compileCircuit, DEFAULT_COMPILE_LIMITS } from "../../../src/engine/circuit/compile-circuit.js";
import { DIAGNOSTICS_MAX, SOURCE_BYTES_MAX, SOURCE_FILES_MAX } from "../../../src/engine/circuit/source-limits.js";
import type { CompileResult } from "../../../src/engine/circuit/compile-circuit.js";
import { DIAGNOSTICS_CHARS_MAX, parseDiagnostics } from "../../../src/engine/circuit/diagnostics.js";
import { readR1csHeader } from "../../../src/engine/circuit/r1cs.js";

const SQUARE =
  "pragma circom 2.1.0;\ntemplate Square() { signal input x; signal output y; y <== x * x; }\ncomponent main = Square();\n";

function compile(sources: Record<string, string>, main = "main.circom"): Promise<CompileResult> {
  return compileCircuit({ sources, main, curve: "BN254" });
}

function constraintsOf(result: CompileResult): number {
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return readR1csHeader(result.r1cs).constraintCount;
}

describe("compileCircuit", () => {
  it("gives the same files for the same source", async () => {
    const [first, second] = [await compile({ "main.circom": SQUARE }), await compile({ "main.circom": SQUARE })];
    expect(first).toEqual(second);
    expect(constraintsOf(first)).toBe(1);
  });

  it("tells how far it is, by what the compiler writes", async () => {
    const shares: number[] = [];
    const request = { sources: { "main.circom": SQUARE }, main: "main.circom", curve: "BN254" } as const;
    await compileCircuit(request, DEFAULT_COMPILE_LIMITS, (share) => {
      shares.push(share);
    });
    expect(shares).toEqual([0.45, 0.9, 0.96, 0.99]);
  });

  it("finds includes beside the file, below it, above it, and in the shipped library from any folder", async () => {
    const result = await compile(
      {
        "app/main.circom":
          'pragma circom 2.1.0; include "parts/square.circom"; include "../shared/cube.circom"; template M() { signal input a; signal output b; b <== Cube()(Square()(a)); } component main = M();',
        "app/parts/square.circom":
          "pragma circom 2.1.0; template Square() { signal input a; signal output b; b <== a * a; }",
        "shared/cube.circom":
          'pragma circom 2.1.0; include "circomlib/circuits/comparators.circom"; template Cube() { signal input a; signal output b; signal s <== a * a; b <== s * a; signal z <== IsZero()(a); }',
      },
      "app/main.circom",
    );
    expect(constraintsOf(result)).toBeGreaterThan(2);
    // The same source without the same library makes other files.
    expect(result).toMatchObject({ compiler: "circom2 0.2.23 with circomlib 2.0.5" });
  });

  it("names no library where no file of it was read", async () => {
    expect(await compile({ "main.circom": SQUARE })).toMatchObject({ compiler: "circom2 0.2.23" });
  });

  it("tells file, line and column of an error", async () => {
    const result = await compile({
      "main.circom": 'pragma circom 2.1.0;\ninclude "lib/b.circom";\ncomponent main = B();\n',
      "lib/b.circom":
        "pragma circom 2.1.0;\ntemplate B() {\n  signal input a;\n  signal output b;\n  b <== q * 2;\n}\n",
    });
    expect(result).toEqual({
      ok: false,
      code: "source_invalid",
      diagnostics: [
        {
          severity: "error",
          code: "T2021",
          message: "Undeclared symbol: Using unknown symbol",
          file: "lib/b.circom",
          line: 5,
          column: 9,
        },
      ],
    });
  });

  it("warns of an assignment that constrains nothing", async () => {
    const result = await compile({
      "main.circom":
        "pragma circom 2.1.0;\ntemplate A() {\n  signal input a;\n  signal output b;\n  b <-- a * a;\n}\ncomponent main = A();\n",
    });
    expect(result.ok && result.warnings).toContainEqual(
      expect.objectContaining({ severity: "warning", code: "T3002", file: "main.circom", line: 5, column: 3 }),
    );
    expect(result.ok && result.warnings.map(({ code }) => code)).toContain("CA01");
  });

  it.each([
    ["an empty source", "", "P1001"],
    ["no main component", "pragma circom 2.1.0; template A() { signal input a; }", "P1001"],
    ["a missing semicolon", "pragma circom 2.1.0; template A() { signal input a } component main = A();", "P1008"],
    ["another language version", `pragma circom 9.9.9; ${SQUARE.slice(21)}`, "P1003"],
    [
      "a constraint of degree three",
      "pragma circom 2.1.0; template A() { signal input a; signal output b; b <== a * a * a; } component main = A();",
      "T3001",
    ],
    [
      "custom templates",
      "pragma circom 2.1.0; pragma custom_templates; template custom G() { signal input a; signal output b; b <-- a; } template A() { signal input a; signal output b; b <== G()(a); } component main = A();",
      "unsupported_feature",
    ],
  ])("refuses %s", async (_name, source, code) => {
    const result = await compile({ "main.circom": source });
    expect(result).toMatchObject({ ok: false, code: "source_invalid" });
    expect(!result.ok && result.diagnostics[0]?.code).toBe(code);
  });

  it.each([
    "../main.circom",
    "/main.circom",
    "a/../main.circom",
    "./main.circom",
    "a//main.circom",
    "main.txt",
    "main",
    ".circom",
    "-o.circom",
    "a\\b.circom",
    "a b.circom",
    "ä.circom",
    "a\0.circom",
    "x".repeat(200) + ".circom",
    "@scope",
    "main.circom/a.circom",
  ])("refuses the source path %j", async (path) => {
    const result = await compile({ "main.circom": SQUARE, [path]: SQUARE });
    expect(result).toMatchObject({ ok: false, code: "source_invalid", diagnostics: [{ severity: "error" }] });
    expect(!result.ok && result.diagnostics[0]?.code).toBe("bad_path");
  });

  it("refuses a main file that is not there, also one that every object has", async () => {
    expect(await compile({ "main.circom": SQUARE }, "other.circom")).toMatchObject({
      ok: false,
      diagnostics: [{ code: "no_main_file" }],
    });
    expect(await compile({ "main.circom": SQUARE }, "constructor")).toMatchObject({
      ok: false,
      diagnostics: [{ code: "no_main_file" }],
    });
  });

  describe("with packages", () => {
    const use = (include: string): string =>
      `pragma circom 2.1.0; include "${include}"; template M() { signal input a; signal output b <== IsZero()(a); } component main = M();`;
    /** Not what circomlib has, so that it shows which file was found. */
    const own =
      "pragma circom 2.1.0; template IsZero() { signal input in; signal output out; signal s <== in * in; out <== s * in; }";
    const shipped = async (main: string, others: Record<string, string> = {}, path = "main.circom"): Promise<number> =>
      constraintsOf(await compile({ [path]: main, ...others }, path));

    it.each([
      ["a bare name", "comparators.circom"],
      ["node_modules beside the source", "node_modules/circomlib/circuits/comparators.circom"],
      ["node_modules above the source", "../../node_modules/circomlib/circuits/comparators.circom"],
      ["a monorepo", "../packages/a/node_modules/circomlib/circuits/comparators.circom"],
    ])("finds the shipped library by %s", async (_name, include) => {
      expect(await shipped(use(include))).toBe(2);
      expect(await shipped(use(include), {}, "circuits/deep/main.circom")).toBe(2);
      // Two spellings of one file are one file.
      expect(
        await shipped(use(include).replace("include", 'include "circomlib/circuits/comparators.circom"; include')),
      ).toBe(2);
    });

    it("finds packages with a scope, and what they include of other packages", async () => {
      const packages = {
        "node_modules/@zk/email/lib/a.circom": 'include "@zk/text/b.circom"; include "./c.circom";',
        "node_modules/@zk/text/b.circom": 'include "circomlib/circuits/comparators.circom";',
        "node_modules/@zk/email/lib/c.circom": "pragma circom 2.1.0;",
      };
      for (const include of ["@zk/email/lib/a.circom", "../node_modules/@zk/email/lib/a.circom"])
        expect(await shipped(use(include), packages, "circuits/x/main.circom")).toBe(2);
    });

    it("finds files from the root of the source in a subfolder, the file's own folder first", async () => {
      const other = own.replace("IsZero", "Other");
      expect(await shipped(use("lib/z.circom"), { "lib/z.circom": own }, "app/main.circom")).toBe(2);
      expect(
        await shipped(use("lib/z.circom"), { "lib/z.circom": other, "app/lib/z.circom": own }, "app/main.circom"),
      ).toBe(2);
    });

    it("prefers the source's own copy of circomlib, in any place", async () => {
      const found = async (path: string, include: string, main: string): Promise<string> => {
        const marked = own.replace("template", "template Marker() { signal input x; signal y <-- x; } template");
        const result = await compile({ [main]: use(include), [path]: marked }, main);
        if (result.ok) expect(result.compiler).toBe("circom2 0.2.23");
        return result.ok ? "own" : (result.diagnostics[0]?.message ?? "");
      };
      const circuits = "circomlib/circuits/comparators.circom";
      for (const [path, include, main] of [
        [circuits, circuits, "main.circom"],
        [circuits, circuits, "app/main.circom"],
        [`node_modules/${circuits}`, circuits, "app/main.circom"],
        [`node_modules/${circuits}`, `../node_modules/${circuits}`, "app/main.circom"],
        [`node_modules/${circuits}`, `../../../node_modules/${circuits}`, "app/main.circom"],
      ] as const)
        expect(await found(path, include, main), `${include} from ${main}`).toBe("own");
    });

    it("names what no folder has as it was written, at its place", async () => {
      const result = await compile({ "main.circom": 'pragma circom 2.1.0;\n  include "node_modules/x/y.circom";\n' });
      expect(!result.ok && result.diagnostics[0]).toMatchObject({
        code: "P1014",
        message: "The file node_modules/x/y.circom to be included has not been found",
        line: 2,
        column: 3,
      });
    });

    it("keeps lines and columns behind an include that it has shortened", async () => {
      const result = await compile({
        "main.circom":
          'pragma circom 2.1.0; include "../node_modules/circomlib/circuits/gates.circom"; component main = Q();',
      });
      expect(!result.ok && result.diagnostics[0]).toMatchObject({ line: 1, column: 98 });
    });
  });

  it("takes a byte order mark at the start of a file", async () => {
    const result = await compile({
      "main.circom": '\ufeffpragma circom 2.1.0; include "square.circom"; component main = Square();',
      "square.circom": `\ufeff${SQUARE.split("component")[0] ?? ""}`,
    });
    expect(constraintsOf(result)).toBe(1);
  });

  it("takes files and bytes up to the limit and refuses one more", async () => {
    const files = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, i) => [i === 0 ? "main.circom" : `f${i}.circom`, i === 0 ? SQUARE : ""]),
      );
    expect((await compile(files(SOURCE_FILES_MAX))).ok).toBe(true);
    expect(await compile(files(SOURCE_FILES_MAX + 1))).toMatchObject({
      ok: false,
      diagnostics: [{ code: "too_many_files" }],
    });
    // Counted in bytes: each of these letters takes two.
    const padded = (bytes: number) => ({
      "main.circom": SQUARE,
      "pad.circom":
        "ä".repeat((bytes - SQUARE.length - ((bytes - SQUARE.length) % 2)) / 2) +
        " ".repeat((bytes - SQUARE.length) % 2),
    });
    expect((await compile(padded(SOURCE_BYTES_MAX))).ok).toBe(true);
    expect(await compile(padded(SOURCE_BYTES_MAX + 1))).toMatchObject({
      ok: false,
      diagnostics: [{ code: "source_too_long" }],
    });
  });

  it("keeps control characters of the source out of its messages", async () => {
    const result = await compile({ "main.circom": "template A\u001b[31m\u0007() { \u202e }" });
    expect(result.ok).toBe(false);
    expect(JSON.stringify(result)).not.toMatch(/\\u00|[\u0000-\u001f\u202e]/);
  });
});

describe("parseDiagnostics", () => {
  const nothingRead = {
    paths: [],
    mainPath: "/src/main.circom",
    lastPath: "/src/main.circom",
    textOf: () => undefined,
  };
  const parse = (text: string) => parseDiagnostics(text, nothingRead);

  it("puts errors first, joins long messages, keeps notes, and drops excerpts and colours", () => {
    const text = [
      "\u001b[0m\u001b[1m\u001b[38;5;11mwarning[T3002]\u001b[0m\u001b[1m: Consider using <==.",
      " The second line.\u001b[0m",
      '  \u001b[0m\u001b[34m┌─\u001b[0m "/src/lib/a.circom":10:20',
      "  │",
      "10 │ z <-- a*a;",
      "  │ ^^^^^^^^^ found here",
      "  │",
      "  = call trace:",
      "    ->A",
      "",
      "\u001b[1merror[P1001]\u001b[0m: No main in /src/main.circom or /lib/circomlib/circuits/x.circom",
      "",
      "previous errors were found",
    ].join("\n");
    expect(parse(text)).toEqual([
      { severity: "error", code: "P1001", message: "No main in main.circom or circomlib/circuits/x.circom" },
      {
        severity: "warning",
        code: "T3002",
        message: "Consider using <==. The second line.",
        file: "lib/a.circom",
        line: 10,
        column: 20,
        notes: ["call trace: ->A"],
      },
    ]);
  });

  it("bounds the number and the length of findings", () => {
    const found = parse(Array.from({ length: 600 }, (_, i) => `error[T1]: ${String(i)}`).join("\n"));
    expect(found).toHaveLength(DIAGNOSTICS_MAX);
    expect(found.at(-1)?.message).toBe(`and ${600 - DIAGNOSTICS_MAX + 1} more`);
    const long = parse(
      Array.from({ length: 600 }, (_, i) => `error[T1]: ${String(i)}${"x".repeat(10_000)}`).join("\n"),
    );
    expect(JSON.stringify(long).length).toBeLessThanOrEqual(DIAGNOSTICS_CHARS_MAX + 200);
    expect(Math.max(...long.map(({ message }) => message.length))).toBeLessThanOrEqual(800);
    expect(long.at(-1)?.message).toBe(`and ${600 - long.length + 1} more`);
  });
});
