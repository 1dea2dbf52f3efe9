/**
 * Groth16 proving (Groth 2016, eprint 2016/260, section 3.2) from a witness. Does not check that the witness satisfies
 * the circuit: the caller verifies every proof before it leaves the server.
 */
import type { AnyCurve } from "../curves/curve-parameters.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { randomNonZero, readBigIntLE } from "../field/bytes.js";
import { reduce } from "../field/prime-field.js";
import type { Groth16Proof } from "./proof.js";
import type { Groth16ProvingKey } from "./proving-key.js";

/** The witness has the wrong length, a value out of the field, or does not begin with one. */
export class WitnessFormatError extends Error {
  override readonly name = "WitnessFormatError";
}

/**
 * Makes a proof with fresh blinding, so that two proofs of one witness differ and neither says anything about it.
 * @param witness the full assignment, 32 bytes little-endian per wire, each below r, wire 0 being one
 * @throws WitnessFormatError when the witness does not have that form
 */
export async function proveGroth16(key: Groth16ProvingKey, witness: Uint8Array): Promise<Groth16Proof> {
  checkWitness(key, witness);
  const kernels = await loadReferenceKernels(key.curve);
  const r = randomNonZero(key.curve.r),
    s = randomNonZero(key.curve.r);
  return assembleProof(kernels, key, witness, { r, s });
}

/**
 * Computes the proof for given blinding factors. Exported because the tests hold the kernels against it.
 * @param blinding random scalars in [1, r)
 */
export function assembleProof(
  kernels: CurveKernels,
  key: Groth16ProvingKey,
  witness: Uint8Array,
  blinding: { readonly r: bigint; readonly s: bigint },
): Groth16Proof {
  const { r, s } = blinding;
  const quotient = kernels.quotientOnCoset(key.coefficients, witness);
  const h = kernels.msmG1(key.hPoints, quotient);
  const a = kernels.combineG1([
    { point: kernels.msmG1(key.aPoints, witness), scalar: 1n },
    { point: key.alphaG1, scalar: 1n },
    { point: key.deltaG1, scalar: r },
  ]);
  const b = kernels.combineG2([
    { point: kernels.msmG2(key.b2Points, witness), scalar: 1n },
    { point: key.betaG2, scalar: 1n },
    { point: key.deltaG2, scalar: s },
  ]);
  const b1 = kernels.combineG1([
    { point: kernels.msmG1(key.b1Points, witness), scalar: 1n },
    { point: key.betaG1, scalar: 1n },
    { point: key.deltaG1, scalar: s },
  ]);
  const privateWitness = witness.subarray((key.publicCount + 1) * key.curve.frBytes);
  const c = kernels.combineG1([
    { point: kernels.msmG1(key.cPoints, privateWitness), scalar: 1n },
    { point: h, scalar: 1n },
    { point: a, scalar: s },
    { point: b1, scalar: r },
    { point: key.deltaG1, scalar: reduce(-r * s, key.curve.r) },
  ]);
  // With random blinding each of these is infinity with probability 2^-254; a key made of identities would do it too.
  if (a === undefined || b === undefined || c === undefined)
    throw new Error("a proof element is the point at infinity: the proving key is degenerate");
  return { curve: key.curve.name, a, b, c };
}

/** Returns the public signals of a witness: outputs, then public inputs. */
export function publicSignalsOf(
  key: { readonly curve: AnyCurve; readonly publicCount: number },
  witness: Uint8Array,
): bigint[] {
  return Array.from({ length: key.publicCount }, (_, i) =>
    readBigIntLE(witness, (i + 1) * key.curve.frBytes, key.curve.frBytes),
  );
}

/**
 * Checks the form of a witness.
 * @throws WitnessFormatError unless the witness has one value below r per wire, wire 0 being one
 */
export function checkWitness(key: { readonly curve: AnyCurve; readonly wireCount: number }, witness: Uint8Array): void {
  const { frBytes } = key.curve;
  if (witness.length !== key.wireCount * frBytes) throw new WitnessFormatError("the witness has a wrong length");
  const topWord = Number(key.curve.r >> BigInt(8 * (frBytes - 4)));
  const view = new DataView(witness.buffer, witness.byteOffset, witness.byteLength);
  for (let at = 0; at < witness.length; at += frBytes) {
    // Almost every value is decided by its top word; the rare tie is settled exactly.
    const top = view.getUint32(at + frBytes - 4, true);
    if (top > topWord || (top === topWord && !isBelow(witness, at, key.curve)))
      throw new WitnessFormatError("a witness value is not below the field's modulus");
  }
  if (readBigIntLE(witness, 0, frBytes) !== 1n) throw new WitnessFormatError("wire 0 of the witness is not one");
}

function isBelow(witness: Uint8Array, at: number, curve: AnyCurve): boolean {
  return readBigIntLE(witness, at, curve.frBytes) < curve.r;
}
