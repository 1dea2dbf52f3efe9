/**
 * Makes a Groth16 key whose phase 1 is a published powers-of-tau file, as `snarkjs groth16 setup` does: the circuit's
 * polynomials at a tau that this server does not know, with delta = 1. Such a key is not safe before it has a
 * contribution of phase 2 (phase2.ts).
 */
import type { R1cs, R1csMatrix } from "../../circuit/r1cs.js";
import type { CurveKernels } from "../../curves/curve-kernels.js";
import { decodeG1, decodeG2, encodeG1 } from "../../curves/points.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { readBigIntLE } from "../../field/bytes.js";
import { inverse, reduce } from "../../field/prime-field.js";
import type { PointRows } from "../../kernels/msm/point-rows.js";
import { lagrangePoints, oddLagrangePoints, powersWithEnd, readPowers } from "../../powers-of-tau/lagrange-points.js";
import type { PowersName, PowersOfTau } from "../../powers-of-tau/lagrange-points.js";
import { sumPointRows } from "../../powers-of-tau/point-row-work.js";
import type { PointRowOptions } from "../../powers-of-tau/point-row-work.js";
import { subtractHalves } from "../../powers-of-tau/point-transform.js";
import { SCALAR_BYTES } from "../../reference/signed-digits.js";
import { zkeyCountsOf } from "../zkey-writer.js";
import type { ZkeyHeaderPoints } from "../zkey-writer.js";
import { circuitHash, hashedCount } from "./circuit-hash.js";

/** The points of a key with delta = 1, affine, Montgomery form, little-endian. */
export interface Phase1Key {
  readonly header: ZkeyHeaderPoints;
  readonly ic: Uint8Array;
  readonly a: Uint8Array;
  readonly b1: Uint8Array;
  readonly b2: Uint8Array;
  readonly c: Uint8Array;
  readonly h: Uint8Array;
  /** By which snarkjs names the key; contributions answer it. */
  readonly circuitHash: Uint8Array;
}

/** Shares of the whole at which the Lagrange points and the sums are done. */
const PROGRESS = { prepared: 0.05, transformed: 0.8, sums: 0.9 } as const;
/** The lists of Lagrange points, one behind the other in G1. */
const LISTS = ["tauG1", "alphaTauG1", "betaTauG1"] as const satisfies readonly PowersName[];
type List = (typeof LISTS)[number];

/**
 * Makes the points. Some seconds for 60,000 constraints from a prepared file; minutes from one that is not.
 * @throws RangeError when the file has fewer powers than the circuit's domain
 */
export async function makePhase1Key(
  kernels: CurveKernels,
  r1cs: R1cs,
  powers: PowersOfTau,
  { executeRows, onProgress }: PointRowOptions = {},
): Promise<Phase1Key> {
  const counts = zkeyCountsOf(r1cs);
  const { domainPower, publicCount } = counts;
  const size = 2 ** domainPower;
  const atPoints = powers.layout.isPrepared ? PROGRESS.prepared : PROGRESS.transformed;
  const part = (from: number, to: number): PointRowOptions => ({
    ...(executeRows === undefined ? {} : { executeRows }),
    onProgress: (share) => onProgress?.(from + share * (to - from)),
  });
  const points = await readAll(kernels, powers, domainPower, part(0, atPoints));
  const terms = new WireTerms(r1cs, size);
  const g1 = { group: "g1", points: points.g1 } as const;
  const [a, b1, k, b2] = (await sumPointRows(
    kernels,
    [
      { ...g1, ...terms.rows(["a"], { a: "tauG1" }) },
      { ...g1, ...terms.rows(["b"], { b: "tauG1" }) },
      { ...g1, ...terms.rows(["a", "b", "c"], { a: "betaTauG1", b: "alphaTauG1", c: "tauG1" }) },
      { group: "g2", points: points.g2, ...terms.rows(["b"], { b: "tauG1" }) },
    ],
    part(atPoints, PROGRESS.sums),
  )) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const icBytes = (publicCount + 1) * 2 * kernels.curve.fqBytes;
  const key = {
    ...{ header: headerOf(kernels, powers), domainPower, a, b1, b2 },
    ...{ ic: k.subarray(0, icBytes), c: k.subarray(icBytes) },
  };
  const vanishing = await hashedPowers(kernels, powers, domainPower, part(PROGRESS.sums, 1));
  return { ...key, h: points.odd, circuitHash: circuitHash(kernels.curve, { ...key, vanishing }) };
}

/** Returns the header of a key with delta = 1. */
export function headerOf({ curve }: Pick<CurveKernels, "curve">, powers: PowersOfTau): ZkeyHeaderPoints {
  const first = { first: 0, count: 1 };
  const alphaG1 = decodeG1(readPowers(powers, "alphaTauG1", first), 0, curve);
  const betaG1 = decodeG1(readPowers(powers, "betaTauG1", first), 0, curve);
  const betaG2 = decodeG2(readPowers(powers, "betaG2", first), 0, curve);
  if (alphaG1 === undefined || betaG1 === undefined || betaG2 === undefined)
    throw new Error("a point of a checked file is not on the curve");
  const { generatorG1, generatorG2 } = curve;
  return { alphaG1, betaG1, betaG2, gammaG2: generatorG2, deltaG1: generatorG1, deltaG2: generatorG2 };
}

