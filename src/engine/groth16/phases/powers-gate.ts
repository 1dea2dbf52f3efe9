/**
 * The gate of a key whose phase 1 is a powers-of-tau file, made here or elsewhere: that every point follows from the
 * circuit and the file, as `snarkjs zkey verify` does it, and for keys of this server that the contributions lead from
 * there to the key's delta. Without it a key can be sound and yet be no key of its circuit's C, or have an H that is
 * not the domain's. It takes the powers themselves and never their Lagrange
 * points, so that it shares nothing with what made the key.
 *
 * Random weights of 128 bits for the wires make one sum of each section. The circuit turns the weights of wires into
 * values on its rows, a transform into the coefficients of a polynomial, and that polynomial at tau must be the sum: a
 * wrong point escapes with probability 2^-128.
 */
import type { CurveProgram } from "../../backends/snarkjs.js";
import type { R1cs, R1csMatrix } from "../../circuit/r1cs.js";
import type { CurveKernels } from "../../curves/curve-kernels.js";
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { equalG1, equalG2 } from "../../curves/points.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import { randomScalars } from "../../field/bytes.js";
import { inverse } from "../../field/prime-field.js";
import { powersWithEnd, readPowers } from "../../powers-of-tau/lagrange-points.js";
import type { PowersOfTau } from "../../powers-of-tau/lagrange-points.js";
import { ReferenceArena } from "../../reference/reference-arena.js";
import { NttDomain, putScalar } from "../../reference/reference-ntt.js";
import { SCALAR_BYTES } from "../../reference/signed-digits.js";
import type { Groth16ProvingKey } from "../proving-key.js";
import { headerOf } from "./phase1.js";
import { Phase2Error, checkTranscript, readTranscript } from "./phase2.js";

/** What is checked against what. */
export interface PowersGateSubject {
  readonly key: Groth16ProvingKey;
  readonly r1cs: R1cs;
  /** A file that was checked in full. */
  readonly powers: PowersOfTau;
}

const WEIGHTS = { length: SCALAR_BYTES, randomLength: 16 };

/** Returns what does not hold, in words; undefined when all does. About 2 s for 60,000 wires. */
export function findFaultAgainstPowers(
  kernels: CurveKernels,
  program: CurveProgram,
  { key, r1cs, powers }: PowersGateSubject,
): string | undefined {
  const foreign = findForeignHeader(kernels, key, powers);
  if (foreign !== undefined) return foreign;
  if (!equalG2(key.gammaG2, kernels.curve.generatorG2)) return "gamma is not the generator, as phase 2 leaves it";
  const rows = new WeightedRows(program, key, r1cs);
  const wrong = findWrongSection(kernels, key, { powers, rows });
  return wrong === undefined ? undefined : `a point of ${wrong} does not follow from the circuit and the powers of tau`;
}

/** Returns what in the key's header is not that of the powers of tau; takes no time. */
export function findForeignHeader(
  kernels: CurveKernels,
  key: Groth16ProvingKey,
  powers: PowersOfTau,
): string | undefined {
  if (powers.layout.curve !== key.curve) return "the powers of tau are over another curve";
  if (powers.layout.power < key.domainPower) return "the powers of tau are fewer than the circuit takes";
  const { alphaG1, betaG1, betaG2 } = headerOf(kernels, powers);
  if (!equalG1(key.alphaG1, alphaG1)) return "alpha is not that of the powers of tau";
  if (!equalG1(key.betaG1, betaG1) || !equalG2(key.betaG2, betaG2)) return "beta is not that of the powers of tau";
  return undefined;
}

/**
 * Returns why the contributions to phase 2 do not lead to the key's delta. The circuit's hash in the transcript is over
 * C before any contribution: whoever makes the key anew compares it.
 */
export function findTranscriptFault(kernels: CurveKernels, key: Groth16ProvingKey): string | undefined {
  try {
    const transcript = readTranscript(key.contributions, kernels.curve);
    if (transcript.contributions.length === 0) return "phase 2 has no contribution";
    checkTranscript(kernels, transcript, { g1: key.deltaG1, g2: key.deltaG2 });
    return undefined;
  } catch (error) {
    if (error instanceof Phase2Error) return error.message;
    throw error;
  }
}

