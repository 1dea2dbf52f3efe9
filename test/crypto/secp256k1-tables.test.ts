/** Sums by tables of multiples against the library's, at the edges of scalars and digits, and where equal or opposite points meet. */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MultiplesTable, sumByTables } from "../../src/crypto/secp256k1-tables.js";

const { Point } = secp256k1;
const ORDER = Point.Fn.ORDER;
const Q = Point.BASE.multiply(0x1234567890abcdef1234567890abcdefn);
const base = new MultiplesTable(Point.BASE);
const other = new MultiplesTable(Q);

function expected(u1: bigint, u2: bigint): { x: bigint; y: bigint } {
  const part = (point: typeof Q, k: bigint): typeof Q => (k === 0n ? Point.ZERO : point.multiplyUnsafe(k));
  const { x, y } = part(Point.BASE, u1).add(part(Q, u2)).toAffine();
  return { x, y };
}

describe("secp256k1 sums by tables", () => {
  it("equal the library's for scalars at the edges of digits and of the order", () => {
    const edges = [1n, 31n, 32n, 33n, 63n, 64n, 65n, 32n * 64n + 32n, 33n * 64n ** 41n, BigInt(`0x${"82".repeat(32)}`) % ORDER, (1n << 255n) + 33n, ORDER >> 1n, ORDER - 1n];
    for (const u1 of [0n, ...edges]) for (const u2 of edges) expect(sumByTables([[base, u1], [other, u2]]), `${String(u1)}, ${String(u2)}`).toEqual(expected(u1, u2));
  });

  it("equal the library's for scalars without a pattern", () => {
    const scalar = (name: string): bigint => BigInt(`0x${createHash("sha256").update(name).digest("hex")}`) % ORDER;
    for (let i = 0; i < 40; i += 1) {
      const [u1, u2] = [scalar(`u1 ${String(i)}`), scalar(`u2 ${String(i)}`)];
      expect(sumByTables([[base, u1], [other, u2]])).toEqual(expected(u1, u2));
    }
  });

  it("leave to others what has no sum or meets an equal or opposite point", () => {
    expect(sumByTables([[base, 0n], [other, 0n]])).toBeUndefined();
    expect(sumByTables([[base, 5n], [base, 5n]])).toBeUndefined();
    expect(sumByTables([[base, 5n], [base, ORDER - 5n]])).toBeUndefined();
  });
});
