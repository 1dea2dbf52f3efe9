/**
 * The gates of a fresh key that need its trapdoor, and no satisfying witness. A proof made from a random assignment
 * misses the verification equation by a known amount (the assignment's residue at tau); with the trapdoor that amount
 * can be put back. If the corrected proof verifies, then A, B, C, H and IC belong to this circuit and to this verifying
 * key: a wrong point anywhere would have to cancel against random wire values. The corrected proof is a forgery by
 * construction and never leaves this function.
 */
import type { CurveKernels } from "../curves/curve-kernels.js";
import { randomNonZero, randomScalars } from "../field/bytes.js";
import { inverse } from "../field/prime-field.js";
import { forgeCanary } from "./canary.js";
import { ResidentProver } from "../kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../kernels/groth16/resident-proving.js";
import type { Groth16Proof } from "./proof.js";
import { publicSignalsOf } from "./prove.js";
import { verifyingKeyOf } from "./proving-key.js";
import type { Groth16ProvingKey } from "./proving-key.js";
import { prepareWith, verifyGroth16 } from "./verify.js";

export type SelfTestResult = { readonly ok: true } | { readonly ok: false; readonly message: string };

interface SelfTestSecrets {
  /** sum of (A w * B w - C w) * L(tau) over the constraints, for an assignment w. */
  readonly residue: (witness: Uint8Array) => bigint;
  readonly delta: bigint;
}

/**
 * Random bytes per wire: a wrong point escapes with probability 2^-32, and the test costs an eighth of one with
 * full-size values.
 */
const WIRE_BYTES = 4;

/** Runs the gates on a key; about the time of one proof. */
export function selfTestSetup(kernels: CurveKernels, key: Groth16ProvingKey, secrets: SelfTestSecrets): SelfTestResult {
  const { curve } = key;
  const witness = randomAssignment(key);
  const blinding = { r: randomNonZero(curve.r), s: randomNonZero(curve.r) };
  // On the kernels that will prove with the key, in a fifth of the reference's time; their faults fail the test, too.
  const uncorrected = proveResident(new ResidentProver(makeKeyResident(key, { workspaces: 1 })), witness, blinding);
  const shortfall = (secrets.residue(witness) * inverse(secrets.delta, curve.r)) % curve.r;
  const c = kernels.combineG1([
    { point: uncorrected.c, scalar: 1n },
    { point: curve.generatorG1, scalar: shortfall },
  ]);
  if (c === undefined) return { ok: false, message: "the corrected proof is degenerate" };
  const proof: Groth16Proof = { ...uncorrected, c };

  const prepared = prepareWith(kernels, verifyingKeyOf(key));
  const signals = publicSignalsOf(key, witness);
  if (!verifyGroth16(prepared, proof, signals)) return { ok: false, message: "the key does not belong to the circuit" };
  // A circuit without constraints is satisfied by any assignment.
  if (shortfall !== 0n && verifyGroth16(prepared, uncorrected, signals))
    return { ok: false, message: "a proof of an unsatisfied assignment verifies" };
  for (let i = 0; i < Math.min(signals.length, CHANGED_SIGNALS_MAX); i += 1) {
    const changed = signals.with(i, (signals[i] as bigint) === 0n ? 1n : (signals[i] as bigint) - 1n);
    // A public signal that no constraint reads has an IC point all the same: its own row in A.
    if (verifyGroth16(prepared, proof, changed))
      return { ok: false, message: `public signal ${String(i)} is not bound by the key` };
  }
  if (signals.length > 0 && verifyGroth16(prepared, proof, signals.slice(1)))
    return { ok: false, message: "a proof with a missing public signal verifies" };
  const canary = forgeCanary(kernels, prepared.key, signals);
  if (canary !== undefined && verifyGroth16(prepared, canary, signals))
    return { ok: false, message: "the canary forgery verifies: gamma equals delta" };
  return { ok: true };
}

/** Signals tried one by one; each costs a verification of 6 ms. */
const CHANGED_SIGNALS_MAX = 16;

function randomAssignment(key: Groth16ProvingKey): Uint8Array {
  const { frBytes } = key.curve;
  const witness = randomScalars(key.wireCount, { length: frBytes, randomLength: WIRE_BYTES });
  witness.fill(0, 0, frBytes);
  witness[0] = 1;
  return witness;
}
