/**
 * Direct single-party Groth16 setup from an R1CS, without powers of tau (Groth 2016, eprint 2016/260, section 3.1),
 * into the format of snarkjs. Whoever runs it could keep the trapdoor: run it in a process that ends afterwards, and
 * label its keys single-party.
 */
import { primeCurve } from "../backends/snarkjs.js";
import type { R1cs } from "../circuit/r1cs.js";
import { curveOfScalarField } from "../curves/curves.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { cutIntoJobs, runInline } from "./fixed-base-work.js";
import type { FixedBaseExecutor, FixedBaseJob } from "./fixed-base-work.js";
import { PUBLIC_SIGNALS_MAX } from "./proof.js";
import type { Groth16VerifyingKey } from "./proof.js";
import { readProvingKey, verifyingKeyOf } from "./proving-key.js";
import { selfTestSetup } from "./setup-self-test.js";
import type { SelfTestResult } from "./setup-self-test.js";
import { SetupScalars, drawTrapdoor, scalarLayout } from "./setup-scalars.js";
import type { Trapdoor } from "./setup-scalars.js";
import { groth16KeyBytes } from "../kernels/groth16/build-resident-key.js";
import { fitsKeyMemory, sizingKernels } from "../kernels/threads/key-memory.js";
import { DOMAIN_POWER_MAX, sectionBytes } from "./zkey-layout.js";
import { writeCoefficients, writeZkeyFrame, zkeyCountsOf } from "./zkey-writer.js";
import type { ZkeyFrame, ZkeyHeaderPoints } from "./zkey-writer.js";

export interface SetupOptions {
  /** The curve that the circuit must be over; any supported one by default. */
  readonly curve?: CurveParameters;
  /** How the points are computed; inline by default, on several threads in the setup process. */
  readonly execute?: FixedBaseExecutor;
  /** Called with the share that is done, 0 to 1, never decreasing. */
  readonly onProgress?: (share: number) => void;
}

export interface SetupResult {
  /** A snarkjs `.zkey` file. */
  readonly zkey: Uint8Array;
  readonly verifyingKey: Groth16VerifyingKey;
  /** Result of the gates that need the trapdoor; a key that fails must not be used. */
  readonly selfTest: SelfTestResult;
  readonly timings: { readonly scalarsMs: number; readonly pointsMs: number; readonly selfTestMs: number };
}

/** The circuit is not one that this setup can make a key for. */
export class SetupInputError extends Error {
  override readonly name = "SetupInputError";
}

/** Shares of the whole at which the steps end, measured on a circuit of 60,000 constraints. */
const PROGRESS = { scalars: 0.05, points: 0.75 } as const;

/**
 * Makes a key pair for a circuit. About 3 s for 60,000 constraints on two threads; memory about twice the key's size.
 * @throws SetupInputError when the circuit is over the field of no supported curve, or too large
 * @throws KeyTooLargeError when its coefficients alone make the key too large for one memory
 */
export async function setupGroth16(r1cs: R1cs, options: SetupOptions = {}): Promise<SetupResult> {
  const report = options.onProgress ?? ((): void => undefined);
  const counts = zkeyCountsOf(r1cs);
  const curve = requireSetupInput(r1cs, options.curve);
  const program = await primeCurve(curve.name);
  const kernels = await loadReferenceKernels(curve);
  const startedAt = performance.now();

  const trapdoor = drawTrapdoor(curve, counts.domainPower);
  const scalars = new SetupScalars(program, curve, { r1cs, domainPower: counts.domainPower }, trapdoor);
  const layout = scalarLayout(counts.wireCount, counts.domainPower);
  const secret = new SharedArrayBuffer(layout.end);
  try {
    scalars.fill(secret, layout);
    const frame = writeZkeyFrame(curve, r1cs, headerPoints(kernels, trapdoor));
    const zkey = new Uint8Array(frame.buffer);
    writeCoefficients(program, curve, r1cs, zkey.subarray(frame.at.coefficients, frame.at.a - 12));
    const scalarsAt = performance.now();
    report(PROGRESS.scalars);

    const jobs = planJobs(curve, r1cs, frame);
    let done = 0;
    await (options.execute ?? runInline)(
      {
        curve: curve.name,
        jobs,
        scalars: secret,
        output: frame.buffer,
        next: new SharedArrayBuffer(4),
        isChecked: true,
      },
      () => {
        done += 1;
        report(PROGRESS.scalars + (PROGRESS.points - PROGRESS.scalars) * (done / jobs.length));
      },
    );
    const pointsAt = performance.now();

    const key = readProvingKey(zkey);
    const verifyingKey = verifyingKeyOf(key);
    const selfTest = selfTestSetup(kernels, key, {
      residue: (witness) => scalars.residue(witness),
      delta: trapdoor.delta,
    });
    const endedAt = performance.now();
    report(1);
    return {
      zkey,
      verifyingKey,
      selfTest,
      timings: { scalarsMs: scalarsAt - startedAt, pointsMs: pointsAt - scalarsAt, selfTestMs: endedAt - pointsAt },
    };
  } finally {
    new Uint8Array(secret).fill(0);
    scalars.wipe();
  }
}

