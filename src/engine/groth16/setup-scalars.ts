/**
 * The scalars behind a Groth16 key: the circuit's polynomials at a secret point (Groth 2016, section 3.1, on the domain
 * of snarkjs' zkey format). Everything here is as secret as the trapdoor and is wiped, best effort, by `wipe`.
 */
import type { CurveProgram } from "../backends/snarkjs.js";
import type { R1cs, R1csMatrix } from "../circuit/r1cs.js";
import { ReferenceArena } from "../reference/reference-arena.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { putScalar } from "../reference/reference-ntt.js";
import { SCALAR_BYTES } from "../reference/signed-digits.js";
import { randomNonZero, readBigIntLE } from "../field/bytes.js";
import { inverse, power, reduce } from "../field/prime-field.js";

/** The secrets of a setup. JavaScript cannot wipe a bigint, so the process that makes them must end after use. */
export interface Trapdoor {
  readonly tau: bigint;
  readonly alpha: bigint;
  readonly beta: bigint;
  readonly gamma: bigint;
  readonly delta: bigint;
}

/** Offsets (in bytes) of the four runs in the scalar buffer: A and B per wire, K per wire, H per domain element. */
interface ScalarLayout {
  readonly a: number;
  readonly b: number;
  readonly k: number;
  readonly h: number;
  readonly end: number;
}

/** Field inversions per batch: the program's scratch is one element more each. */
const INVERSIONS_PER_BATCH = 4096;
/** Coefficients copied into the arena at once. */
const TERMS_PER_CHUNK = 1 << 14;

/**
 * Draws a trapdoor again until its values differ: gamma = delta would let anyone forge proofs, delta = 1 is a key
 * without a contribution.
 */
export function drawTrapdoor(curve: CurveParameters, domainPower: number): Trapdoor {
  for (;;) {
    const [tau, alpha, beta, gamma, delta] = [0, 0, 0, 0, 0].map(() => randomNonZero(curve.r)) as [
      bigint,
      bigint,
      bigint,
      bigint,
      bigint,
    ];
    const isOutside = power(tau, 1n << BigInt(domainPower + 1), curve.r) !== 1n;
    if (isOutside && gamma !== delta && delta !== 1n && gamma !== 1n) return { tau, alpha, beta, gamma, delta };
  }
}

/** Returns the layout of the scalar buffer of a circuit. */
export function scalarLayout(wireCount: number, domainPower: number): ScalarLayout {
  const wires = wireCount * SCALAR_BYTES;
  return { a: 0, b: wires, k: 2 * wires, h: 3 * wires, end: 3 * wires + 2 ** domainPower * SCALAR_BYTES };
}

/** The circuit's polynomials evaluated at tau; lives as long as one setup. */
export class SetupScalars {
  readonly #arena: ReferenceArena;
  readonly #curve: CurveParameters;
  readonly #r1cs: R1cs;
  readonly #trapdoor: Trapdoor;
  readonly #domainPower: number;
  readonly #publicCount: number;
  /** Lagrange basis of the domain at tau, Montgomery form. */
  readonly #lagrange: number;

  constructor(
    program: CurveProgram,
    curve: CurveParameters,
    circuit: { readonly r1cs: R1cs; readonly domainPower: number },
    trapdoor: Trapdoor,
  ) {
    this.#arena = new ReferenceArena(program);
    this.#curve = curve;
    this.#r1cs = circuit.r1cs;
    this.#trapdoor = trapdoor;
    this.#domainPower = circuit.domainPower;
    this.#publicCount = circuit.r1cs.outputCount + circuit.r1cs.publicInputCount;
    this.#lagrange = this.#arena.alloc(2 ** circuit.domainPower * SCALAR_BYTES);
    const step = rootOfUnity(curve, circuit.domainPower);
    this.#evaluateLagrange(this.#lagrange, { first: 1n, step, orderPower: circuit.domainPower, factor: 1n });
  }

