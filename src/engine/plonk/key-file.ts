/**
 * A PLONK proving key as a file: the circuit's gates and the points of the reference string that they take. Selectors
 * and permutation are not in it, because both follow from the gates in less time than their polynomials are read. All
 * integers are little-endian, points as in snarkjs' files.
 *
 *   "pwpk" || version u32 || fqBytes u32 || q || frBytes u32 || r
 *   || publicCount u32 || gateCount u32 || systemWireCount u32 || additionCount u32 || coefficientCount u32
 *   || domainPower u32 || SHA-256 of the reference string(32) || tau in G2
 *   || coefficients (frBytes each, canonical)
 *   || additions: left, right, leftFactor, rightFactor (u32 each, additionCount of them, one array after the other)
 *   || wires a, b, c, then selectors m, l, r, o, k (u32 each, gateCount of them; selectors are numbers of coefficients)
 *   || tau^0 .. tau^(n + 5) in G1 || the n Lagrange points of the domain, n = 2^domainPower
 *   || commitments to m, l, r, o, k, s1, s2, s3, infinity as zeros
 *
 * Version 1 is the same without the commitments, which opening such a key computes.
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import { decodeG1, decodeG2, encodeG1, encodeG2 } from "../curves/points.js";
import type { G1Point } from "../curves/points.js";
import { readBigIntLE, writeBigIntLE } from "../field/bytes.js";
import { PUBLIC_SIGNALS_MAX } from "../groth16/proof.js";
import type { PlonkSetupPoints } from "../kernels/plonk/build-plonk-key.js";
import { EXTRA_POWERS, FIXED_POLYNOMIALS } from "../kernels/plonk/resident-circuit.js";
import type { FixedPolynomial } from "../kernels/plonk/resident-circuit.js";
import { domainPowerOf } from "./key.js";
import type { PlonkCommitments } from "./key.js";
import { GATE_WIRES, SELECTORS } from "./plonk-gates.js";
import type { PlonkGates } from "./plonk-gates.js";

/** What a key is made of. */
export interface PlonkProvingKey {
  readonly gates: PlonkGates;
  readonly domainPower: number;
  readonly points: PlonkSetupPoints;
  /** SHA-256 of the reference string from which the points are, lower-case hex. */
  readonly referenceString: string;
  /** Absent in a file of version 1. The setup's gates compare them with the circuit's. */
  readonly commitments?: PlonkCommitments;
}

/** The bytes are no PLONK proving key that this reader accepts. */
export class PlonkKeyFormatError extends Error {
  override readonly name = "PlonkKeyFormatError";
}

const MAGIC = "pwpk";
const VERSION = { bare: 1, committed: 2 } as const;
const HASH_BYTES = 32;
const COUNT_NAMES = ["publicCount", "gateCount", "systemWireCount", "additionCount", "coefficientCount"] as const;
const ADDITION_ARRAYS = ["left", "right", "leftFactor", "rightFactor"] as const;

type Counts = Readonly<Record<(typeof COUNT_NAMES)[number], number>> & { readonly domainPower: number };

/** Returns the file of a key. */
export function writePlonkKey(key: PlonkProvingKey, curve: CurveParameters): Uint8Array {
  const { gates, domainPower, points } = key;
  const coefficients = new Uint8Array(gates.coefficients.length * curve.frBytes);
  for (const [i, value] of gates.coefficients.entries())
    writeBigIntLE(value, coefficients, i * curve.frBytes, curve.frBytes);
  return Buffer.concat([
    Buffer.from(MAGIC),
    words(key.commitments === undefined ? VERSION.bare : VERSION.committed, curve.fqBytes),
    integer(curve.q, curve.fqBytes),
    words(curve.frBytes),
    integer(curve.r, curve.frBytes),
    words(gates.publicCount, gates.gateCount, gates.systemWireCount, gates.additions.count),
    words(gates.coefficients.length, domainPower),
    Buffer.from(key.referenceString, "hex"),
    encodeG2(points.tauG2, curve),
    coefficients,
    ...ADDITION_ARRAYS.map((name) => bytesOf(gates.additions[name])),
    ...GATE_WIRES.map((name) => bytesOf(gates.wires[name])),
    ...SELECTORS.map((name) => bytesOf(gates.selectors[name])),
    points.powers,
    points.lagrange,
    ...(key.commitments === undefined ? [] : encodeCommitments(key.commitments, curve)),
  ]);
}

/**
 * Reads a key; its points are views of the bytes. Checks every count and number that later code relies on; the gates
 * of the setup check that the key is the circuit's.
 * @throws PlonkKeyFormatError when the bytes are not a complete key of the curve
 */
