/**
 * A curve as @noble/curves computes it, for verifiers that share nothing with the kernels: their own reading of JSON
 * from snarkjs, of points, and of the transcript. Slow and plain: one pairing takes some 10 ms.
 */
import type { BlsCurvePair } from "@noble/curves/abstract/bls.js";
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bn254 } from "@noble/curves/bn254.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import type { CurveName } from "../curves/curve-parameters.js";

export type NobleG1 = InstanceType<BlsCurvePair["G1"]["Point"]>;
export type NobleG2 = InstanceType<BlsCurvePair["G2"]["Point"]>;

/** snarkjs' JSON of a proof or of a verifying key, by member. */
export type JsonMembers = Readonly<Record<string, unknown>>;

/** A point and its factor. */
export type NobleTerm = readonly [point: NobleG1, factor: bigint];

/** Bytes of a scalar in the transcript, on both curves. */
const SCALAR_BYTES = 32;
const CURVES: Readonly<Record<CurveName, { readonly pair: BlsCurvePair; readonly coordinateBytes: number }>> = {
  BN254: { pair: bn254, coordinateBytes: 32 },
  BLS12_381: { pair: bls12_381, coordinateBytes: 48 },
};
const DECIMAL = /^(0|[1-9][0-9]*)$/;

/** What the values of a proof or a key are not; such a proof is invalid. */
export class NobleFormatError extends Error {
  override readonly name = "NobleFormatError";
}

/** Reading, sums and pairings on one curve. */
export class NobleCurve {
  /** Order of the groups. */
  readonly r: bigint;
  readonly #pair: BlsCurvePair;
  readonly #coordinateBytes: number;

  constructor(name: CurveName) {
    const { pair, coordinateBytes } = CURVES[name];
    this.#pair = pair;
    this.#coordinateBytes = coordinateBytes;
    this.r = pair.fields.Fr.ORDER;
  }

  get generatorG1(): NobleG1 {
    return this.#pair.G1.Point.BASE;
  }

  get generatorG2(): NobleG2 {
    return this.#pair.G2.Point.BASE;
  }

