/** Small circuits with witnesses, built directly as R1CS: no compiler runs in the proof system's tests. */
import { readFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import type { R1cs, R1csMatrix } from "../../src/engine/circuit/r1cs.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import type { CurveParameters } from "../../src/engine/curves/curve-parameters.js";
import { writeBigIntLE } from "../../src/engine/field/bytes.js";
import { reduce } from "../../src/engine/field/prime-field.js";

export interface Fixture {
  readonly r1cs: R1cs;
  readonly witness: Uint8Array;
  readonly publicSignals: readonly bigint[];
}

type Row = readonly (readonly [wire: number, coefficient: bigint])[];

/** X^3 + X + 5 = Y with Y public: wires 1, Y, X, X^2; two constraints. */
export function cubicFixture(x: bigint, curve: CurveParameters = BN254): Fixture {
  const y = reduce(x * x * x + x + 5n, curve.r);
  const a: Row[] = [[[2, 1n]], [[3, 1n]]];
  const b: Row[] = [[[2, 1n]], [[2, 1n]]];
  const c: Row[] = [
    [[3, 1n]],
    [
      [1, 1n],
      [2, -1n],
      [0, -5n],
    ],
  ];
  return fixture(curve, { a, b, c }, { outputs: 0, publicInputs: 1 }, [1n, y, x, reduce(x * x, curve.r)]);
}

/**
 * x_{i+1} = (x_i + i) (x_i + x_0 + 1), n times, from a private start to a public output, with a second public input
 * that nothing uses.
 */
export function chainFixture(steps: number, start = 7n, curve: CurveParameters = BN254): Fixture {
  // wires: 1, output, idle input, x_0, x_1 .. x_{n-1}
  const values = [start];
  for (let i = 0; i < steps; i += 1) values.push(reduce((values[i]! + BigInt(i)) * (values[i]! + start + 1n), curve.r));
  const wire = (i: number): number => (i === steps ? 1 : 3 + i);
  const rows = Array.from({ length: steps }, (_, i) => i);
  return fixture(
    curve,
    {
      a: rows.map((i) => [
        [wire(i), 1n],
        [0, BigInt(i)],
      ]),
      b: rows.map((i) => [
        [wire(i), 1n],
        [wire(0), 1n],
        [0, 1n],
      ]),
      c: rows.map((i) => [[wire(i + 1), 1n]]),
    },
    { outputs: 1, publicInputs: 1 },
    [1n, values[steps]!, 42n, ...values.slice(0, steps)],
  );
}

/**
 * A system of every kind of row: products, sums with a constant factor on either side, nothing times something, long
 * sums, constants, and wires that cancel. Each row defines one more wire; two are public.
 */
export function mixedFixture(
  rowCount: number,
  random: { below(limit: number): number },
  curve: CurveParameters = BN254,
): Fixture {
  const values = [1n, 0n, 5n, 11n];
  const sum = (length: number): Row => {
    const wires = new Map<number, bigint>();
    for (let i = 0; i < length; i += 1)
      wires.set(
        random.below(values.length - 2) === 0 ? 0 : 2 + random.below(values.length - 2),
        BigInt(1 + random.below(9)),
      );
    return [...wires].sort(([a], [b]) => a - b);
  };
  const valueOf = (row: Row): bigint =>
    row.reduce((total, [wire, factor]) => total + factor * (values[wire] ?? 0n), 0n);
  const [a, b, c]: [Row[], Row[], Row[]] = [[], [], []];
  for (let row = 0; row < rowCount; row += 1) {
    const kind = row % 5;
    const left: Row = kind === 1 ? [[0, 3n]] : kind === 3 ? [] : sum(1 + random.below(6));
    const right: Row = kind === 2 ? [[0, -2n]] : sum(1 + random.below(6));
    const extra = kind === 3 ? [] : sum(random.below(4));
    const value = reduce(valueOf(left) * valueOf(right) - valueOf(extra), curve.r);
    const wire = row === rowCount - 1 ? 1 : values.length;
    if (wire === 1) values[1] = value;
    else values.push(value);
    a.push(left);
    b.push(right);
    c.push([...extra, [wire, 1n] as const].sort(([x], [y]) => x - y));
  }
  return fixture(curve, { a, b, c }, { outputs: 1, publicInputs: 1 }, values);
}

/**
 * Rows whose terms cancel or have the factor 0: 3 (x + 2 y) = 3 x + z, (0 x + y) y = w, and 0 y = 0 x in two ways, from
 * a private x and y to a public w.
 */
export function cancellingFixture(x: bigint, y: bigint): Fixture {
  const [one, zero]: [Row, Row] = [[[0, 1n]], [[0, 0n]]];
  // wires: 1, w, x, y, z
  const a: Row[] = [[[0, 3n]], [[2, 0n], [3, 1n]], zero, [[2, 0n]]]; // prettier-ignore
  const b: Row[] = [[[2, 1n], [3, 2n]], [[3, 1n]], [[3, 1n]], one]; // prettier-ignore
  const c: Row[] = [[[2, 3n], [4, 1n]], [[1, 1n]], [[2, 0n]], zero]; // prettier-ignore
  const values = [1n, y * y, x, y, 6n * y].map((value) => reduce(value, BN254.r));
  return fixture(BN254, { a, b, c }, { outputs: 1, publicInputs: 0 }, values);
}

/** A witness with one wire changed by one. */
export function spoilWitness(witness: Uint8Array, wire: number): Uint8Array {
  const spoiled = Uint8Array.from(witness);
  spoiled[wire * 32] = spoiled[wire * 32]! ^ 1;
  return spoiled;
}

/** The `.r1cs` file of a fixture's circuit. */
export function r1csFile({ r1cs }: Fixture): Uint8Array {
  const u32 = (...values: readonly number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);
  const section = (type: number, ...parts: readonly Uint8Array[]): Buffer => {
    const content = Buffer.concat(parts);
    return Buffer.concat([u32(type, content.length, 0), content]);
  };
  const row = (matrix: R1csMatrix, index: number): Buffer => {
    const [from, to] = [matrix.rowOffsets[index]!, matrix.rowOffsets[index + 1]!];
    const terms = Array.from({ length: to - from }, (_, i) => [
      u32(matrix.wires[from + i]!),
      matrix.coefficients.subarray((from + i) * 32, (from + i + 1) * 32),
    ]);
    return Buffer.concat([u32(to - from), ...terms.flat()]);
  };
  const { a, b, c } = r1cs.constraints;
  return Uint8Array.from(
    Buffer.concat([
      Buffer.from("r1cs"),
      u32(1, 3),
      section(
        1,
        u32(32),
        scalarBytesUnreduced(r1cs.prime),
        u32(
          r1cs.wireCount,
          r1cs.outputCount,
          r1cs.publicInputCount,
          r1cs.privateInputCount,
          r1cs.labelCount,
          0,
          r1cs.constraintCount,
        ),
      ),
      section(
        2,
        ...Array.from({ length: r1cs.constraintCount }, (_, i) => Buffer.concat([row(a, i), row(b, i), row(c, i)])),
      ),
      section(3, ...Array.from(r1cs.wireLabels, (label) => u32(label, 0))),
    ]),
  );
}

export interface GnarkVectors {
  readonly proof: string;
  readonly verifyingKey: string;
  readonly publicSignals: readonly string[];
  readonly g2Generator: string;
  readonly g2OutsideSubgroup: string;
  readonly g2NoRoot: string;
  readonly g1NoRoot: string;
}

export function gnarkVectors(): GnarkVectors {
  return JSON.parse(
    readFileSync(new URL("../vectors/groth16-bn254-gnark.json", import.meta.url), "utf8"),
  ) as GnarkVectors;
}

/** Scalars as 32 bytes little-endian each. */
export function scalarBytes(values: readonly bigint[], curve: CurveParameters = BN254): Uint8Array {
  const bytes = new Uint8Array(values.length * 32);
  values.forEach((value, i) => {
    writeBigIntLE(reduce(value, curve.r), bytes, i * 32);
  });
  return bytes;
}

function scalarBytesUnreduced(value: bigint): Uint8Array {
  const bytes = new Uint8Array(32);
  writeBigIntLE(value, bytes);
  return bytes;
}

/** A generator with a printed seed (splitmix64), so that a failure can be repeated. */
export function seededRandom(name: string): {
  readonly seed: bigint;
  below(limit: bigint): bigint;
  integer(limit: number): number;
} {
  const seed = process.env.TEST_SEED === undefined ? randomBytes(8).readBigUInt64LE() : BigInt(process.env.TEST_SEED);
  console.log(`${name}: TEST_SEED=${String(seed)}`);
  let state = seed;
  const next = (): bigint => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let z = state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
  const below = (limit: bigint): bigint => {
    let value = 0n;
    for (let i = 0; i < 6; i += 1) value = (value << 64n) | next();
    return value % limit;
  };
  return { seed, below, integer: (limit) => Number(below(BigInt(limit))) };
}

function fixture(
  curve: CurveParameters,
  rows: { readonly a: readonly Row[]; readonly b: readonly Row[]; readonly c: readonly Row[] },
  counts: { readonly outputs: number; readonly publicInputs: number },
  values: readonly bigint[],
): Fixture {
  const publicCount = counts.outputs + counts.publicInputs;
  return {
    r1cs: {
      fieldBytes: 32,
      prime: curve.r,
      wireCount: values.length,
      outputCount: counts.outputs,
      publicInputCount: counts.publicInputs,
      privateInputCount: 1,
      labelCount: values.length,
      constraintCount: rows.a.length,
      constraints: { a: matrixOf(curve, rows.a), b: matrixOf(curve, rows.b), c: matrixOf(curve, rows.c) },
      wireLabels: Uint32Array.from(values.keys()),
    },
    witness: scalarBytes(values, curve),
    publicSignals: values.slice(1, publicCount + 1),
  };
}

function matrixOf(curve: CurveParameters, rows: readonly Row[]): R1csMatrix {
  const terms = rows.flat();
  const rowOffsets = new Uint32Array(rows.length + 1);
  rows.forEach((row, i) => {
    rowOffsets[i + 1] = rowOffsets[i]! + row.length;
  });
  return {
    rowOffsets,
    wires: Uint32Array.from(terms, ([wire]) => wire),
    coefficients: scalarBytes(
      terms.map(([, coefficient]) => coefficient),
      curve,
    ),
  };
}