export function readPlonkKey(bytes: Uint8Array, curve: CurveParameters): PlonkProvingKey {
  const reader = new Reader(bytes);
  const isOurs = Buffer.from(reader.take(4)).toString("latin1") === MAGIC;
  const version = reader.word();
  if (!isOurs || (version !== VERSION.bare && version !== VERSION.committed))
    throw new PlonkKeyFormatError("not a PLONK proving key of this server");
  if (!isFieldOf(reader, curve.q, curve.fqBytes) || !isFieldOf(reader, curve.r, curve.frBytes))
    throw new PlonkKeyFormatError(`the key is not over ${curve.name}`);
  const counts = readCounts(reader, curve);
  const referenceString = Buffer.from(reader.take(HASH_BYTES)).toString("hex");
  const tauG2 = decodeG2(reader.take(4 * curve.fqBytes), 0, curve);
  if (tauG2 === undefined) throw new PlonkKeyFormatError("tau in G2 is not on the curve");
  const gates = readGates(reader, counts, curve);
  const size = 2 ** counts.domainPower;
  const points = {
    powers: reader.take((size + EXTRA_POWERS) * 2 * curve.fqBytes),
    lagrange: reader.take(size * 2 * curve.fqBytes),
    tauG2,
  };
  const key = { gates, domainPower: counts.domainPower, points, referenceString };
  const whole = version === VERSION.bare ? key : { ...key, commitments: readCommitments(reader, curve) };
  reader.end();
  return whole;
}

function encodeCommitments(commitments: PlonkCommitments, curve: CurveParameters): Uint8Array[] {
  return FIXED_POLYNOMIALS.map((name) => {
    const point = commitments[name];
    return point === undefined ? new Uint8Array(2 * curve.fqBytes) : encodeG1(point, curve);
  });
}

function readCommitments(reader: Reader, curve: CurveParameters): PlonkCommitments {
  const entries = FIXED_POLYNOMIALS.map((name) => {
    const bytes = reader.take(2 * curve.fqBytes);
    const point = decodeG1(bytes, 0, curve);
    if (point === undefined && bytes.some((byte) => byte !== 0))
      throw new PlonkKeyFormatError("a commitment of the key is not on the curve");
    return [name, point] as const;
  });
  return Object.fromEntries(entries) as Record<FixedPolynomial, G1Point | undefined>;
}

function readCounts(reader: Reader, curve: CurveParameters): Counts {
  const counts = Object.fromEntries(COUNT_NAMES.map((name) => [name, reader.word()])) as Record<
    (typeof COUNT_NAMES)[number],
    number
  >;
  const domainPower = reader.word();
  if (
    domainPower > curve.twoAdicity ||
    counts.publicCount > Math.min(PUBLIC_SIGNALS_MAX, counts.gateCount) ||
    counts.publicCount >= counts.systemWireCount ||
    counts.additionCount > counts.gateCount ||
    domainPower !== domainPowerOf(counts.gateCount)
  )
    throw new PlonkKeyFormatError("the key's counts do not belong together");
  return { ...counts, domainPower };
}

function readGates(reader: Reader, counts: Counts, curve: CurveParameters): PlonkGates {
  const { publicCount, gateCount, systemWireCount, additionCount, coefficientCount } = counts;
  const plain = reader.take(coefficientCount * curve.frBytes);
  const coefficients = Array.from({ length: coefficientCount }, (_, i) =>
    readBigIntLE(plain, i * curve.frBytes, curve.frBytes),
  );
  if (coefficients[0] !== 0n || coefficients[1] !== 1n || coefficients.some((value) => value >= curve.r))
    throw new PlonkKeyFormatError("the key's coefficients are not numbers of the field");
  const wireCount = systemWireCount + additionCount;
  const below = (length: number, limit: number): Uint32Array => {
    const numbers = reader.words(length);
    if (numbers.some((number) => number >= limit)) throw new PlonkKeyFormatError("the key names what it does not have");
    return numbers;
  };
  const [left, right, leftFactor, rightFactor] = [
    below(additionCount, wireCount),
    below(additionCount, wireCount),
    below(additionCount, coefficientCount),
    below(additionCount, coefficientCount),
  ];
  // An addition is computed after those before it.
  if ([left, right].some((wires) => wires.some((wire, i) => wire >= systemWireCount + i)))
    throw new PlonkKeyFormatError("an addition of the key takes a later one");
  const additions = { count: additionCount, left, right, leftFactor, rightFactor };
  const wires = { a: below(gateCount, wireCount), b: below(gateCount, wireCount), c: below(gateCount, wireCount) };
  const selector = (): Uint32Array => below(gateCount, coefficientCount);
  const selectors = { m: selector(), l: selector(), r: selector(), o: selector(), k: selector() };
  return { publicCount, gateCount, systemWireCount, additions, wires, selectors, coefficients };
}

/** Takes one part after the other. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  take(count: number): Uint8Array {
    if (this.#at + count > this.#bytes.length) throw new PlonkKeyFormatError("the key ends too early");
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  word(): number {
    return this.words(1)[0] ?? 0;
  }

  /** A copy, because the place need not be a multiple of four. */
  words(count: number): Uint32Array {
    const copy = new Uint8Array(4 * count);
    copy.set(this.take(4 * count));
    return new Uint32Array(copy.buffer);
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new PlonkKeyFormatError("bytes after the end of the key");
  }
}

function isFieldOf(reader: Reader, prime: bigint, bytes: number): boolean {
  return reader.word() === bytes && readBigIntLE(reader.take(bytes), 0, bytes) === prime;
}

function words(...values: readonly number[]): Uint8Array {
  return bytesOf(Uint32Array.from(values));
}

function integer(value: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  writeBigIntLE(value, bytes, 0, length);
  return bytes;
}

function bytesOf(values: Uint32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
