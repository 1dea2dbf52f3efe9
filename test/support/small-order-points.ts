/** Points of BLS12-381's curve and twist whose order divides a cofactor, found once. */
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { BLS12_381 } from "../../src/engine/curves/bls12-381.js";
import { addFq2, multiplyFq2, squareRoot, squareRootFq2 } from "../../src/engine/field/prime-field.js";

type NobleG1 = InstanceType<typeof bls12_381.G1.Point>;
type NobleG2 = InstanceType<typeof bls12_381.G2.Point>;

const { q, r, b, twistB, cofactorG1, seed } = BLS12_381;

/** Points of the twist for each point of G2. */
export const BLS12_381_TWIST_COFACTOR = ((x: bigint) =>
  (x ** 8n - 4n * x ** 7n + 5n * x ** 6n - 4n * x ** 4n + 6n * x ** 3n - 4n * x ** 2n - 4n * x + 13n) / 9n)(seed);

/** A point of order 3 on the curve. */
export function pointOfOrder3(): NobleG1 {
  const { Point } = bls12_381.G1;
  for (let x = 1n; ; x += 1n) {
    const y = squareRoot((x ** 3n + b) % q, q);
    if (y === undefined) continue;
    const found = ofOrder(3n, cofactorG1 * r, Point.fromAffine({ x, y }), Point.ZERO);
    if (found !== undefined) return found;
  }
}

/** A point of order 13 on the twist. */
export function pointOfOrder13(): NobleG2 {
  const { Point } = bls12_381.G2;
  for (let c0 = 1n; ; c0 += 1n) {
    const x = { c0, c1: 1n };
    const y = squareRootFq2(addFq2(multiplyFq2(multiplyFq2(x, x, q), x, q), twistB, q), q);
    if (y === undefined) continue;
    const found = ofOrder(13n, BLS12_381_TWIST_COFACTOR * r, Point.fromAffine({ x, y }), Point.ZERO);
    if (found !== undefined) return found;
  }
}

interface Group<Point> {
  double(): Point;
  add(other: Point): Point;
  is0(): boolean;
}

/** A multiple of the point of this prime order; undefined when it has none. */
function ofOrder<Point extends Group<Point>>(
  prime: bigint,
  groupOrder: bigint,
  point: Point,
  zero: Point,
): Point | undefined {
  let rest = groupOrder;
  while (rest % prime === 0n) rest /= prime;
  let found = times(zero, point, rest);
  if (found.is0()) return undefined;
  for (let next = times(zero, found, prime); !next.is0(); next = times(zero, next, prime)) found = next;
  return found;
}

/** noble multiplies by scalars below the order of the subgroup only. */
function times<Point extends Group<Point>>(zero: Point, point: Point, factor: bigint): Point {
  let result = zero;
  for (const bit of factor.toString(2)) {
    result = result.double();
    if (bit === "1") result = result.add(point);
  }
  return result;
}