function findWrongSection(
  kernels: CurveKernels,
  key: Groth16ProvingKey,
  { powers, rows }: { readonly powers: PowersOfTau; readonly rows: WeightedRows },
): string | undefined {
  const { curve } = kernels;
  const size = 2 ** key.domainPower;
  const list = { first: 0, count: size };
  const tau = readPowers(powers, "tauG1", list);
  const { a, b } = rows.all;
  if (!isSame(kernels.msmG1(key.aPoints, rows.weights), kernels.msmG1(tau, a))) return "A";
  if (!isSame(kernels.msmG1(key.b1Points, rows.weights), kernels.msmG1(tau, b))) return "B1";
  if (!isSameG2(kernels.msmG2(key.b2Points, rows.weights), kernels.msmG2(readPowers(powers, "tauG2", list), b)))
    return "B2";
  const { generatorG2 } = curve;
  const [alpha, beta] = [readPowers(powers, "alphaTauG1", list), readPowers(powers, "betaTauG1", list)];
  for (const [name, points, from, matrices, g2] of [
    ["IC", key.icPoints, 0, rows.ofPublic, generatorG2],
    ["C", key.cPoints, key.publicCount + 1, rows.ofPrivate, key.deltaG2],
  ] as const) {
    const count = points.length / (2 * curve.fqBytes);
    const sum = kernels.msmG1(points, rows.weights.subarray(from * SCALAR_BYTES, (from + count) * SCALAR_BYTES));
    const expected = kernels.combineG1(
      [kernels.msmG1(beta, matrices.a), kernels.msmG1(alpha, matrices.b), kernels.msmG1(tau, matrices.c)].map(
        (point) => ({ point, scalar: 1n }),
      ),
    );
    if (!isRatio(kernels, sum, { expected, g2 })) return name;
  }
  return isWrongQuotient(kernels, key, { powers, rows }) ? "H" : undefined;
}

/**
 * A key that was made from the same ceremony's file of exactly the domain's power has infinity for the last power,
 * which that file has not got.
 */
function isWrongQuotient(
  kernels: CurveKernels,
  key: Groth16ProvingKey,
  { powers, rows }: { readonly powers: PowersOfTau; readonly rows: WeightedRows },
): boolean {
  const points = powersWithEnd(powers, 2 ** key.domainPower);
  const scalars = rows.oddCoefficients();
  const sum = kernels.msmG1(key.hPoints, rows.weightsOfH);
  const follows = (): boolean => isRatio(kernels, sum, { expected: kernels.msmG1(points, scalars), g2: key.deltaG2 });
  if (follows()) return false;
  scalars.fill(0, scalars.length - SCALAR_BYTES);
  return !follows();
}

/** Tells whether delta, or gamma, times the sum is what follows from the powers. */
function isRatio(
  kernels: CurveKernels,
  sum: G1Point | undefined,
  { expected, g2 }: { readonly expected: G1Point | undefined; readonly g2: G2Point },
): boolean {
  if (sum === undefined || expected === undefined) return sum === expected;
  return kernels.equalPairingValues(
    kernels.pairingProduct([{ g1: sum, g2 }]),
    kernels.pairingProduct([{ g1: expected, g2: kernels.curve.generatorG2 }]),
  );
}

function isSame(a: G1Point | undefined, b: G1Point | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalG1(a, b);
}

function isSameG2(a: G2Point | undefined, b: G2Point | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalG2(a, b);
}

/** Coefficients of the polynomials that the matrices make of the wires' weights; standard form. */
interface Polynomials {
  readonly a: Uint8Array;
  readonly b: Uint8Array;
  readonly c: Uint8Array;
}

/** The wires' weights, and what the circuit makes of them. */
class WeightedRows {
  /** A scalar for each wire. */
  readonly weights: Uint8Array;
  /** A scalar for each place of H. */
  readonly weightsOfH: Uint8Array;
  readonly #arena: ReferenceArena;
  readonly #key: Groth16ProvingKey;
  readonly #r1cs: R1cs;
  readonly #domain: NttDomain;

  constructor(program: CurveProgram, key: Groth16ProvingKey, r1cs: R1cs) {
    this.#arena = new ReferenceArena(program);
    this.#key = key;
    this.#r1cs = r1cs;
    this.#domain = new NttDomain(this.#arena, key.curve, key.domainPower);
    this.weights = randomScalars(key.wireCount, WEIGHTS);
    this.weightsOfH = randomScalars(2 ** key.domainPower, WEIGHTS);
  }

