/**
 * The reference: `CurveKernels` on ffjavascript's WebAssembly program, on one thread, with an NTT and sums of its own.
 * It is the oracle of the kernels' tests, and computes where the kernels do not: in setups, for keys that are
 * not open, and where a kernel fails.
 */
import { primeCurve } from "../backends/snarkjs.js";
import type { CurveProgram } from "../backends/snarkjs.js";
import { readBigIntLE, writeBigIntLE } from "../field/bytes.js";
import { inverse, power } from "../field/prime-field.js";
import { ReferenceArena } from "./reference-arena.js";
import type { GroupOperations } from "./reference-arena.js";
import { BN254 } from "../curves/bn254.js";
import type { CurveName, CurveParameters } from "../curves/curve-parameters.js";
import type { CoefficientTable, CurveKernels, PairingTerm, PairingValue, PreparedG2 } from "../curves/curve-kernels.js";
import { multiScalarMultiply } from "./reference-msm.js";
import { decodeG1, decodeG2, encodeG1, encodeG2 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { quotientOnCoset } from "./reference-quotient.js";
import { SCALAR_BYTES } from "./signed-digits.js";
import { SubgroupTest, hasOrder, sumMultiples } from "./small-sums.js";
import type { PointerTerm } from "./small-sums.js";

/**
 * A thread drops an instance whose memory has grown beyond this, so that one huge circuit does not hold gigabytes.
 */
const REUSED_BYTES_MAX = 48 << 20;
/** From here on the bucket method beats interleaving. */
const SMALL_SUM_TERMS_MAX = 40;

/** The kernels of this thread, from the first call of `loadReferenceKernels` on: their program is prepared once. */
const kernelsPromises = new Map<CurveName, Promise<CurveKernels>>();

/** Returns the reference kernels of a curve, BN254 by default, for the calling thread. The first call takes 0.3 s. */
export function loadReferenceKernels(curve: CurveParameters = BN254): Promise<CurveKernels> {
  let promise = kernelsPromises.get(curve.name);
  if (promise === undefined) {
    promise = primeCurve(curve.name).then((program) => new ReferenceKernels(program, curve));
    kernelsPromises.set(curve.name, promise);
  }
  return promise;
}

/** See `CurveKernels`. Every call is synchronous and gives back all that it took of the arena. */
export class ReferenceKernels implements CurveKernels {
  readonly curve: CurveParameters;
  readonly #program: CurveProgram;
  readonly #subgroup: SubgroupTest;
  #arena: ReferenceArena | undefined;

  constructor(program: CurveProgram, curve: CurveParameters) {
    this.#program = program;
    this.curve = curve;
    this.#subgroup = new SubgroupTest(curve);
  }

  /** See `CurveKernels`. */
  msmG1(points: Uint8Array, scalars: Uint8Array): G1Point | undefined {
    return this.#run((arena) => this.#readG1(arena, this.#multiply(arena, arena.g1, points, scalars)));
  }

  /** See `CurveKernels`. */
  msmG2(points: Uint8Array, scalars: Uint8Array): G2Point | undefined {
    return this.#run((arena) => this.#readG2(arena, this.#multiply(arena, arena.g2, points, scalars)));
  }

  /** See `PairingKernels`; any number of terms, 40 at a time. */
  combineG1(terms: readonly { readonly point: G1Point | undefined; readonly scalar: bigint }[]): G1Point | undefined {
    const present = withPoints(terms);
    return this.#run((arena) => {
      const pointers = present.map(({ point, scalar }) => ({
        point: arena.put(encodeG1(point, this.curve)),
        scalar: scalarBytes(scalar),
      }));
      return this.#readG1(arena, this.#combine(arena, arena.g1, pointers));
    });
  }

  /** See `CurveKernels`; any number of terms, 40 at a time. */
  combineG2(terms: readonly { readonly point: G2Point | undefined; readonly scalar: bigint }[]): G2Point | undefined {
    const present = withPoints(terms);
    return this.#run((arena) => {
      const pointers = present.map(({ point, scalar }) => ({
        point: arena.put(encodeG2(point, this.curve)),
        scalar: scalarBytes(scalar),
      }));
      return this.#readG2(arena, this.#combine(arena, arena.g2, pointers));
    });
  }

  /** See `CurveKernels`. */
  quotientOnCoset(table: CoefficientTable, witness: Uint8Array): Uint8Array {
    return this.#run((arena) => quotientOnCoset(arena, this.curve, table, witness));
  }

  /** Multiplies each point by r, unless all points of the curve are in G1. */
  areInSubgroupG1(points: readonly G1Point[]): boolean[] {
    if (this.curve.cofactorG1 === 1n) return points.map(() => true);
    return this.#run((arena) =>
      points.map((point) =>
        arena.scoped(() => hasOrder(arena, arena.g1, arena.put(encodeG1(point, this.curve)), this.curve.r)),
      ),
    );
  }

  /** See `PairingKernels`. */
  isInSubgroupG2(point: G2Point): boolean {
    return this.#run((arena) => this.#subgroup.isMember(arena, arena.put(encodeG2(point, this.curve))));
  }

  /** Tests each point by itself. */
  areInSubgroupG2(points: readonly G2Point[]): boolean[] {
    return points.map((point) => this.isInSubgroupG2(point));
  }

  /** Multiplies each point by itself. */
  multiplyG1(terms: readonly { readonly point: G1Point; readonly scalar: bigint }[]): (G1Point | undefined)[] {
    return terms.map((term) => this.combineG1([term]));
  }

  /** Computes the lines of ffjavascript's Miller loop; the point must be in the subgroup. */
  prepareG2(point: G2Point): PreparedG2 {
    return this.#run((arena) => ({ lines: arena.take(this.#linesOf(arena, point), arena.pairing.preparedG2Bytes) }));
  }

  /** See `PairingKernels`; throws a RangeError for no terms. */
  pairingProduct(terms: readonly PairingTerm[]): PairingValue {
    if (terms.length === 0) throw new RangeError("a product of no pairings");
    return this.#run((arena) => {
      const { targetBytes, preparedG1Bytes, prepareG1, millerLoop, finalExponentiation, target } = arena.pairing;
      const product = arena.alloc(targetBytes),
        factor = arena.alloc(targetBytes),
        prepared = arena.alloc(preparedG1Bytes),
        point = arena.alloc(arena.g1.jacobianBytes);
      terms.forEach((term, i) => {
        arena.scoped(() => {
          arena.g1.toJacobian(arena.put(encodeG1(term.g1, this.curve)), point);
          prepareG1(point, prepared);
          const lines = "lines" in term.g2 ? arena.put(term.g2.lines) : this.#linesOf(arena, term.g2);
          millerLoop(prepared, lines, i === 0 ? product : factor);
        });
        if (i > 0) target.mul(product, factor, product);
      });
      finalExponentiation(product, product);
      return { bytes: arena.take(product, targetBytes) };
    });
  }

  /** See `PairingKernels`. */
  equalPairingValues(a: PairingValue, b: PairingValue): boolean {
    return this.#run((arena) => arena.pairing.target.eq(arena.put(a.bytes), arena.put(b.bytes)) === 1);
  }

  /** Computes the power on bigints. */
  squareRootPower(value: bigint): bigint {
    return power(value, (this.curve.q - 3n) / 4n, this.curve.q);
  }

  /** Computes each power by itself. */
  squareRootPowers(values: readonly bigint[]): bigint[] {
    return values.map((value) => this.squareRootPower(value));
  }

  /** See `CurveKernels`. */
  pairingCoordinates(value: PairingValue): bigint[] {
    const { fqBytes, q } = this.curve;
    const radixInverse = inverse(1n << BigInt(8 * fqBytes), q);
    return Array.from(
      { length: value.bytes.length / fqBytes },
      (_, i) => (readBigIntLE(value.bytes, i * fqBytes, fqBytes) * radixInverse) % q,
    );
  }

  /** See `CurveKernels`. */
  surveyG1(points: Uint8Array): { infinities: number; isOnCurve: boolean } {
    return this.#run((arena) => survey(arena, arena.g1, points));
  }

  /** See `CurveKernels`. */
  surveyG2(points: Uint8Array): { infinities: number; isOnCurve: boolean } {
    return this.#run((arena) => survey(arena, arena.g2, points));
  }

  #run<Value>(work: (arena: ReferenceArena) => Value): Value {
    const arena = this.#arena ?? new ReferenceArena(this.#program);
    this.#arena = undefined;
    const value = arena.scoped(() => work(arena));
    // Not used again after a throw: a trap can leave the program's own scratch in any state.
    if (arena.byteLength <= REUSED_BYTES_MAX) this.#arena = arena;
    return value;
  }

  #multiply(arena: ReferenceArena, group: GroupOperations, points: Uint8Array, scalars: Uint8Array): number {
    const result = arena.alloc(group.jacobianBytes);
    multiScalarMultiply(arena, group, { points, scalars }, result);
    return result;
  }

  #combine(arena: ReferenceArena, group: GroupOperations, terms: readonly PointerTerm[]): number {
    const result = arena.alloc(group.jacobianBytes),
      partial = arena.alloc(group.jacobianBytes);
    group.zero(result);
    for (let start = 0; start < terms.length; start += SMALL_SUM_TERMS_MAX) {
      sumMultiples(arena, group, terms.slice(start, start + SMALL_SUM_TERMS_MAX), partial);
      group.add(result, partial, result);
    }
    return result;
  }

  #linesOf(arena: ReferenceArena, point: G2Point): number {
    const jacobian = arena.alloc(arena.g2.jacobianBytes);
    arena.g2.toJacobian(arena.put(encodeG2(point, this.curve)), jacobian);
    const lines = arena.alloc(arena.pairing.preparedG2Bytes);
    arena.pairing.prepareG2(jacobian, lines);
    return lines;
  }

  #readG1(arena: ReferenceArena, jacobian: number): G1Point | undefined {
    if (arena.g1.isZero(jacobian) === 1) return undefined;
    const affine = arena.alloc(arena.g1.affineBytes);
    arena.g1.toAffine(jacobian, affine);
    const point = decodeG1(arena.bytes, affine, this.curve);
    if (point === undefined) throw new Error("a sum of G1 points is off the curve: an operand was no curve point");
    return point;
  }

  #readG2(arena: ReferenceArena, jacobian: number): G2Point | undefined {
    if (arena.g2.isZero(jacobian) === 1) return undefined;
    const affine = arena.alloc(arena.g2.affineBytes);
    arena.g2.toAffine(jacobian, affine);
    const point = decodeG2(arena.bytes, affine, this.curve);
    if (point === undefined) throw new Error("a sum of G2 points is off the curve: an operand was no curve point");
    return point;
  }
}

