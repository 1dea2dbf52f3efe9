/**
 * The fast path for JSON against the strict reader: it returns nothing that the strict reader would reject or read
 * differently.
 */
import { describe, expect, it } from "vitest";
import { findJsonFault, parseJson } from "../../../src/platform/json/json-scan.js";
import { parsePlainJson } from "../../../src/platform/json/plain-json.js";
import { seededRandom, type SeededRandom } from "../../support/seeded.js";

const LIMITS = { depthMax: 4, tokensMax: 9, keyBytesMax: 48, numberBytesMax: 10 };
const plain = (text: string | Buffer): Record<string, string> | undefined =>
  parsePlainJson(Buffer.from(text as string), LIMITS);

/** JSON of all kinds, sound and not, mostly near to an object of texts. */
function anyText(random: SeededRandom): string {
  const name = (): string =>
    `"${random.pick(["a", "b", "data", "", "\u00e4", "__proto__", "constructor", "1", "12345678901234567", "k".repeat(49), "\\u0061", ":", ",", "{"])}"`;
  const value = (): string =>
    random.pick([
      '"x"',
      '"x"',
      '""',
      '"\u00e4{\u20ac,}"',
      '"a\\"b"',
      '"\t"',
      "1",
      "1e999",
      "null",
      "[]",
      '["x"]',
      '{"a":"b"}',
      "{}",
      '"',
      "\ud83d\ude00",
    ]);
  const space = (): string => random.pick(["", "", "", " ", "\n", "\ufeff"]);
  const members = Array.from(
    { length: random.below(6) },
    () => `${space()}${name()}${space()}:${space()}${value()}${space()}`,
  );
  const text = `${space()}{${members.join(random.chance(0.97) ? "," : "")}}${space()}`;
  return random.chance(0.9) ? text : text.slice(random.below(3), text.length - random.below(3));
}

describe("the fast path for JSON", () => {
  it.each([
    "{}",
    "{ }",
    '{"a":"b"}',
    '{"data":"0x5a","message":""}',
    '{ "a" : "b" ,\n"c":"\u00e4\u20ac" }',
    '{"a":"{}[]:,"}',
    '{"12345":"x"}',
    `{"data":"${"x".repeat(4096)}"}`,
  ])("takes %s", (text) => {
    expect(plain(text)).toEqual(JSON.parse(text));
  });

  it.each([
    '{"a":"b","a":"c"}',
    '{"a":1,"a":"c"}',
    '{"a":{"b":"c"},"a":"d"}',
    '{"a":["b"],"a":"d"}',
    '{"a":[],"a":"d"}',
    '{"a":"b","\\u0061":"c"}',
    '{"__proto__":"a"}',
    '{"constructor":"a"}',
    '{"prototype":"a"}',
    '{"a":"\\n"}',
    '{"a":"\\ud800"}',
    '{"a":"\n"}',
    '{"a":1}',
    '{"a":null}',
    '{"a":{}}',
    '["a"]',
    '"a"',
    "null",
    "",
    "{",
    '{"a"}',
    '{"a":"b",}',
    "{'a':'b'}",
    '{"a":"b"}{}',
    '\ufeff{"a":"b"}',
    ' {"a":"b"}',
    '{"12345678901234567":"x"}',
    '{"a":"1","b":"2","c":"3","d":"4","e":"5"}',
  ])("leaves %s to the strict reader", (text) => {
    expect(plain(text)).toBeUndefined();
  });

  it("leaves bytes that are not UTF-8 to the strict reader", () => {
    for (const hex of ["c080", "c3", "eda080", "f4908080", "ff"])
      expect(plain(Buffer.from(`7b2261223a22${hex}227d`, "hex"))).toBeUndefined();
  });

  it("gives nothing that the strict reader refuses, and the same as it", () => {
    const random = seededRandom();
    let taken = 0;
    for (let i = 0; i < 20_000; i += 1) {
      const bytes = Buffer.from(anyText(random));
      const value = parsePlainJson(bytes, LIMITS);
      if (value === undefined) continue;
      taken += 1;
      const fault = findJsonFault(bytes, LIMITS);
      if (fault !== undefined)
        expect.fail(
          `takes ${bytes.toString()}, of which the strict reader says: ${fault} (seed ${String(random.seed)})`,
        );
      expect(value, `seed ${String(random.seed)}`).toEqual(parseJson(bytes));
    }
    expect(taken).toBeGreaterThan(500);
  });
});