  /**
   * Fills the scalar buffer: A, B, K / gamma for public wires and K / delta for the rest, H. Standard form,
   * little-endian.
   */
  fill(buffer: SharedArrayBuffer, layout: ScalarLayout): void {
    const { fr } = this.#arena;
    const wires = this.#r1cs.wireCount * SCALAR_BYTES;
    this.#arena.scoped(() => {
      const a = this.#accumulate(this.#r1cs.constraints.a),
        b = this.#accumulate(this.#r1cs.constraints.b),
        k = this.#accumulate(this.#r1cs.constraints.c);
      this.#bindPublicWires(a);
      const { alpha, beta, gamma, delta } = this.#trapdoor;
      const factors = [alpha, beta, inverse(gamma, this.#curve.r), inverse(delta, this.#curve.r)].map((value) =>
        putScalar(this.#arena, value),
      );
      const [alphaAt, betaAt, gammaAt, deltaAt] = factors as [number, number, number, number];
      const product = this.#arena.alloc(SCALAR_BYTES);
      const publicEnd = (this.#publicCount + 1) * SCALAR_BYTES;
      for (let i = 0; i < wires; i += SCALAR_BYTES) {
        fr.mul(a + i, betaAt, product);
        fr.add(k + i, product, k + i);
        fr.mul(b + i, alphaAt, product);
        fr.add(k + i, product, k + i);
        fr.mul(k + i, i < publicEnd ? gammaAt : deltaAt, k + i);
      }
      const into = new Uint8Array(buffer);
      into.set(this.#arena.bytes.subarray(a, a + wires), layout.a);
      into.set(this.#arena.bytes.subarray(b, b + wires), layout.b);
      into.set(this.#arena.bytes.subarray(k, k + wires), layout.k);
    });
    this.#fillH(new Uint8Array(buffer), layout.h);
  }

  /**
   * How far an assignment is from satisfying the circuit: sum over constraints of (A w * B w - C w) * L(tau). A proof
   * made from that assignment misses the verification equation by exactly this, which the self-test uses.
   */
  residue(witness: Uint8Array): bigint {
    const { fr } = this.#arena;
    return this.#arena.scoped(() => {
      const witnessAt = this.#arena.put(witness);
      const { a, b, c } = this.#r1cs.constraints;
      const rows = [a, b, c].map((matrix) => this.#applyRows(matrix, witnessAt)) as [number, number, number];
      const sum = this.#arena.alloc(SCALAR_BYTES),
        product = this.#arena.alloc(SCALAR_BYTES);
      this.#arena.bytes.fill(0, sum, sum + SCALAR_BYTES);
      const radixSquared = this.#putRaw(power(2n, 512n, this.#curve.r));
      for (let row = 0; row < this.#r1cs.constraintCount * SCALAR_BYTES; row += SCALAR_BYTES) {
        // Rows are plain sums divided by the radix; two multiplications by its square restore what A * B lost.
        fr.mul(rows[0] + row, radixSquared, product);
        fr.mul(rows[1] + row, product, product);
        fr.mul(product, radixSquared, product);
        fr.sub(product, rows[2] + row, product);
        fr.mul(product, radixSquared, product);
        fr.mul(product, this.#lagrange + row, product);
        fr.add(sum, product, sum);
      }
      return readBigIntLE(this.#arena.bytes, sum, SCALAR_BYTES);
    });
  }

  /** Overwrites everything computed here. The object is of no use afterwards. */
  wipe(): void {
    this.#arena.bytes.fill(0);
  }

  /**
   * L_i(tau) * factor for the points x_i = first * step^i of a domain of 2^orderPower points: x_i (tau^n - 1) / (n (tau
   * - x_i)).
   */
  #evaluateLagrange(
    into: number,
    points: { readonly first: bigint; readonly step: bigint; readonly orderPower: number; readonly factor: bigint },
  ): void {
    const { fr } = this.#arena;
    const { r } = this.#curve;
    const order = 1n << BigInt(points.orderPower);
    const scale = (((reduce(power(this.#trapdoor.tau, order, r) - 1n, r) * inverse(order, r)) % r) * points.factor) % r;
    const count = 2 ** this.#domainPower;
    this.#arena.scoped(() => {
      const [tau, scaled, step] = [this.#trapdoor.tau, (points.first * scale) % r, points.step].map((value) =>
        putScalar(this.#arena, value),
      ) as [number, number, number];
      const x = putScalar(this.#arena, points.first);
      const denominators = this.#arena.alloc(count * SCALAR_BYTES);
      for (let i = 0; i < count * SCALAR_BYTES; i += SCALAR_BYTES) {
        fr.sub(tau, x, denominators + i);
        fr.copy(scaled, into + i);
        fr.mul(x, step, x);
        fr.mul(scaled, step, scaled);
      }
      for (let start = 0; start < count; start += INVERSIONS_PER_BATCH) {
        const at = denominators + start * SCALAR_BYTES;
        fr.batchInverse(at, Math.min(INVERSIONS_PER_BATCH, count - start), at);
      }
      for (let i = 0; i < count * SCALAR_BYTES; i += SCALAR_BYTES) fr.mul(into + i, denominators + i, into + i);
    });
  }

  /** H_i = L_{2i+1}(tau) / delta over the domain of twice the size. */
  #fillH(into: Uint8Array, at: number): void {
    const length = 2 ** this.#domainPower * SCALAR_BYTES;
    const root = rootOfUnity(this.#curve, this.#domainPower + 1);
    this.#arena.scoped(() => {
      const h = this.#arena.alloc(length);
      const factor = inverse(this.#trapdoor.delta, this.#curve.r);
      this.#evaluateLagrange(h, {
        first: root,
        step: (root * root) % this.#curve.r,
        orderPower: this.#domainPower + 1,
        factor,
      });
      this.#arena.vector.batchFromMontgomery(h, length / SCALAR_BYTES, h);
      into.set(this.#arena.bytes.subarray(h, h + length), at);
    });
  }

  /** Column sums: per wire, the sum over rows of coefficient * L_row(tau). Plain times Montgomery gives plain. */
  #accumulate(matrix: R1csMatrix): number {
    const { fr } = this.#arena;
    const length = this.#r1cs.wireCount * SCALAR_BYTES;
    const sums = this.#arena.alloc(length);
    this.#arena.bytes.fill(0, sums, sums + length);
    this.#arena.scoped(() => {
      const product = this.#arena.alloc(SCALAR_BYTES);
      this.#forEachTerm(matrix, (coefficient, row, wire) => {
        const target = sums + wire * SCALAR_BYTES;
        fr.mul(coefficient, this.#lagrange + row * SCALAR_BYTES, product);
        fr.add(target, product, target);
      });
    });
    return sums;
  }

  /**
   * Row sums: per constraint, the sum over its terms of coefficient * witness, divided by the radix (plain times
   * plain).
   */
  #applyRows(matrix: R1csMatrix, witnessAt: number): number {
    const { fr } = this.#arena;
    const length = this.#r1cs.constraintCount * SCALAR_BYTES;
    const sums = this.#arena.alloc(length);
    this.#arena.bytes.fill(0, sums, sums + length);
    this.#arena.scoped(() => {
      const product = this.#arena.alloc(SCALAR_BYTES);
      this.#forEachTerm(matrix, (coefficient, row, wire) => {
        const target = sums + row * SCALAR_BYTES;
        fr.mul(coefficient, witnessAt + wire * SCALAR_BYTES, product);
        fr.add(target, product, target);
      });
    });
    return sums;
  }

  #forEachTerm(matrix: R1csMatrix, visit: (coefficient: number, row: number, wire: number) => void): void {
    const chunk = this.#arena.alloc(TERMS_PER_CHUNK * SCALAR_BYTES);
    const { wires, rowOffsets, coefficients } = matrix;
    let row = 0;
    for (let start = 0; start < wires.length; start += TERMS_PER_CHUNK) {
      const end = Math.min(wires.length, start + TERMS_PER_CHUNK);
      this.#arena.bytes.set(coefficients.subarray(start * SCALAR_BYTES, end * SCALAR_BYTES), chunk);
      for (let term = start; term < end; term += 1) {
        while ((rowOffsets[row + 1] as number) <= term) row += 1;
        visit(chunk + (term - start) * SCALAR_BYTES, row, wires[term] as number);
      }
    }
  }

  /**
   * snarkjs gives each public wire (the constant too) a row of its own in A, so that no two of them can be exchanged.
   */
  #bindPublicWires(a: number): void {
    const { fr } = this.#arena;
    const plain = this.#arena.alloc(SCALAR_BYTES);
    for (let wire = 0; wire <= this.#publicCount; wire += 1) {
      const target = a + wire * SCALAR_BYTES;
      fr.fromMontgomery(this.#lagrange + (this.#r1cs.constraintCount + wire) * SCALAR_BYTES, plain);
      fr.add(target, plain, target);
    }
  }

  #putRaw(value: bigint): number {
    const pointer = putScalar(this.#arena, value);
    this.#arena.fr.fromMontgomery(pointer, pointer);
    return pointer;
  }
}
