/**
 * The gate of a key that comes from elsewhere and whose powers of tau the server has: every point of the key against
 * the string and the circuit, as `snarkjs zkey verify` does, by random linear combination. Without the string a key can
 * be sound and yet be no key of its circuit's C, or of an H that is not the domain's; with it nothing is left but the
 * question who knows the secrets.
 *
 * With random weights w_i for the wires, sum w_i A_i is the commitment to the polynomial that has the values
 * sum w_i a_ij on the domain, which is computed from the circuit; so for B, and together for IC and C.
 */
import { randomBytes } from "node:crypto";
import { COEFFICIENT_BYTES } from "../circuit/r1cs.js";
import type { R1cs, R1csMatrix } from "../circuit/r1cs.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { decodeG1, equalG1, equalG2 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { readBigIntLE, writeBigIntLE } from "../field/bytes.js";
import { interpolate } from "../field/interpolate.js";
import type { Groth16ProvingKey } from "./proving-key.js";

/** The part of a checked powers-of-tau file that a key follows from; points in the form of snarkjs' files. */
export interface Phase1Powers {
  readonly curve: CurveParameters;
  /** There are 2^(power + 1) - 1 powers of tau, and 2^power of the others. */
  readonly power: number;
  readonly betaG2: G2Point;
  /** Returns the first `count` of tau^i, alpha tau^i or beta tau^i times the generator of G1. */
  powers(name: "tau" | "alphaTau" | "betaTau", count: number): Uint8Array;
}

/** 2^-128 for a wrong point. */
const WEIGHT_BYTES = 16;

/**
 * Returns what in the key does not follow from string and circuit; undefined when everything does. About 10 s for 2^16
 * constraints.
 */
export function findForeignPoints(
  kernels: CurveKernels,
  { key, r1cs }: { readonly key: Groth16ProvingKey; readonly r1cs: R1cs },
  string: Phase1Powers,
): string | undefined {
  return (
    findForeignHeader(key, string) ??
    findWrongWires(kernels, { key, r1cs }, string) ??
    findWrongQuotient(kernels, key, string)
  );
}

/** Returns what in the key's header is not the string's, which takes no time. */
export function findForeignHeader(key: Groth16ProvingKey, string: Phase1Powers): string | undefined {
  if (string.curve !== key.curve || string.power < key.domainPower)
    return "the powers-of-tau file is too small for the key, or over another curve";
  const first = (name: "alphaTau" | "betaTau"): G1Point | undefined => decodeG1(string.powers(name, 1), 0, key.curve);
  const [alpha, beta] = [first("alphaTau"), first("betaTau")];
  if (alpha === undefined || !equalG1(alpha, key.alphaG1)) return "alpha is not that of the powers-of-tau file";
  if (beta === undefined || !equalG1(beta, key.betaG1) || !equalG2(string.betaG2, key.betaG2))
    return "beta is not that of the powers-of-tau file";
  return undefined;
}

function findWrongWires(
  kernels: CurveKernels,
  { key, r1cs }: { readonly key: Groth16ProvingKey; readonly r1cs: R1cs },
  string: Phase1Powers,
): string | undefined {
  const { curve, publicCount, wireCount, domainPower } = key;
  const weights = randomWeights(wireCount);
  const scalars = scalarsOf(weights, curve);
  const size = 2 ** domainPower;
  const root = rootOfUnity(curve, domainPower);
  const { a, b, c } = r1cs.constraints;
  const polynomial = (matrix: R1csMatrix): Uint8Array => {
    const values = new Array<bigint>(size).fill(0n);
    for (let row = 0; row < r1cs.constraintCount; row += 1) values[row] = rowSum(matrix, row, weights) % curve.r;
    // The rows behind the constraints, which bind the constant and the public signals in A.
    if (matrix === a) for (let i = 0; i <= publicCount; i += 1) values[r1cs.constraintCount + i] = weights[i] ?? 0n;
    interpolate(values, root, curve.r);
    return scalarsOf(values, curve);
  };
  const [left, right, result] = [polynomial(a), polynomial(b), polynomial(c)];
  const tau = string.powers("tau", size);
  const wires = kernels.msmG1(key.aPoints, scalars);
  if (!isSame(wires, kernels.msmG1(tau, left))) return "a point of A does not follow from circuit and powers of tau";
  if (!isSame(kernels.msmG1(key.b1Points, scalars), kernels.msmG1(tau, right)))
    return "a point of B does not follow from circuit and powers of tau";
  const expected = kernels.combineG1(
    [
      kernels.msmG1(string.powers("betaTau", size), left),
      kernels.msmG1(string.powers("alphaTau", size), right),
      kernels.msmG1(tau, result),
    ].map((point) => ({ point, scalar: 1n })),
  );
  const publicBytes = (publicCount + 1) * curve.frBytes;
  const open = kernels.msmG1(key.icPoints, scalars.subarray(0, publicBytes));
  const hidden = kernels.msmG1(key.cPoints, scalars.subarray(publicBytes));
  const arePaired = isProduct(kernels, expected, [
    [open, key.gammaG2],
    [hidden, key.deltaG2],
  ]);
  return arePaired ? undefined : "a point of IC or C does not follow from circuit and powers of tau";
}

