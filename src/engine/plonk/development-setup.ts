/**
 * A universal setup for PLONK by a single party, for development: whoever runs it could keep the secret and forge
 * proofs. Run it in a process that ends afterwards, and label its keys single-party.
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import { rootOfUnity } from "../curves/curve-parameters.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import type { G2Point } from "../curves/points.js";
import { randomNonZero, writeBigIntLE } from "../field/bytes.js";
import { power } from "../field/prime-field.js";
import { cutIntoJobs, runInline } from "../groth16/fixed-base-work.js";
import type { FixedBaseExecutor } from "../groth16/fixed-base-work.js";
import { SCALAR_BYTES } from "../reference/signed-digits.js";
import { EXTRA_POWERS } from "../kernels/plonk/plonk-key.js";
import { lagrangeValues } from "./lagrange.js";

/** Points of a setup, as `PlonkSetupPoints` of the kernels names them. */
interface DevelopmentSetup {
  readonly powers: Uint8Array;
  readonly lagrange: Uint8Array;
  readonly tauG2: G2Point;
}

/**
 * Makes the points for a domain of 2^domainPower gates: about a second for 2^15 on one thread.
 * @param options.execute how the points are computed; inline by default
 */
export async function makeDevelopmentSetup(
  kernels: CurveKernels,
  domainPower: number,
  options: { readonly execute?: FixedBaseExecutor } = {},
): Promise<DevelopmentSetup> {
  const { curve } = kernels;
  const size = 2 ** domainPower;
  const counts = { powers: size + EXTRA_POWERS, lagrange: size };
  const pointBytes = 2 * curve.fqBytes;
  const secret = new SharedArrayBuffer((counts.powers + counts.lagrange) * curve.frBytes);
  const output = new SharedArrayBuffer((counts.powers + counts.lagrange) * pointBytes);
  try {
    const tau = drawSecret(curve, size);
    writeScalars(new Uint8Array(secret), [
      ...powersOf(tau, counts.powers, curve),
      ...lagrangeAt(tau, domainPower, curve),
    ]);
    const count = counts.powers + counts.lagrange;
    const jobs = cutIntoJobs({ group: "G1", scalarsAt: 0, outputAt: 0, count }, curve);
    const work = { curve: curve.name, jobs, scalars: secret, output, next: new SharedArrayBuffer(4) };
    await (options.execute ?? runInline)(work, () => undefined);
    const tauG2 = kernels.combineG2([{ point: curve.generatorG2, scalar: tau }]);
    if (tauG2 === undefined) throw new Error("a non-zero multiple of a generator is infinity");
    const points = new Uint8Array(output);
    const split = counts.powers * pointBytes;
    return { powers: points.slice(0, split), lagrange: points.slice(split), tauG2 };
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

function powersOf(tau: bigint, count: number, { r }: CurveParameters): bigint[] {
  const powers = [1n];
  for (let i = 1; i < count; i += 1) powers.push(((powers[i - 1] ?? 0n) * tau) % r);
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