  /** Of all wires. */
  get all(): Polynomials {
    return this.#polynomials(() => true);
  }

  /** Of the wires of IC. */
  get ofPublic(): Polynomials {
    return this.#polynomials((wire) => wire <= this.#key.publicCount);
  }

  /** Of the wires of C. */
  get ofPrivate(): Polynomials {
    return this.#polynomials((wire) => wire > this.#key.publicCount);
  }

  /**
   * For each power of tau below 2n the scalar with which it counts in the sum of H before delta: 1/2 v^-j times the
   * coefficient j of the weights' polynomial, and its negative n places on, v the root of order 2n.
   */
  oddCoefficients(): Uint8Array {
    const { curve, domainPower } = this.#key;
    const size = 2 ** domainPower;
    const arena = this.#arena;
    return arena.scoped(() => {
      const values = arena.put(this.weightsOfH);
      this.#toMontgomery(values, size);
      this.#domain.toCoefficients(values);
      const step = putScalar(arena, inverse(rootOfUnity(curve, domainPower + 1), curve.r));
      const factor = putScalar(arena, inverse(2n, curve.r));
      const both = arena.alloc(2 * size * SCALAR_BYTES);
      for (let at = 0; at < size * SCALAR_BYTES; at += SCALAR_BYTES) {
        arena.fr.mul(values + at, factor, both + at);
        arena.fr.neg(both + at, both + size * SCALAR_BYTES + at);
        arena.fr.mul(factor, step, factor);
      }
      return this.#plain(both, 2 * size);
    });
  }

  #polynomials(includes: (wire: number) => boolean): Polynomials {
    const { a, b, c } = this.#r1cs.constraints;
    return {
      a: this.#coefficients(a, { includes, bindsPublic: true }),
      b: this.#coefficients(b, { includes, bindsPublic: false }),
      c: this.#coefficients(c, { includes, bindsPublic: false }),
    };
  }

  /** The coefficients of the polynomial whose values are the rows' sums of coefficient times weight. */
  #coefficients(
    { rowOffsets, wires, coefficients }: R1csMatrix,
    { includes, bindsPublic }: { readonly includes: (wire: number) => boolean; readonly bindsPublic: boolean },
  ): Uint8Array {
    const arena = this.#arena;
    const { fr } = arena;
    const size = 2 ** this.#key.domainPower;
    return arena.scoped(() => {
      const weights = arena.put(this.weights);
      this.#toMontgomery(weights, this.#key.wireCount);
      const values = arena.alloc(size * SCALAR_BYTES);
      arena.bytes.fill(0, values, values + size * SCALAR_BYTES);
      const [term, product] = [arena.alloc(SCALAR_BYTES), arena.alloc(SCALAR_BYTES)];
      const { constraintCount } = this.#r1cs;
      for (let row = 0; row < constraintCount; row += 1) {
        for (let i = rowOffsets[row] ?? 0; i < (rowOffsets[row + 1] ?? 0); i += 1) {
          const wire = wires[i] ?? 0;
          if (!includes(wire)) continue;
          arena.bytes.set(coefficients.subarray(i * SCALAR_BYTES, (i + 1) * SCALAR_BYTES), term);
          fr.toMontgomery(term, term);
          fr.mul(term, weights + wire * SCALAR_BYTES, product);
          fr.add(values + row * SCALAR_BYTES, product, values + row * SCALAR_BYTES);
        }
      }
      for (let wire = 0; bindsPublic && wire <= this.#key.publicCount; wire += 1)
        if (includes(wire)) fr.copy(weights + wire * SCALAR_BYTES, values + (constraintCount + wire) * SCALAR_BYTES);
      this.#domain.toCoefficients(values);
      return this.#plain(values, size);
    });
  }

  #toMontgomery(at: number, count: number): void {
    for (let i = 0; i < count; i += 1) this.#arena.fr.toMontgomery(at + i * SCALAR_BYTES, at + i * SCALAR_BYTES);
  }

  #plain(at: number, count: number): Uint8Array {
    this.#arena.vector.batchFromMontgomery(at, count, at);
    return this.#arena.bytes.slice(at, at + count * SCALAR_BYTES);
  }
}
