/**
 * u1 G + u2 Q for public keys Q on secp256k1. Keys that were used lately are kept as points, and with a table of their
 * multiples once they are used often. Public values only.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { addAffine, MultiplesTable, type PointSum } from "./tables.js";

const { Point } = secp256k1;
type Point = InstanceType<typeof Point>;
const UNCOMPRESSED_BYTES = 65;
const KNOWN_KEYS_MAX = 32;
/** A table costs as much as eight sums without it, and saves three quarters of each. */
const USES_BEFORE_TABLE = 8;

interface KnownKey {
  readonly point: Point;
  uses: number;
  table?: MultiplesTable;
}

const knownKeys = new Map<string, KnownKey>();
let baseTable: MultiplesTable | undefined;

/**
 * Adds u1 G + u2 Q to a sum, at first the point at infinity.
 * @param publicKey Q in 65 bytes
 */
export function addMultiples(publicKey: Uint8Array, u1: bigint, u2: bigint, sum?: PointSum): PointSum {
  const key = knownKey(publicKey);
  if (key.uses > USES_BEFORE_TABLE) {
    baseTable ??= new MultiplesTable(Point.BASE);
    key.table ??= new MultiplesTable(key.point);
    return key.table.addMultiple(baseTable.addMultiple(sum, u1), u2);
  }
  const added = multiple(Point.BASE, u1).add(multiple(key.point, u2));
  if (added.is0()) return sum;
  const { x, y } = added.toAffine();
  return addAffine(sum, x, y);
}

function knownKey(publicKey: Uint8Array): KnownKey {
  if (publicKey.length !== UNCOMPRESSED_BYTES) throw new TypeError("the public key is not an uncompressed point");
  const name = Buffer.from(publicKey).toString("latin1");
  const known: KnownKey = knownKeys.get(name) ?? { point: Point.fromBytes(publicKey), uses: 0 };
  knownKeys.delete(name);
  knownKeys.set(name, known);
  known.uses += 1;
  if (knownKeys.size > KNOWN_KEYS_MAX) {
    const oldest = knownKeys.keys().next();
    if (oldest.done !== true) knownKeys.delete(oldest.value);
  }
  return known;
}

function multiple(point: Point, scalar: bigint): Point {
  return scalar === 0n ? Point.ZERO : point.multiplyUnsafe(scalar);
}