/** Returns tau^(n + i) - tau^i as the circuit's hash takes them. */
export async function hashedPowers(
  kernels: CurveKernels,
  powers: PowersOfTau,
  domainPower: number,
  options: PointRowOptions = {},
): Promise<Uint8Array> {
  const size = 2 ** domainPower;
  const pointBytes = 2 * kernels.curve.fqBytes;
  const all = powersWithEnd(powers, size);
  // The upper half first: the hash takes upper minus lower.
  const halves = new Uint8Array(new SharedArrayBuffer(all.length));
  halves.set(all.subarray(size * pointBytes));
  halves.set(all.subarray(0, size * pointBytes), size * pointBytes);
  const differences = await subtractHalves(kernels, { group: "g1", points: halves }, options);
  const count = hashedCount(domainPower);
  if (count === size && powers.layout.power === domainPower)
    differences.set(overrunPoint(kernels, powers, size), (size - 1) * pointBytes);
  return differences.subarray(0, count * pointBytes);
}

/**
 * What snarkjs hashes last where the file ends one power earlier than it reads: the bytes that follow the section,
 * taken for a point, minus tau^(n - 1).
 */
function overrunPoint({ curve }: CurveKernels, { file, layout }: PowersOfTau, size: number): Uint8Array {
  const section = layout.points.find(({ name }) => name === "tauG1");
  if (section === undefined) throw new RangeError("the file has no powers");
  const raw = new Uint8Array(section.pointBytes);
  file.read(raw, section.offset + section.count * section.pointBytes);
  const own = new Uint8Array(section.pointBytes);
  file.read(own, section.offset + (size - 1) * section.pointBytes);
  return subtractUnreduced(raw, own, curve);
}

/**
 * P - Q as snarkjs' program computes it for a P whose coordinates are any bytes: its field operations take off the
 * prime once at most, so that a number far above the prime gives another result than its residue would. In Montgomery
 * form throughout, by the formulas for Z = 1 ("mmadd-2007-bl" of the Explicit-Formulas Database).
 */
function subtractUnreduced(p: Uint8Array, q: Uint8Array, curve: CurveParameters): Uint8Array {
  const field = new UnreducedField(curve);
  const at = (bytes: Uint8Array, i: number): bigint => readBigIntLE(bytes, i * curve.fqBytes, curve.fqBytes);
  const [x1, y1, x2, y2] = [at(p, 0), at(p, 1), at(q, 0), field.sub(0n, at(q, 1))];
  const h = field.sub(x2, x1);
  const slope = field.sub(y2, y1);
  const hh = field.mul(h, h);
  const twice = field.add(hh, hh);
  const i = field.add(twice, twice);
  const j = field.mul(h, i);
  const r = field.add(slope, slope);
  const v = field.mul(x1, i);
  const x3 = field.sub(field.sub(field.mul(r, r), j), field.add(v, v));
  const yj = field.mul(y1, j);
  const y3 = field.sub(field.mul(field.sub(v, x3), r), field.add(yj, yj));
  const z3 = field.add(h, h);
  // From here on values count modulo the prime, as they are multiplied by reduced ones.
  const radixInverse = inverse(1n << BigInt(8 * curve.fqBytes), curve.q);
  const plain = (value: bigint): bigint => reduce(value * radixInverse, curve.q);
  const zInverse = inverse(plain(z3), curve.q);
  const square = (zInverse * zInverse) % curve.q;
  return encodeG1({ x: (plain(x3) * square) % curve.q, y: (plain(y3) * square * zInverse) % curve.q }, curve);
}

/** The prime field on numbers of as many bits as its bytes have, which need not be below the prime. */
class UnreducedField {
  readonly #q: bigint;
  readonly #radix: bigint;
  readonly #negativeInverse: bigint;

  constructor({ q, fqBytes }: CurveParameters) {
    this.#q = q;
    this.#radix = 1n << BigInt(8 * fqBytes);
    this.#negativeInverse = this.#radix - inverse(q, this.#radix);
  }

