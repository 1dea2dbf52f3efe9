/** Multiples of the base point of edwards25519 (RFC 8032, 5.1), as the kernel's additions want them. Public numbers. */
import { createHash } from "node:crypto";
import { normalizeZ } from "@noble/curves/abstract/curve.js";
import { ed25519 } from "@noble/curves/ed25519.js";

/** 2^255 - 19. */
export const FIELD_PRIME = ed25519.Point.Fp.ORDER;
/** Order of the base point, 2^252 + 27742317777372353535851937790883648493. */
export const GROUP_ORDER = ed25519.Point.Fn.ORDER;
/** A scalar below 2^255 in digits of 4 bits. */
export const WINDOW_BITS = 4;
export const WINDOWS = 64;
/** Digits are signed: -8 to 7. */
export const WINDOW_ENTRIES = 8;

/**
 * c of the second lane's table, which is of c B: a number of which nothing is known but its hash, so that its digits
 * have no pattern.
 */
export const SECOND_FACTOR =
  BigInt(`0x${createHash("sha512").update("proofwright ed25519 second table").digest("hex")}`) % GROUP_ORDER;

/** y + x, y - x and 2 d x y of an affine point. */
export type AdditionForm = readonly [bigint, bigint, bigint];

/** For each window w the points 1 P, 2 P, ... 8 P of P = 16^w factor B. Takes 15 to 45 ms. */
export function multiplesOfBase(factor: bigint): AdditionForm[] {
  const { Point } = ed25519;
  const points: InstanceType<typeof Point>[] = [];
  let unit = Point.BASE.multiplyUnsafe(factor);
  for (let window = 0; window < WINDOWS; window += 1) {
    let sum = unit;
    for (let entry = 0; entry < WINDOW_ENTRIES; entry += 1, sum = sum.add(unit)) points.push(sum);
    unit = (points.at(-1) ?? unit).double();
  }
  const { d } = Point.CURVE();
  return normalizeZ(Point, points).map(({ x, y }) => [modulo(y + x), modulo(y - x), modulo(2n * d * x * y)]);
}

function modulo(value: bigint): bigint {
  return ((value % FIELD_PRIME) + FIELD_PRIME) % FIELD_PRIME;
}