  /**
   * Reads a point of G1 from snarkjs' three coordinates.
   * @throws NobleFormatError for what is no point of the subgroup
   */
  g1(value: unknown): NobleG1 {
    const [x, y, z] = listOf(value, 3).map(decimal);
    if (z === 0n) return this.#pair.G1.Point.ZERO;
    return checked(() => this.#pair.G1.Point.fromAffine({ x: defined(x), y: defined(y) }));
  }

  /** As `g1`, from three pairs of coordinates, that of 1 first. */
  g2(value: unknown): NobleG2 {
    const [x, y] = listOf(value, 3).map((pair) => {
      const [c0, c1] = listOf(pair, 2).map(decimal);
      return { c0: defined(c0), c1: defined(c1) };
    });
    return checked(() => this.#pair.G2.Point.fromAffine({ x: defined(x), y: defined(y) }));
  }

  /**
   * Reads a value below the groups' order.
   * @throws NobleFormatError
   */
  scalar(value: unknown): bigint {
    const read = decimal(value);
    if (read >= this.r) throw new NobleFormatError("a value is not below the order");
    return read;
  }

  /** Returns the sum of the terms; factors are taken modulo the order. */
  sum(terms: readonly NobleTerm[]): NobleG1 {
    return terms.reduce<NobleG1>((sum, [point, factor]) => {
      const reduced = this.reduce(factor);
      return reduced === 0n || point.is0() ? sum : sum.add(point.multiplyUnsafe(reduced));
    }, this.#pair.G1.Point.ZERO);
  }

  /** Tells whether the product of the pairings is one. */
  isOne(pairs: readonly (readonly [NobleG1, NobleG2])[]): boolean {
    const { Fp12 } = this.#pair.fields;
    // Infinity pairs to one, and noble refuses it.
    const finite = pairs.filter(([g1, g2]) => !g1.is0() && !g2.is0());
    return Fp12.eql(this.#pair.pairingBatch(finite.map(([g1, g2]) => ({ g1, g2 }))), Fp12.ONE);
  }

  /** Returns value modulo the order, in [0, r). */
  reduce(value: bigint): bigint {
    return this.#pair.fields.Fr.create(value);
  }

  /** Returns base^exponent modulo the order. */
  power(base: bigint, exponent: bigint): bigint {
    return this.#pair.fields.Fr.pow(this.reduce(base), exponent);
  }

  /**
   * Returns the inverse modulo the order.
   * @throws NobleFormatError for 0: a proof leads there with negligible probability, unless it is made so
   */
  inverse(value: bigint): bigint {
    const reduced = this.reduce(value);
    if (reduced === 0n) throw new NobleFormatError("a challenge makes a denominator zero");
    return this.#pair.fields.Fr.inv(reduced);
  }

  /**
   * Returns Keccak-256 of points (x then y, big-endian; infinity as zeros) and scalars (32 bytes, big-endian), modulo
   * the order: a challenge of snarkjs' transcripts.
   */
  challenge(items: readonly (bigint | NobleG1)[]): bigint {
    const parts = items.map((item) => {
      if (typeof item === "bigint") return hexOf(item, SCALAR_BYTES);
      if (item.is0()) return "00".repeat(2 * this.#coordinateBytes);
      const { x, y } = item.toAffine();
      return hexOf(x, this.#coordinateBytes) + hexOf(y, this.#coordinateBytes);
    });
    const hash = keccak_256(hexToBytes(parts.join("")));
    return this.reduce(BigInt(`0x${bytesToHex(hash)}`));
  }

  /**
   * Returns the domain's size and root of unity as the key names them.
   * @throws NobleFormatError when the root is not of that order
   */
  domain(key: JsonMembers): { readonly size: bigint; readonly root: bigint } {
    const size = 2n ** BigInt(count(key.power));
    const root = this.scalar(key.w);
    if (this.power(root, size / 2n) !== this.r - 1n) throw new NobleFormatError("the key's root has another order");
    return { size, root };
  }
}

/**
 * Returns the public signals as numbers.
 * @throws NobleFormatError unless there are as many as the key says, each below the order
 */
export function signalsOf(curve: NobleCurve, key: JsonMembers, publicSignals: readonly string[]): bigint[] {
  if (publicSignals.length !== count(key.nPublic)) throw new NobleFormatError("another number of public signals");
  return publicSignals.map((signal) => curve.scalar(signal));
}

/**
 * Returns the first Lagrange polynomial at a point, and there the polynomial whose values on the domain are the negated
 * public signals.
 */
export function publicValuesAt(
  curve: NobleCurve,
  point: bigint,
  { size, root, signals }: { readonly size: bigint; readonly root: bigint; readonly signals: readonly bigint[] },
): { readonly first: bigint; readonly publicValue: bigint } {
  const vanishing = curve.power(point, size) - 1n;
  const lagrange = (i: number): bigint => {
    const power = curve.power(root, BigInt(i));
    return curve.reduce(power * vanishing * curve.inverse(size * (point - power)));
  };
  const publicValue = signals.reduce((sum, signal, i) => sum - signal * lagrange(i), 0n);
  return { first: lagrange(0), publicValue: curve.reduce(publicValue) };
}

/** @throws NobleFormatError */
function listOf(value: unknown, length: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length !== length) throw new NobleFormatError("a list has another length");
  return value;
}

function decimal(value: unknown): bigint {
  if (typeof value !== "string" || !DECIMAL.test(value)) throw new NobleFormatError("a value is not decimal");
  return BigInt(value);
}

function count(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new NobleFormatError("a number of the key is none");
  return value;
}

function checked<Point extends { assertValidity(): void }>(make: () => Point): Point {
  try {
    const point = make();
    point.assertValidity();
    return point;
  } catch (error) {
    throw new NobleFormatError("a point is not one of its group", { cause: error });
  }
}

function defined<T>(value: T | undefined): T {
  if (value === undefined) throw new NobleFormatError("a coordinate is missing");
  return value;
}

function hexOf(value: bigint, bytes: number): string {
  return value.toString(16).padStart(2 * bytes, "0");
}
