/**
 * The port between proof systems and the arithmetic of a curve: a few operations over flat byte buffers. Behind it are
 * the reference (reference/reference-kernels.ts), which offers all of it, and the kernels' pairing (kernels/pairing),
 * which offers `PairingKernels`. Another implementation changes nothing above it.
 *
 * Layouts: scalars are 32 bytes little-endian in standard form, below r; points are affine in Montgomery form,
 * little-endian, x then y (c0 before c1), infinity as zeros, as in zkey files.
 */
import type { CurveParameters } from "./curve-parameters.js";
import type { G1Point, G2Point } from "./points.js";

/** The rows of A and B in a zkey, checked against its counts. */
export interface CoefficientTable {
  /** Entries of 44 bytes: matrix u32 (0 A, 1 B), constraint u32, wire u32, coefficient * 2^512 mod r. */
  readonly entries: Uint8Array;
  readonly domainPower: number;
}

/** The pairing e(g1, g2) as a factor of a product with one final exponentiation. */
export interface PairingTerm {
  readonly g1: G1Point;
  /** A G2 point, or one prepared by `prepareG2`, whose line functions are then not computed again. */
  readonly g2: G2Point | PreparedG2;
}

/** The line functions of a G2 point, in the form of the implementation that prepared it. */
export interface PreparedG2 {
  readonly lines: Uint8Array;
}

/** A value of the target group after the final exponentiation. */
export interface PairingValue {
  readonly bytes: Uint8Array;
}

/** The operations of decoding and verification. */
export interface PairingKernels {
  readonly curve: CurveParameters;
  /** Returns the sum of scalar_i * point_i over a few points; undefined is infinity. */
  combineG1(terms: readonly { readonly point: G1Point | undefined; readonly scalar: bigint }[]): G1Point | undefined;
  /** Returns each scalar_i * point_i; undefined is infinity. */
  multiplyG1(terms: readonly { readonly point: G1Point; readonly scalar: bigint }[]): (G1Point | undefined)[];
  /** Tells of each point of the curve whether it is in G1, the subgroup of order r. */
  areInSubgroupG1(points: readonly G1Point[]): boolean[];
  /** Tells whether a point of the twist is in the subgroup of order r. */
  isInSubgroupG2(point: G2Point): boolean;
  /** As `isInSubgroupG2` for each point, in less time where there are many; every point is tested by itself. */
  areInSubgroupG2(points: readonly G2Point[]): boolean[];
  /** Computes the line functions of a point of the subgroup. */
  prepareG2(point: G2Point): PreparedG2;
  /**
   * Returns the product of the pairings, after one final exponentiation. Values of different implementations cannot be
   * compared.
   */
  pairingProduct(terms: readonly PairingTerm[]): PairingValue;
  /** Tells whether two values of this implementation are equal. */
  equalPairingValues(a: PairingValue, b: PairingValue): boolean;
  /** Returns value^((q - 3) / 4) modulo q, from which a square root and its inverse follow. */
  squareRootPower(value: bigint): bigint;
  /** As `squareRootPower` of each value. */
  squareRootPowers(values: readonly bigint[]): bigint[];
}

/** All operations that a prover, a setup and the checks of keys use. */
export interface CurveKernels extends PairingKernels {
  /** Returns the sum of scalar_i * point_i; undefined is infinity. Throws a RangeError when they differ in number. */
  msmG1(points: Uint8Array, scalars: Uint8Array): G1Point | undefined;
  /** As `msmG1`, in G2. */
  msmG2(points: Uint8Array, scalars: Uint8Array): G2Point | undefined;
  /** As `combineG1`, in G2. */
  combineG2(terms: readonly { readonly point: G2Point | undefined; readonly scalar: bigint }[]): G2Point | undefined;
  /**
   * Returns the values of A*B - C on the coset of odd 2n-th roots, n = 2^domainPower, where A and B are the rows
   * applied to the witness and C agrees with A*B on the domain: the scalars of the H query. Standard form.
   */
  quotientOnCoset(table: CoefficientTable, witness: Uint8Array): Uint8Array;
  /** Returns a value's twelve base field elements, in tower order, standard form. */
  pairingCoordinates(value: PairingValue): bigint[];
  /** Counts the points (layout as above) at infinity, and tells whether all others satisfy the curve's equation. */
  surveyG1(points: Uint8Array): { readonly infinities: number; readonly isOnCurve: boolean };
  /** As `surveyG1`, with the equation of the twist. */
  surveyG2(points: Uint8Array): { readonly infinities: number; readonly isOnCurve: boolean };
}