/**
 * Returns the curve of a circuit that may have a key.
 * @param wanted the curve that it must be over; any supported one by default
 * @throws SetupInputError as `setupGroth16`
 */
export function requireSetupInput(r1cs: R1cs, wanted?: CurveParameters): CurveParameters {
  const counts = zkeyCountsOf(r1cs);
  const curve = curveOfScalarField(r1cs.prime);
  if (wanted !== undefined && wanted !== curve)
    throw new SetupInputError(`the circuit is not over the scalar field of ${wanted.name}`);
  if (curve === undefined) throw new SetupInputError("the circuit is over the scalar field of no supported curve");
  if (counts.domainPower > DOMAIN_POWER_MAX)
    throw new SetupInputError(`the circuit has more than 2^${String(DOMAIN_POWER_MAX)} rows`);
  if (counts.publicCount > PUBLIC_SIGNALS_MAX)
    throw new SetupInputError(`the circuit has more than ${String(PUBLIC_SIGNALS_MAX)} public signals`);
  requireRoom(curve, r1cs);
  return curve;
}

/** A key that no memory holds whatever its coefficients are is refused before it is made. */
function requireRoom(curve: CurveParameters, r1cs: R1cs): void {
  const { a, b } = r1cs.constraints;
  const counts = zkeyCountsOf(r1cs);
  const lengths = sectionBytes(counts, curve);
  const bytes = groth16KeyBytes(sizingKernels({ curve }), {
    ...{ wireCount: counts.wireCount, domainPower: counts.domainPower, distinctCount: 1 },
    termCount: a.wires.length + b.wires.length,
    g1Bytes: lengths.a + lengths.b1 + lengths.c + lengths.h,
    g2Bytes: lengths.b2,
  });
  if (!fitsKeyMemory(bytes, { curve, workspaces: 1 }))
    throw new SetupInputError("proving with the circuit's key takes more than the 4 GiB of one memory");
}

function headerPoints(kernels: CurveKernels, trapdoor: Trapdoor): ZkeyHeaderPoints {
  const { generatorG1, generatorG2 } = kernels.curve;
  const g1 = (scalar: bigint): G1Point => finite(kernels.combineG1([{ point: generatorG1, scalar }]));
  const g2 = (scalar: bigint): G2Point => finite(kernels.combineG2([{ point: generatorG2, scalar }]));
  return {
    alphaG1: g1(trapdoor.alpha),
    betaG1: g1(trapdoor.beta),
    betaG2: g2(trapdoor.beta),
    gammaG2: g2(trapdoor.gamma),
    deltaG1: g1(trapdoor.delta),
    deltaG2: g2(trapdoor.delta),
  };
}

function finite<Point>(point: Point | undefined): Point {
  if (point === undefined) throw new Error("a non-zero multiple of a generator is infinity");
  return point;
}

/** G2 first: its jobs are the longest, and the short ones then even out the threads. */
function planJobs(curve: CurveParameters, r1cs: R1cs, frame: ZkeyFrame): FixedBaseJob[] {
  const { wireCount, publicCount, domainPower } = zkeyCountsOf(r1cs);
  const layout = scalarLayout(wireCount, domainPower);
  const { at } = frame;
  const publicScalars = (publicCount + 1) * curve.frBytes;
  return [
    { group: "G2", scalarsAt: layout.b, outputAt: at.b2, count: wireCount } as const,
    { group: "G1", scalarsAt: layout.a, outputAt: at.a, count: wireCount } as const,
    { group: "G1", scalarsAt: layout.b, outputAt: at.b1, count: wireCount } as const,
    { group: "G1", scalarsAt: layout.k, outputAt: at.ic, count: publicCount + 1 } as const,
    { group: "G1", scalarsAt: layout.k + publicScalars, outputAt: at.c, count: wireCount - publicCount - 1 } as const,
    { group: "G1", scalarsAt: layout.h, outputAt: at.h, count: 2 ** domainPower } as const,
  ].flatMap((run) => cutIntoJobs(run, curve));
}