  sub(a: bigint, b: bigint): bigint {
    return a >= b ? a - b : reduce(a - b + this.#q, this.#radix);
  }

  add(a: bigint, b: bigint): bigint {
    return this.#lowered(a + b);
  }

  /** a b / radix. */
  mul(a: bigint, b: bigint): bigint {
    const product = a * b;
    const factor = ((product % this.#radix) * this.#negativeInverse) % this.#radix;
    return this.#lowered((product + factor * this.#q) / this.#radix);
  }

  #lowered(value: bigint): bigint {
    return value >= this.#q ? (value - this.#q) % this.#radix : value;
  }
}

async function readAll(
  kernels: CurveKernels,
  powers: PowersOfTau,
  domainPower: number,
  { executeRows, onProgress }: PointRowOptions,
): Promise<{ readonly g1: Uint8Array; readonly g2: Uint8Array; readonly odd: Uint8Array }> {
  // One transform each, that in G2 as long as three.
  const shares = { tauG1: 1, alphaTauG1: 1, betaTauG1: 1, tauG2: 3, odd: 1 };
  const all = Object.values(shares).reduce((sum, share) => sum + share, 0);
  let done = 0;
  const step = async (share: number, make: (options: PointRowOptions) => Promise<Uint8Array>): Promise<Uint8Array> => {
    const from = done;
    const made = await make({
      ...(executeRows === undefined ? {} : { executeRows }),
      onProgress: (part) => onProgress?.((from + part * share) / all),
    });
    done += share;
    onProgress?.(done / all);
    return made;
  };
  const g1 = new Uint8Array(new SharedArrayBuffer(LISTS.length * 2 ** domainPower * 2 * kernels.curve.fqBytes));
  for (const [i, name] of LISTS.entries()) {
    const list = await step(
      shares[name],
      async (options) => await lagrangePoints(kernels, powers, { name, domainPower }, options),
    );
    g1.set(list, i * list.length);
  }
  const g2 = await step(
    shares.tauG2,
    async (options) => await lagrangePoints(kernels, powers, { name: "tauG2", domainPower }, options),
  );
  const odd = await step(shares.odd, async (options) => await oddLagrangePoints(kernels, powers, domainPower, options));
  return { g1, g2, odd };
}

type Matrix = "a" | "b" | "c";

/** The circuit's terms by wire, in memory that threads share. */
class WireTerms {
  readonly #r1cs: R1cs;
  readonly #size: number;
  readonly #publicCount: number;
  /** The matrices' coefficients one behind the other, and a one. */
  readonly #scalars: Uint8Array;
  readonly #scalarsFrom: Readonly<Record<Matrix | "one", number>>;

  constructor(r1cs: R1cs, size: number) {
    const { a, b, c } = r1cs.constraints;
    this.#r1cs = r1cs;
    this.#size = size;
    this.#publicCount = r1cs.outputCount + r1cs.publicInputCount;
    const [endOfA, endOfB] = [a.wires.length, a.wires.length + b.wires.length];
    const one = endOfB + c.wires.length;
    this.#scalarsFrom = { a: 0, b: endOfA, c: endOfB, one };
    this.#scalars = new Uint8Array(new SharedArrayBuffer((one + 1) * SCALAR_BYTES));
    for (const name of ["a", "b", "c"] as const)
      this.#scalars.set(r1cs.constraints[name].coefficients, this.#scalarsFrom[name] * SCALAR_BYTES);
    this.#scalars[one * SCALAR_BYTES] = 1;
  }

  /** Returns a row for each wire: the sum of its terms in the matrices, each over its list of Lagrange points. */
  rows(
    matrices: readonly Matrix[],
    lists: Readonly<Partial<Record<Matrix, List>>>,
  ): Pick<PointRows, "starts" | "pointOf" | "scalarOf" | "scalars"> {
    const { wireCount, constraints, constraintCount } = this.#r1cs;
    const bindsPublic = matrices.includes("a");
    const starts = sharedWords(wireCount + 1);
    for (const name of matrices) for (const wire of constraints[name].wires) count(starts, wire);
    if (bindsPublic) for (let wire = 0; wire <= this.#publicCount; wire += 1) count(starts, wire);
    for (let wire = 0; wire < wireCount; wire += 1) starts[wire + 1] = (starts[wire + 1] ?? 0) + (starts[wire] ?? 0);
    const next = starts.slice();
    const total = starts[wireCount] ?? 0;
    const [pointOf, scalarOf] = [sharedWords(total), sharedWords(total)];
    const put = (wire: number, point: number, scalar: number): void => {
      const at = next[wire] ?? 0;
      next[wire] = at + 1;
      pointOf[at] = point;
      scalarOf[at] = scalar;
    };
    for (const name of matrices) {
      const from = LISTS.indexOf(lists[name] ?? "tauG1") * this.#size;
      forEachTerm(constraints[name], (row, term, wire) => {
        put(wire, from + row, this.#scalarsFrom[name] + term);
      });
      // snarkjs gives each public wire (the constant too) a row of its own in A, so that no two can be exchanged.
      if (name === "a")
        for (let wire = 0; wire <= this.#publicCount; wire += 1)
          put(wire, from + constraintCount + wire, this.#scalarsFrom.one);
    }
    return { starts, pointOf, scalarOf, scalars: this.#scalars };
  }
}

function forEachTerm(
  { rowOffsets, wires }: R1csMatrix,
  visit: (row: number, term: number, wire: number) => void,
): void {
  for (let row = 0; row + 1 < rowOffsets.length; row += 1)
    for (let term = rowOffsets[row] ?? 0; term < (rowOffsets[row + 1] ?? 0); term += 1)
      visit(row, term, wires[term] ?? 0);
}

function count(starts: Uint32Array, wire: number): void {
  starts[wire + 1] = (starts[wire + 1] ?? 0) + 1;
}

function sharedWords(length: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(4 * length));
}
