/**
 * A universal setup for PLONK or FFLONK by a single party, for development: whoever runs it could keep the secret and
 * forge proofs. Run it in a process that ends afterwards, and label its keys single-party.
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import type { G2Point } from "../curves/points.js";
import { randomNonZero, writeBigIntLE } from "../field/bytes.js";
import { power } from "../field/prime-field.js";
import { cutIntoJobs, runInline } from "../groth16/fixed-base-work.js";
import type { FixedBaseExecutor } from "../groth16/fixed-base-work.js";
import { EXTRA_POWERS } from "../kernels/plonk/resident-circuit.js";
import { SCALAR_BYTES } from "../reference/signed-digits.js";
import { lagrangeValues } from "./lagrange.js";

/** The powers of a setup's secret in G1, and the secret in G2: all that FFLONK takes. */
interface DevelopmentPowers {
  readonly powers: Uint8Array;
  readonly tauG2: G2Point;
}

/** Points of a setup, as `PlonkSetupPoints` of the kernels names them. */
interface DevelopmentSetup extends DevelopmentPowers {
  readonly lagrange: Uint8Array;
}

interface SetupOptions {
  /** How the points are computed; inline by default. */
  readonly execute?: FixedBaseExecutor;
}

/** Makes the points for PLONK on a domain of 2^domainPower gates: about a second for 2^15 on one thread. */
export async function makeDevelopmentSetup(
  kernels: CurveKernels,
  domainPower: number,
  options: SetupOptions = {},
): Promise<DevelopmentSetup> {
  const { curve } = kernels;
  const size = 2 ** domainPower;
  const powerCount = size + EXTRA_POWERS;
  const { points, tauG2 } = await makePoints(kernels, options, (order) => {
    const tau = drawSecret(curve, size);
    return { tau, scalars: [...powersOf(tau, powerCount, order), ...lagrangeAt(tau, domainPower, curve)] };
  });
  const split = powerCount * 2 * curve.fqBytes;
  return { powers: points.slice(0, split), lagrange: points.slice(split), tauG2 };
}

/** Makes the first `count` powers: about half a second for 2^15 on one thread. */
export async function makeDevelopmentPowers(
  kernels: CurveKernels,
  count: number,
  options: SetupOptions = {},
): Promise<DevelopmentPowers> {
  const { points, tauG2 } = await makePoints(kernels, options, (order) => {
    const tau = randomNonZero(order);
    return { tau, scalars: powersOf(tau, count, order) };
  });
  return { powers: points, tauG2 };
}

/** Multiplies the generator by each scalar, and wipes the scalars. */
async function makePoints(
  kernels: CurveKernels,
  { execute = runInline }: SetupOptions,
  draw: (order: bigint) => { readonly tau: bigint; readonly scalars: readonly bigint[] },
): Promise<{ readonly points: Uint8Array; readonly tauG2: G2Point }> {
  const { curve } = kernels;
  const { tau, scalars } = draw(curve.r);
  const secret = new SharedArrayBuffer(scalars.length * curve.frBytes);
  const output = new SharedArrayBuffer(scalars.length * 2 * curve.fqBytes);
  try {
    writeScalars(new Uint8Array(secret), scalars);
    const jobs = cutIntoJobs({ group: "G1", scalarsAt: 0, outputAt: 0, count: scalars.length }, curve);
    const work = { curve: curve.name, jobs, scalars: secret, output, next: new SharedArrayBuffer(4) };
    await execute(work, () => undefined);
    const tauG2 = kernels.combineG2([{ point: curve.generatorG2, scalar: tau }]);
    if (tauG2 === undefined) throw new Error("a non-zero multiple of a generator is infinity");
    return { points: new Uint8Array(output), tauG2 };
  } finally {
    new Uint8Array(secret).fill(0);
  }
}

/** Draws a secret that is no point of the domain, where a Lagrange polynomial would vanish. */
function drawSecret(curve: CurveParameters, size: number): bigint {
  for (;;) {
    const tau = randomNonZero(curve.r);
    if (power(tau, BigInt(size), curve.r) !== 1n) return tau;
  }
}

function powersOf(tau: bigint, count: number, order: bigint): bigint[] {
  const powers = [1n];
  for (let i = 1; i < count; i += 1) powers.push(((powers[i - 1] ?? 0n) * tau) % order);
  return powers;
}

function lagrangeAt(tau: bigint, domainPower: number, curve: CurveParameters): bigint[] {
  const size = 2n ** BigInt(domainPower);
  const root = rootOfUnity(curve, domainPower);
  return lagrangeValues({ xi: tau, xiToN: power(tau, size, curve.r), root, size, order: curve.r }, Number(size));
}

function writeScalars(into: Uint8Array, values: readonly bigint[]): void {
  for (const [i, value] of values.entries()) writeBigIntLE(value, into, i * SCALAR_BYTES);
}
