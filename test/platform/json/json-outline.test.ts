// The outline of texts that are too long to be kept: its members are those of the text, however it is cut into pieces.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonOutline } from "../../../src/platform/json/json-outline.js";

const SHORT = 510;

function outlineOf(text: string, cuts: readonly number[] = []): string {
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const outline = new JsonOutline();
  for (const [at, from] of places.entries()) outline.push(bytes.subarray(from, places[at + 1] ?? bytes.length));
  return Buffer.from(outline.end()).toString();
}

/** The outline as its definition says it, from the whole value. */
function expected(value: unknown, levels = 2): unknown {
  const members = Object.entries(value as object).flatMap(([name, member]: [string, unknown]): [string, unknown][] => {
    if (Array.isArray(member)) return [[name, member.length]];
    if (typeof member === "object" && member !== null) return levels > 1 ? [[name, expected(member, levels - 1)]] : [];
    const isShort = Buffer.byteLength(JSON.stringify(member)) <= SHORT;
    return isShort ? [[name, member]] : [];
  });
  return Object.fromEntries(members);
}

describe("the outline of a JSON text", () => {
  it("keeps short members, counts lists and leaves out the rest", () => {
    const logs = [{ data: "0x01", topics: ["]", "}"] }, [], 3, "a,b"];
    const text = JSON.stringify({
      id: 7,
      result: { status: "0x1", logs, bloom: "0".repeat(600), to: null, deep: { a: { b: 1 } }, 'qu"ote\\': "\\" },
    });
    expect(JSON.parse(outlineOf(text))).toEqual({
      id: 7,
      result: { status: "0x1", logs: 4, to: null, 'qu"ote\\': "\\" },
    });
  });

  it("is that of the value, for any text and any pieces", () => {
    const names = fc.string({ maxLength: 8 }).filter((name) => name !== "__proto__");
    const value = fc.dictionary(names, fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.dictionary(names, fc.jsonValue())), {
      maxKeys: 6,
    });
    fc.assert(
      fc.property(value, fc.array(fc.nat(), { maxLength: 5 }), fc.boolean(), (any, cuts, isSpaced) => {
        const plain = JSON.parse(JSON.stringify(any)) as object;
        const text = JSON.stringify(plain, undefined, isSpaced ? 2 : undefined);
        expect(JSON.parse(outlineOf(text, cuts))).toEqual(expected(plain));
      }),
    );
  });

  it.each(["", "[]", "3", '"a"', '{"a":1', "}", "]]{}"])("of %j breaks nothing, and is no other value", (text) => {
    expect(["", "{}"]).toContain(outlineOf(text));
  });

  it("keeps as little of a hostile text as of any other", () => {
    const many = `{${Array.from({ length: 10_000 }, (_, at) => `"k${String(at)}":"${"v".repeat(500)}"`).join(",")}}`;
    expect(outlineOf(many).length).toBeLessThan(64 * 1024);
  });
});
