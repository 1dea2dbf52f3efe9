/**
 * A structured reference string by a single party, for development: whoever runs this could keep the secret and forge
 * proofs of every key that follows from it. Run it in a process that ends afterwards, and say so where its keys are
 * used.
 */
import type { CurveKernels } from "../curves/curve-kernels.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { decodeG1, equalG1 } from "../curves/points.js";
import type { G1Point } from "../curves/points.js";
import { randomNonZero, randomScalars, scalarsOf } from "../field/bytes.js";
import { inverse, power as powerOf } from "../field/prime-field.js";
import { cutIntoJobs, runInline } from "../groth16/fixed-base-work.js";
import type { FixedBaseExecutor } from "../groth16/fixed-base-work.js";
import { G1Sums } from "../kernels/msm/g1-sums.js";
import { pointCountOf, writeReferenceString } from "../proof-systems/reference-string-file.js";
import type { ReferenceStringPoints } from "../proof-systems/reference-string-file.js";
import { lagrangeValues } from "./lagrange.js";

interface DevelopmentStringOptions {
  /** How the points are computed; inline by default. */
  readonly execute?: FixedBaseExecutor;
  readonly onProgress?: (share: number) => void;
}

/** Share of the whole at which the points are done; the rest checks them. */
const POINTS_SHARE = 0.8;
const WEIGHT_BYTES = 16;

/**
 * Makes and checks a string, and returns its file (reference-string-file.ts). About two seconds for power 15 on one
 * thread.
 * @throws Error when the points that were computed are not those of one secret
 */
export async function makeDevelopmentString(
  kernels: CurveKernels,
  power: number,
  options: DevelopmentStringOptions = {},
): Promise<Uint8Array> {
  const report = options.onProgress ?? ((): void => undefined);
  const { curve } = kernels;
  const count = pointCountOf(power);
  const pointBytes = 2 * curve.fqBytes;
  const secret = new SharedArrayBuffer(2 * count * curve.frBytes);
  const output = new SharedArrayBuffer(2 * count * pointBytes);
  try {
    const tau = drawSecret(curve, power);
    fillScalars(new Uint8Array(secret), { tau, power, curve });
    const jobs = cutIntoJobs({ group: "G1", scalarsAt: 0, outputAt: 0, count: 2 * count }, curve);
    let done = 0;
    const work = { curve: curve.name, jobs, scalars: secret, output, next: new SharedArrayBuffer(4), isChecked: true };
    await (options.execute ?? runInline)(work, () => {
      done += 1;
      report((POINTS_SHARE * done) / jobs.length);
    });
    const tauG2 = kernels.combineG2([{ point: curve.generatorG2, scalar: tau }]);
    if (tauG2 === undefined) throw new Error("a non-zero multiple of a generator is infinity");
    const bytes = new Uint8Array(output);
    const split = count * pointBytes;
    const points = { power, powersG1: bytes.slice(0, split), lagrangeG1: bytes.slice(split), tauG2 };
    if (!areOneSecrets(kernels, points)) throw new Error("the new reference string does not hold together");
    report(1);
    return writeReferenceString(points, curve);
  } finally {
    new Uint8Array(secret).fill(0);
  }
}

/**
 * Tells whether the points are those of one secret that is no point of a domain. By a random combination each power is
 * tau times the one before. The Lagrange points of each domain give the same commitment to the polynomial
 * 1 + g X + g^2 X^2 + ... as the powers do; its value at x is (g^n - 1) / (g x - 1), and for a random g a wrong point
 * escapes with probability n / r. The domains are checked together, each times a random weight.
 */