function scalarBytes(scalar: bigint): Uint8Array {
  const bytes = new Uint8Array(SCALAR_BYTES);
  writeBigIntLE(scalar, bytes);
  return bytes;
}

function withPoints<Point>(
  terms: readonly { readonly point: Point | undefined; readonly scalar: bigint }[],
): { point: Point; scalar: bigint }[] {
  return terms.flatMap(({ point, scalar }) => (point === undefined || scalar === 0n ? [] : [{ point, scalar }]));
}

/** Points copied in at once by a survey. */
const SURVEY_POINTS = 1 << 14;

function survey(
  arena: ReferenceArena,
  group: GroupOperations,
  points: Uint8Array,
): { infinities: number; isOnCurve: boolean } {
  const chunk = arena.alloc(SURVEY_POINTS * group.affineBytes);
  let infinities = 0;
  for (let start = 0; start < points.length; start += SURVEY_POINTS * group.affineBytes) {
    const part = points.subarray(start, Math.min(points.length, start + SURVEY_POINTS * group.affineBytes));
    arena.bytes.set(part, chunk);
    for (let point = chunk; point < chunk + part.length; point += group.affineBytes) {
      if (group.field.isZero(point) === 1 && group.field.isZero(point + group.field.bytes) === 1) infinities += 1;
      else if (group.isOnCurveAffine(point) !== 1) return { infinities, isOnCurve: false };
    }
  }
  return { infinities, isOnCurve: true };
}