/** H has the odd Lagrange points of the domain of 2 n, divided by delta. */
function findWrongQuotient(kernels: CurveKernels, key: Groth16ProvingKey, string: Phase1Powers): string | undefined {
  const { curve, domainPower } = key;
  const size = 2 ** domainPower;
  const weights = randomWeights(size);
  const values = Array.from({ length: 2 * size }, (_, i) => (i % 2 === 0 ? 0n : (weights[(i - 1) / 2] ?? 0n)));
  interpolate(values, rootOfUnity(curve, domainPower + 1), curve.r);
  const own = kernels.msmG1(key.hPoints, scalarsOf(weights, curve));
  const last = values.pop() ?? 0n;
  const most = kernels.msmG1(string.powers("tau", 2 * size - 1), scalarsOf(values, curve));
  // A file of exactly this power ends before the last power, and its Lagrange points take infinity in its place.
  const sums = [most];
  if (string.power > domainPower) {
    const pointBytes = 2 * curve.fqBytes;
    const top = decodeG1(string.powers("tau", 2 * size), (2 * size - 1) * pointBytes, curve);
    sums.push(kernels.combineG1([most, top].map((point, i) => ({ point, scalar: i === 0 ? 1n : last }))));
  }
  return sums.some((sum) => isProduct(kernels, sum, [[own, key.deltaG2]]))
    ? undefined
    : "a point of H does not follow from the powers of tau";
}

/** The weighted sum of a row's coefficients; not reduced. */
function rowSum(matrix: R1csMatrix, row: number, weights: readonly bigint[]): bigint {
  let sum = 0n;
  for (let i = matrix.rowOffsets[row] ?? 0; i < (matrix.rowOffsets[row + 1] ?? 0); i += 1)
    sum += readBigIntLE(matrix.coefficients, i * COEFFICIENT_BYTES) * (weights[matrix.wires[i] ?? 0] ?? 0n);
  return sum;
}

/** Tells whether e(point, G2) is the product of the pairs' pairings. */
function isProduct(
  kernels: CurveKernels,
  point: G1Point | undefined,
  pairs: readonly (readonly [G1Point | undefined, G2Point])[],
): boolean {
  const finite = pairs.flatMap(([g1, g2]) => (g1 === undefined ? [] : [{ g1, g2 }]));
  if (point === undefined || finite.length === 0) return point === undefined && finite.length === 0;
  return kernels.equalPairingValues(
    kernels.pairingProduct(finite),
    kernels.pairingProduct([{ g1: point, g2: kernels.curve.generatorG2 }]),
  );
}

function isSame(one: G1Point | undefined, two: G1Point | undefined): boolean {
  return one === undefined || two === undefined ? one === two : equalG1(one, two);
}

function randomWeights(count: number): bigint[] {
  const random = randomBytes(count * WEIGHT_BYTES);
  return Array.from({ length: count }, (_, i) => readBigIntLE(random, i * WEIGHT_BYTES, WEIGHT_BYTES));
}

function scalarsOf(values: readonly bigint[], { frBytes }: CurveParameters): Uint8Array {
  const bytes = new Uint8Array(values.length * frBytes);
  for (const [i, value] of values.entries()) writeBigIntLE(value, bytes, i * frBytes, frBytes);
  return bytes;
}