function areOneSecrets(kernels: CurveKernels, points: ReferenceStringPoints): boolean {
  const { curve } = kernels;
  const { powersG1, lagrangeG1, tauG2, power } = points;
  const pointBytes = 2 * curve.fqBytes;
  const count = pointCountOf(power);
  if (powersG1.length !== count * pointBytes || lagrangeG1.length !== count * pointBytes) return false;
  const first = decodeG1(powersG1, 0, curve);
  if (first === undefined || !equalG1(first, curve.generatorG1)) return false;
  if (![powersG1, lagrangeG1].every((bytes) => areFiniteOnCurve(kernels, bytes))) return false;
  if (!kernels.isInSubgroupG2(tauG2)) return false;
  const sums = new G1Sums(curve, count);
  const sum = (of: Uint8Array, scalars: Uint8Array): G1Point | undefined =>
    kernels.combineG1(sums.partsOf(of, scalars).map((point) => ({ point, scalar: 1n })));
  const weights = randomWeights(count - 1, curve);
  const lower = sum(powersG1.subarray(0, -pointBytes), weights);
  const upper = sum(powersG1.subarray(pointBytes), weights);
  if (lower === undefined || upper === undefined) return false;
  const isChain = kernels.equalPairingValues(
    kernels.pairingProduct([{ g1: lower, g2: tauG2 }]),
    kernels.pairingProduct([{ g1: upper, g2: curve.generatorG2 }]),
  );
  const { values, coefficients } = polynomialOf(power, curve);
  const left = sum(lagrangeG1, values);
  const right = sum(powersG1.subarray(0, 2 ** power * pointBytes), coefficients);
  return isChain && left !== undefined && right !== undefined && equalG1(left, right);
}

function areFiniteOnCurve(kernels: CurveKernels, points: Uint8Array): boolean {
  const { infinities, isOnCurve } = kernels.surveyG1(points);
  return infinities === 0 && isOnCurve;
}

/** Random scalars of 128 bits. */
function randomWeights(count: number, { frBytes }: CurveParameters): Uint8Array {
  return randomScalars(count, { length: frBytes, randomLength: WEIGHT_BYTES });
}

/** The sum of 1 + g X + g^2 X^2 + ... over all domains, each times a weight: its values on each, and coefficients. */
function polynomialOf(
  power: number,
  curve: CurveParameters,
): { readonly values: Uint8Array; readonly coefficients: Uint8Array } {
  const { r } = curve;
  const g = randomNonZero(r);
  const xi = inverse(g, r);
  const values: bigint[] = [];
  const weights = Array.from({ length: power + 1 }, () => randomNonZero(r));
  for (const [domainPower, weight] of weights.entries()) {
    const size = 2n ** BigInt(domainPower);
    const root = rootOfUnity(curve, domainPower);
    // L_i(1/g) = w^i (g^-n - 1) / (n (1/g - w^i)), so that (g^n - 1) / (g w^i - 1) = n g^(n-1) w^-i L_i(1/g).
    const lagrange = lagrangeValues({ xi, xiToN: powerOf(xi, size, r), root, size, order: r }, Number(size));
    const inverseRoot = inverse(root, r);
    let scale = (weight * size * powerOf(g, size - 1n, r)) % r;
    for (const value of lagrange) {
      values.push((value * scale) % r);
      scale = (scale * inverseRoot) % r;
    }
  }
  // The coefficient of X^j is g^j for each domain that is larger than j.
  let domainPower = 0;
  let weight = weights.reduce((total, each) => total + each, 0n) % r;
  const coefficients = powersOf(g, 2 ** power, curve).map((each, j) => {
    for (; 2 ** domainPower <= j; domainPower += 1) weight = (weight + r - (weights[domainPower] ?? 0n)) % r;
    return (each * weight) % r;
  });
  return { values: scalarsOf(values, curve.frBytes), coefficients: scalarsOf(coefficients, curve.frBytes) };
}

/** Draws a secret that is no point of a domain, where a Lagrange polynomial would vanish. */
function drawSecret(curve: CurveParameters, power: number): bigint {
  for (;;) {
    const tau = randomNonZero(curve.r);
    if (powerOf(tau, 2n ** BigInt(power), curve.r) !== 1n) return tau;
  }
}

function fillScalars(
  into: Uint8Array,
  { tau, power, curve }: { readonly tau: bigint; readonly power: number; readonly curve: CurveParameters },
): void {
  const count = pointCountOf(power);
  into.set(scalarsOf(powersOf(tau, count, curve), curve.frBytes));
  for (let domainPower = 0; domainPower <= power; domainPower += 1) {
    const size = 2n ** BigInt(domainPower);
    const root = rootOfUnity(curve, domainPower);
    const at = { xi: tau, xiToN: powerOf(tau, size, curve.r), root, size, order: curve.r };
    into.set(scalarsOf(lagrangeValues(at, Number(size)), curve.frBytes), (count + Number(size) - 1) * curve.frBytes);
  }
}

function powersOf(base: bigint, count: number, { r }: CurveParameters): bigint[] {
  const powers = [1n];
  for (let i = 1; i < count; i += 1) powers.push(((powers[i - 1] ?? 0n) * base) % r);
  return powers;
}
