/**
 * The port between proof systems and curve arithmetic: a few operations over flat byte buffers. A faster backend (own
 * WebAssembly, a native addon) implements this interface and nothing above it changes.
 *
 * Layouts: scalars are 32 bytes little-endian in standard form, below r; points are affine in Montgomery form,
 * little-endian, x then y (c0 before c1), infinity as zeros, as in zkey files.
 */
import type { CurveParameters } from "./curve-parameters.js";
import type { G1Point, G2Point } from "./points.js";

/** The rows of A and B that a zkey lists, checked against the counts beside them. */
export interface CoefficientTable {
  /** Entries of 44 bytes: matrix u32 (0 A, 1 B), constraint u32, wire u32, coefficient * 2^512 mod r. */
  readonly entries: Uint8Array;
  readonly domainPower: number;
}

/** e(a, b) for use in products that share one final exponentiation. */
export interface PairingTerm {
  readonly g1: G1Point;
  /** A G2 point, or one prepared by `prepareG2`, whose line functions are then not computed again. */
  readonly g2: G2Point | PreparedG2;
}

export interface PreparedG2 {
  readonly lines: Uint8Array;
}

/** A value of the target group after the final exponentiation. */
export interface PairingValue {
  readonly bytes: Uint8Array;
}

/** What decoding and verification need; backends may offer this alone. */
export interface PairingKernels {
  readonly curve: CurveParameters;
  /** Sum of scalar_i * point_i over a handful of points, undefined standing for infinity. */
  combineG1(terms: readonly { readonly point: G1Point | undefined; readonly scalar: bigint }[]): G1Point | undefined;
  /** Each scalar_i * point_i; undefined where it is infinity. */
  multiplyG1(terms: readonly { readonly point: G1Point; readonly scalar: bigint }[]): (G1Point | undefined)[];
  /** Whether a point of the twist lies in the subgroup of order r. */
  isInSubgroupG2(point: G2Point): boolean;
  /** As `isInSubgroupG2` for each point, cheaper where there are many; none is combined with another. */
  areInSubgroupG2(points: readonly G2Point[]): boolean[];
  prepareG2(point: G2Point): PreparedG2;
  /** The product of the pairings, after one final exponentiation. Values of different backends cannot be compared. */
  pairingProduct(terms: readonly PairingTerm[]): PairingValue;
  equalPairingValues(a: PairingValue, b: PairingValue): boolean;
  /** value^((q - 3) / 4) modulo q: from it follow a square root and its inverse. */
  squareRootPower(value: bigint): bigint;
  /** As `squareRootPower` of each value. */
  squareRootPowers(values: readonly bigint[]): bigint[];
}

export interface CurveKernels extends PairingKernels {
  /** Sum of scalar_i * point_i; undefined when it is infinity. */
  msmG1(points: Uint8Array, scalars: Uint8Array): G1Point | undefined;
  msmG2(points: Uint8Array, scalars: Uint8Array): G2Point | undefined;
  combineG2(terms: readonly { readonly point: G2Point | undefined; readonly scalar: bigint }[]): G2Point | undefined;
  /**
   * Values of A*B - C on the coset of odd 2n-th roots, n = 2^domainPower, where A and B are the rows applied to the
   * witness and C agrees with A*B on the domain: the scalars of the H query. Standard form.
   */
  quotientOnCoset(table: CoefficientTable, witness: Uint8Array): Uint8Array;
  /** A value's twelve base field elements, in tower order, standard form. */
  pairingCoordinates(value: PairingValue): bigint[];
  /** How many of the points (layout as above) are infinity, and whether all others satisfy the curve's equation. */
  surveyG1(points: Uint8Array): { readonly infinities: number; readonly isOnCurve: boolean };
  surveyG2(points: Uint8Array): { readonly infinities: number; readonly isOnCurve: boolean };
}
