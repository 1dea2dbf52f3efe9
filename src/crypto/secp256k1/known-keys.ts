/**
 * u1 G + u2 Q for public keys Q on secp256k1. Recently used keys are kept as points, and frequently used ones with a
 * table of their multiples. Public values only. ARGUMENT.md has the whole composition.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { LRUCache } from "lru-cache";
import { addAffine, MultiplesTable, type PointSum } from "./tables.js";

const { Point } = secp256k1;
type Point = InstanceType<typeof Point>;
const UNCOMPRESSED_BYTES = 65;
/** A table takes about 200 KB. */
const KEYS_MAX = 32;
/** A table costs as much as eight sums without it, and saves three quarters of each. */
const USES_BEFORE_TABLE = 8;

interface CachedKey {
  readonly point: Point;
  uses: number;
  table?: MultiplesTable;
}

/** Module state, so that all verifications of a thread share it; public keys only. */
const cachedKeys = new LRUCache<string, CachedKey>({ max: KEYS_MAX });
/** Multiples of G, made for the first key with a table. */
let baseTable: MultiplesTable | undefined;

/**
 * Adds u1 G + u2 Q to a sum.
 * @param publicKey Q, 65 bytes
 * @param u1,u2 below the order
 * @param sum the point at infinity unless given
 * @throws TypeError when the public key is not 65 bytes
 */
export function addMultiples(publicKey: Uint8Array, u1: bigint, u2: bigint, sum?: PointSum): PointSum {
  const key = cachedKey(publicKey);
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

function cachedKey(publicKey: Uint8Array): CachedKey {
  if (publicKey.length !== UNCOMPRESSED_BYTES) throw new TypeError("the public key is not an uncompressed point");
  const name = Buffer.from(publicKey).toString("latin1");
  const key: CachedKey = cachedKeys.get(name) ?? { point: Point.fromBytes(publicKey), uses: 0 };
  cachedKeys.set(name, key);
  key.uses += 1;
  return key;
}

function multiple(point: Point, scalar: bigint): Point {
  return scalar === 0n ? Point.ZERO : point.multiplyUnsafe(scalar);
}
