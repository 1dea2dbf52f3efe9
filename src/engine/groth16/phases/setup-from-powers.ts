/**
 * A Groth16 setup whose phase 1 is a published powers-of-tau file, and whose phase 2 is one contribution that is made
 * here: whoever runs it could keep that one's secret, but nobody needs to trust it for tau, alpha and beta. The key is
 * the one that `snarkjs groth16 setup` and `snarkjs zkey contribute` make, and passes `snarkjs zkey verify`.
 */
import { primeCurve } from "../../backends/snarkjs.js";
import type { R1cs } from "../../circuit/r1cs.js";
import { loadReferenceKernels } from "../../reference/reference-kernels.js";
import type { CurveKernels } from "../../curves/curve-kernels.js";
import type { PowersOfTau } from "../../powers-of-tau/lagrange-points.js";
import type { PointRowOptions } from "../../powers-of-tau/point-row-work.js";
import { writeCoefficients, writeZkeyFrame } from "../zkey-writer.js";
import { makePhase1Key } from "./phase1.js";
import type { Phase1Key } from "./phase1.js";
import { contribute, divideByDelta, drawDelta, writeTranscript } from "./phase2.js";
import type { Delta, Phase2Transcript } from "./phase2.js";

/** Name of the contribution, which snarkjs prints. */
const CONTRIBUTOR = "Proofwright";
const PHASE1_SHARE = 0.85;

/**
 * Makes a key, a snarkjs `.zkey` file.
 * @throws RangeError when the file has fewer powers than the circuit's domain
 */
export async function setupFromPowers(
  r1cs: R1cs,
  powers: PowersOfTau,
  { executeRows, onProgress }: PointRowOptions = {},
): Promise<Uint8Array> {
  const kernels = await loadReferenceKernels(powers.layout.curve);
  const { generatorG1, generatorG2 } = kernels.curve;
  const threads = executeRows === undefined ? {} : { executeRows };
  const part = (from: number, to: number): PointRowOptions => ({
    ...threads,
    onProgress: (share) => onProgress?.(from + share * (to - from)),
  });
  const phase1 = await makePhase1Key(kernels, r1cs, powers, part(0, PHASE1_SHARE));
  const secret = drawDelta(kernels.curve);
  const started = { circuitHash: phase1.circuitHash, contributions: [] };
  const { transcript, delta } = contribute(
    kernels,
    { transcript: started, delta: { g1: generatorG1, g2: generatorG2 } },
    { secret },
    { name: CONTRIBUTOR },
  );
  const middle = (1 + PHASE1_SHARE) / 2;
  const c = await divideByDelta(kernels, phase1.c, secret, part(PHASE1_SHARE, middle));
  const h = await divideByDelta(kernels, phase1.h, secret, part(middle, 1));
  return await writeKey(kernels, r1cs, { ...phase1, c, h }, { transcript, delta });
}

/** Returns the file of a key with its coefficients and its transcript. */
export async function writeKey(
  { curve }: Pick<CurveKernels, "curve">,
  r1cs: R1cs,
  points: Omit<Phase1Key, "circuitHash">,
  { transcript, delta }: { readonly transcript: Phase2Transcript; readonly delta: Delta },
): Promise<Uint8Array> {
  const contributions = writeTranscript(transcript, curve);
  const header = { ...points.header, deltaG1: delta.g1, deltaG2: delta.g2 };
  const { buffer, at } = writeZkeyFrame(curve, r1cs, header, contributions);
  const zkey = new Uint8Array(buffer);
  writeCoefficients(await primeCurve(curve.name), curve, r1cs, zkey.subarray(at.coefficients, at.a - 12));
  for (const name of ["ic", "a", "b1", "b2", "c", "h"] as const) zkey.set(points[name], at[name]);
  return zkey;
}
