/** The strict reader of JSON bytes against hostile and valid texts; JSON.parse accepts everything that it accepts. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findJsonFault, parseJson } from "../../../src/platform/json/json-scan.js";

const LIMITS = { depthMax: 4, tokensMax: 20, keyBytesMax: 16, numberBytesMax: 10 };
const WIDE = { depthMax: 1000, tokensMax: 100_000, keyBytesMax: 100_000, numberBytesMax: 400 };
const fault = (text: string | Buffer, limits = LIMITS): string | undefined =>
  findJsonFault(typeof text === "string" ? Buffer.from(text) : text, limits);

describe("names that are the caller's own", () => {
  const limits = { ...LIMITS, userNames: true };

  it("may reach a prototype below the top level, and become own members", () => {
    const text = '{"a":{"__proto__":1,"constructor":2,"b":[{"prototype":3}]}}';
    expect(fault(text, limits)).toBeUndefined();
    const { a } = parseJson(Buffer.from(text)) as { a: object };
    expect(Object.entries(a)).toContainEqual(["__proto__", 1]);
    expect(Object.getPrototypeOf(a)).toBe(Object.prototype);
  });

  it("may not at the top level, nor be given twice", () => {
    expect(fault('{"__proto__":1}', limits)).toContain("not allowed");
    expect(fault('[{"constructor":1}]', limits)).toBeUndefined();
    expect(fault('{"a":{"constructor":1,"constructor":2}}', limits)).toContain("given twice");
  });
});

describe("strict JSON (RFC 8259)", () => {
  it.each([
    "{}",
    "[]",
    '""',
    ' { "a" : [ 1 , -0.5e+3 , true , false , null , "\\u00e4\\ud83d\\ude00\\n" ] } ',
    "0",
    "-0",
    '{"a":{"a":1}}',
    "[[[[]]]]",
    '"\u007f"',
    '{"":1}',
  ])("takes %s", (text) => {
    expect(fault(text)).toBeUndefined();
    expect(() => parseJson(Buffer.from(text))).not.toThrow();
  });

  it.each([
    ["", "ends too early"],
    ["  ", "ends too early"],
    ["{", "ends too early"],
    ['{"a"', "ends too early"],
    ['{"a":', "ends too early"],
    ["[1", "ends too early"],
    ["[1,", "ends too early"],
    ['"abc', "does not end"],
    ["{a:1}", "member name"],
    ["{'a':1}", "member name"],
    ['{"a":1,}', "member name"],
    ["[1,]", "a JSON value"],
    ["[1 2]", "a comma"],
    ["[1}", "a comma"],
    ['{"a":1]', "a comma"],
    ["nul", "a JSON value"],
    ["nulL", "a JSON value"],
    ["TRUE", "a JSON value"],
    ["NaN", "a JSON value"],
    ["-Infinity", "number"],
    ["01", "after the end"],
    ["1.", "number"],
    [".5", "a JSON value"],
    ["1e", "number"],
    ["+1", "a JSON value"],
    ["0x10", "after the end"],
    ["{}{}", "after the end"],
    ["/**/1", "a JSON value"],
    ["\ufeff{}", "a JSON value"],
    ['"\t"', "control character"],
    ['"\\x41"', "escape"],
    ['"\\u12"', "escape"],
    ['"\\u12g4"', "escape"],
    ['"\\ud800"', "surrogate"],
    ['"\\udc00"', "surrogate"],
    ['"\\ud800\\u0041"', "surrogate"],
    ['"\\ud800x"', "surrogate"],
    ["1e999", "out of range"],
    ["-1e999", "out of range"],
    ['{"a":1,"a":2}', "given twice"],
    ['{"a":1,"\\u0061":2}', "given twice"],
    ['{"__proto__":1}', "not allowed"],
    ['{"\\u005f_proto__":1}', "not allowed"],
    ['{"b":{"constructor":1}}', "not allowed"],
    ['{"prototype":1}', "not allowed"],
    ["[[[[[]]]]]", "nested deeper"],
    ['{"a":'.repeat(5), "nested deeper"],
    [`[${"1,".repeat(20)}1]`, "names and values"],
    ['{"12345678901234567":1}', "longer than 16"],
    ["12345678901", "longer than 10"],
  ])("refuses %s", (text, reason) => {
    expect(fault(text)).toContain(reason);
  });

  it("refuses bytes that are not UTF-8: overlong, cut, surrogate, beyond Unicode", () => {
    for (const hex of ["22c08022", "22c322", "22eda08022", "22f490808022", "22ff22"])
      expect(fault(Buffer.from(hex, "hex"))).toContain("UTF-8");
  });

  it("allows the same name in different objects and keeps limits exact", () => {
    expect(fault('[{"a":1},{"a":1}]')).toBeUndefined();
    expect(fault("[[[[1]]]]")).toBeUndefined();
    expect(fault(`[${"1,".repeat(18)}1]`)).toBeUndefined();
    expect(fault('{"1234567890123456":1234567890}')).toBeUndefined();
  });

  it("survives a depth of 100000 without recursion", () => {
    expect(fault("[".repeat(100_000), WIDE)).toContain("nested deeper than 1000");
  });

  it("finds what is wrong in long texts at every place, whatever their alignment", () => {
    for (let length = 28; length <= 80; length += 1) {
      for (const [bad, reason] of [
        ["\u0000", "control character"],
        ["\u001f", "control character"],
        ["\n", "control character"],
        ["\\x", "escape"],
        ["\\ud800", "surrogate"],
      ] as const) {
        for (const place of [0, 31, 32, 33, length - 1, length]) {
          const text = `[${" ".repeat(length % 5)}"${"\u00e4".repeat(place)}${bad}${"x".repeat(Math.max(0, length - place))}"]`;
          expect(fault(text, WIDE), text).toContain(reason);
        }
      }
      const sound = `["${"a".repeat(length)}\\n${"\u007f\u0080 !".repeat(length)}\\"", "${"b".repeat(length)}"]`;
      expect(fault(sound)).toBeUndefined();
      expect(fault(`"${"a".repeat(length)}`)).toContain("does not end");
    }
  });

  it.each([
    "1.0",
    "1e3",
    "-0",
    "-0.0",
    "0e999",
    "120e-1",
    "9007199254740991",
    "9007199254740991.0",
    "9.007199254740991e15",
    "0.00000000001e20",
    "0.1",
    "1e-5",
    "4503599627370495.5",
    "9007199254740993",
    "1e21",
  ])("takes %s: it is what it says, a fraction, or beyond what readers of whole numbers take", (text) => {
    expect(fault(text, WIDE)).toBeUndefined();
  });

  it.each([
    "9007199254740991.4",
    "4503599627370496.5",
    "-9007199254740991.4",
    "9007199254740990.9",
    "1.00000000000000000001",
    "0.99999999999999999999",
    "1e-400",
    "-0.1e-400",
    "10000000000000000000001e-22",
    "0.00000000000000000000000000000000000000000010000000000000000000000001e43",
  ])("refuses %s, which JSON.parse would make another whole number", (text) => {
    expect(Number.isSafeInteger(JSON.parse(text))).toBe(true);
    expect(fault(`{"a":${text}}`, WIDE)).toContain("rounded to a whole number");
  });

  it("accepts no number that would be rounded to a whole one (seed 23)", () => {
    const digits = fc.stringMatching(/^[0-9]{1,20}$/);
    fc.assert(
      fc.property(
        fc.boolean(),
        digits,
        fc.option(digits),
        fc.option(fc.integer({ min: -30, max: 30 })),
        (isNegative, whole, fraction, exponent) => {
          const text = `${isNegative ? "-" : ""}${BigInt(whole)}${fraction === null ? "" : `.${fraction}`}${exponent === null ? "" : `e${exponent}`}`;
          const read = JSON.parse(text) as number;
          const shift = (exponent ?? 0) - (fraction?.length ?? 0);
          const mantissa = BigInt(whole + (fraction ?? "")) * (isNegative ? -1n : 1n);
          const isExact =
            Number.isSafeInteger(read) &&
            (shift >= 0
              ? mantissa * 10n ** BigInt(shift) === BigInt(read)
              : mantissa === BigInt(read) * 10n ** BigInt(-shift));
          expect(fault(text, WIDE) !== undefined, text).toBe(Number.isSafeInteger(read) && !isExact);
        },
      ),
      { seed: 23, numRuns: 3000 },
    );
  });

  it("never repeats what it read", () => {
    for (const text of ['{"hunter2":1,"hunter2":2}', '"hunter2', "hunter2", '{"hunter2" 1}'])
      expect(fault(text, WIDE)).not.toContain("hunter2");
  });

  it("accepts everything that JSON.stringify writes (seed 20)", () => {
    const safe = fc.jsonValue().filter((value) => !/"(__proto__|constructor|prototype)":/.test(JSON.stringify(value)));
    fc.assert(
      fc.property(safe, (value) => {
        const text = JSON.stringify(value);
        if (!text.isWellFormed()) return;
        expect(findJsonFault(Buffer.from(text), { ...WIDE, numberBytesMax: 400 })).toBeUndefined();
      }),
      { seed: 20, numRuns: 2000 },
    );
  });

  it("never accepts what JSON.parse rejects (seed 21)", () => {
    const pieces = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      "a",
      "\\",
      "u",
      "0041",
      "1",
      "-",
      ".",
      "e",
      "+",
      "true",
      "null",
      " ",
      "\n",
      "0",
      "\u00e4",
      '"a":',
      '"b":1',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 14 }), (parts) => {
        const text = parts.join("");
        if (findJsonFault(Buffer.from(text), WIDE) === undefined)
          expect(() => JSON.parse(text) as unknown).not.toThrow();
      }),
      { seed: 21, numRuns: 20_000 },
    );
  });

  it("rejects what JSON.parse accepts only for its own rules (seed 22)", () => {
    const pieces = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      '"b"',
      '"\\u0041"',
      "1",
      "-1",
      "0.5",
      "1e5",
      "true",
      "null",
      " ",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        const found = findJsonFault(Buffer.from(text), WIDE);
        if (found === undefined || found.includes("twice")) return;
        expect(() => JSON.parse(text) as unknown).toThrow();
      }),
      { seed: 22, numRuns: 20_000 },
    );
  });
});
