import { describe, expect, it } from "vitest";
import { randomScalars, readBigIntLE, scalarsOf } from "../../../src/engine/field/bytes.js";

describe("scalars", () => {
  it("are written little-endian, one after the other", () => {
    expect([...scalarsOf([1n, 0x0203n, 0xffffffn], 3)]).toEqual([1, 0, 0, 3, 2, 0, 255, 255, 255]);
    expect(scalarsOf([], 32)).toHaveLength(0);
  });

  it("are refused when one is longer than its bytes", () => {
    expect(() => scalarsOf([1n, 0x1000000n], 3)).toThrow(RangeError);
  });

  it("are random in their lower bytes alone", () => {
    const scalars = randomScalars(64, { length: 32, randomLength: 4 });
    expect(scalars).toHaveLength(64 * 32);
    const values = Array.from({ length: 64 }, (_, i) => readBigIntLE(scalars, i * 32));
    for (const value of values) expect(value < 2n ** 32n).toBe(true);
    // All 64 equal, or one byte 0 in all of them: no more likely than 2^-512.
    for (let byte = 0n; byte < 4n; byte += 1n)
      expect(values.some((value) => ((value >> (8n * byte)) & 0xffn) !== 0n)).toBe(true);
    expect(new Set(values).size).toBeGreaterThan(1);
  });
});
