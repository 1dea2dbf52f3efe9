/** Answers are the JSON that the platform's own writer would give, character for character. */
import { describe, expect, it } from "vitest";
import { writeJson } from "../../../src/platform/json/write-json.js";
import { seededRandom } from "../../support/seeded.js";

class Dated {
  readonly data = "plain";

  toJSON(): string {
    return "as the class says";
  }
}

describe("JSON of an answer", () => {
  it.each<[string, unknown]>([
    ["texts", { data: `0x${"5a".repeat(2000)}`, id: "b" }],
    ["no members", {}],
    ["an empty text", { data: "" }],
    ["numbers as names", { b: "1", 10: "2", 9: "3" }],
    ["a quote in a name", { 'a"b': "c" }],
    ["a number beside texts", { a: "b", c: 1 }],
    ["a member that is not there", { a: "b", c: undefined }],
    ["a list", ["a"]],
    ["a text", "a"],
    ["null", null],
    ["an object of a class", new Dated()],
    ["an own way to be written", { a: "b", toJSON: () => 7 }],
    ["a name from the prototype", JSON.parse('{"__proto__":"a"}')],
  ])("is what JSON.stringify writes of %s", (_, value) => {
    expect(writeJson(value)).toBe(JSON.stringify(value));
  });

  it("is what JSON.stringify writes of any character at any place", () => {
    for (let unit = 0; unit < 0x10000; unit += unit < 0x300 || (unit >= 0xd7f0 && unit < 0xe010) ? 1 : 97) {
      const text = String.fromCharCode(unit);
      for (const data of [text, `a${text}`, `${text}b`]) {
        const value = { data, [data]: "c" };
        if (writeJson(value) !== JSON.stringify(value)) expect.fail(`differs for U+${unit.toString(16)}`);
      }
    }
  });

  it("is what JSON.stringify writes of records made at random", () => {
    const random = seededRandom();
    const textOf = (): string =>
      Array.from({ length: random.below(40) }, () =>
        String.fromCharCode(random.chance(0.95) ? 0x20 + random.below(0x5f) : random.below(0x10000)),
      ).join("");
    for (let i = 0; i < 2000; i += 1) {
      const record = Object.fromEntries(Array.from({ length: random.below(4) }, () => [textOf(), textOf()]));
      expect(writeJson(record), `seed ${String(random.seed)}`).toBe(JSON.stringify(record));
    }
  });
});
