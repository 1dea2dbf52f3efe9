import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeKey, encodeKey, prefixRange, RESERVED_KEY_BYTE } from "../../../src/platform/store/keys.js";
import { compareKeys } from "../../support/memory-store.js";

const part = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom("", "\u0000", "a\u0000", "\u0000\u0000b", "user", "user2"),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
);
const key = fc.array(part, { maxLength: 4 });

describe("store keys as bytes", () => {
  it("decode to what was encoded, minus zero becoming zero", () => {
    fc.assert(
      fc.property(key, (parts) => {
        expect(decodeKey(encodeKey(parts))).toEqual(parts.map((value) => (value === 0 ? 0 : value)));
      }),
    );
  });

  it("sort as the keys do", () => {
    fc.assert(
      fc.property(key, key, (one, other) => {
        expect(Math.sign(Buffer.compare(encodeKey(one), encodeKey(other)))).toBe(Math.sign(compareKeys(one, other)));
      }),
      { numRuns: 2000 },
    );
  });

  it("lie in the range of a prefix exactly when they begin with it", () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 3 }), fc.array(part, { maxLength: 2 }), (parts, prefix) => {
        const { start, end } = prefixRange(prefix);
        const bytes = encodeKey(parts);
        const inside = Buffer.compare(bytes, start) >= 0 && Buffer.compare(bytes, end) < 0;
        expect(inside).toBe(
          prefix.length <= parts.length &&
            prefix.every((value, index) => (value === 0 ? parts[index] === 0 : value === parts[index])),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it("have the fixed bytes of the layout", () => {
    expect(encodeKey(["a\u0000b", 1, -1]).toString("hex")).toBe(
      "026100ff6200" + "01bff0000000000000" + "01400fffffffffffff",
    );
  });

  it("never begin with the byte of the store's own records", () => {
    expect([encodeKey([""])[0], encodeKey([0])[0]]).not.toContain(RESERVED_KEY_BYTE);
  });

  it.each(["03", "01bff0", "0261", "026100ff", "00"])("reports bytes that are no encoded key as damage: %s", (hex) => {
    expect(() => decodeKey(Buffer.from(hex, "hex"))).toThrow(expect.objectContaining({ code: "data_corrupt" }));
  });
});
