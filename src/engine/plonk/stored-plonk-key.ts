/**
 * The gates of a PLONK key as it lies in the artifact store: what is checked is what is published. A key follows from
 * the circuit and the reference string, so each part of it is compared with what follows from these, the commitments
 * on integer arithmetic: another than the one that made them where the machine fuses multiply-add. If the circuit comes
 * with satisfying inputs, an honest proof is made and checked, too.
 */
import { isDeepStrictEqual } from "node:util";
import { readR1cs } from "../circuit/r1cs.js";
import type { PairingKernels } from "../curves/curve-kernels.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { equalG2 } from "../curves/points.js";
import { plonkVerifyingKeyFromJson, plonkVerifyingKeyToJson } from "../encoding/plonk-verifying-key.js";
import { randomNonZero } from "../field/bytes.js";
import { publicSignalsOf } from "../groth16/prove.js";
import { buildPlonkKey } from "../kernels/plonk/build-plonk-key.js";
import { BLINDING_COUNT } from "../kernels/plonk/plonk-layout.js";
import type { ResidentPlonkKey } from "../kernels/plonk/plonk-key.js";
import { EXTRA_POWERS } from "../kernels/plonk/resident-circuit.js";
import { PlonkProver } from "../kernels/plonk/plonk-prover.js";
import type { StoredKey, StoredKeyResult } from "../proof-systems/proof-system.js";
import { honestWitness } from "../proof-systems/published-key.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { PlonkKeyFormatError, readPlonkKey } from "./key-file.js";
import type { PlonkProvingKey } from "./key-file.js";
import { commitmentsOf } from "./key.js";
import type { PlonkProof } from "./key.js";
import { GateFailure, checkHonestProof, isSatisfied, passGates, randomAssignment } from "./key-gates.js";
import { findStringFault } from "./own-string.js";
import { gatesOf } from "./plonk-gates.js";
import { preparePlonkKey, verifyPlonk } from "./verify-plonk.js";
import type { PreparedPlonkKey } from "./verify-plonk.js";

/** Shares of the whole at which the gates end. */
const PROGRESS = { circuit: 0.2, verifyingKey: 0.6, forgeries: 0.8 } as const;

/** Runs all gates; the first that fails is the result. */
export async function checkPlonkKey(stored: StoredKey, pairing: PairingKernels): Promise<StoredKeyResult> {
  return await passGates(async () => {
    const { curve } = pairing;
    const report = stored.onProgress ?? ((): void => undefined);
    const key = readKey(stored, curve);
    await checkReferenceString(key, stored, curve);
    checkCircuit(key, stored);
    report(PROGRESS.circuit);
    const resident = checkVerifyingKey(key, stored, pairing);
    report(PROGRESS.verifyingKey);
    const prepared = preparePlonkKey(pairing, resident.verifyingKey);
    const prove = (witness: Uint8Array): PlonkProof => {
      const blinding = Array.from({ length: BLINDING_COUNT }, () => randomNonZero(curve.r));
      return new PlonkProver(resident, curve).prove(witness, blinding).proof;
    };
    checkForgeries(prepared, key, prove);
    report(PROGRESS.forgeries);
    if (stored.example !== undefined) {
      const witness = await honestWitness(stored.example);
      if (!witness.ok) throw new GateFailure("honest_proof", witness.message);
      const signals = publicSignalsOf({ curve, publicCount: key.gates.publicCount }, witness.value);
      const proof = prove(witness.value);
      checkHonestProof((given) => verifyPlonk(prepared, proof, given), signals);
    }
  });
}

/** Returns what no key may take for a proof: all points are the generator, all values 0. */
export function trivialPlonkProof({ name, generatorG1: point }: CurveParameters): PlonkProof {
  const wires = { a: point, b: point, c: point, z: point };
  const evaluations = { a: 0n, b: 0n, c: 0n, s1: 0n, s2: 0n, zOmega: 0n };
  return { curve: name, ...wires, t1: point, t2: point, t3: point, wXi: point, wXiOmega: point, evaluations };
}

function readKey(stored: StoredKey, curve: CurveParameters): PlonkProvingKey {
  try {
    return readPlonkKey(stored.provingKey, curve);
  } catch (error) {
    if (error instanceof PlonkKeyFormatError) throw new GateFailure("header", error.message);
    throw error;
  }
}

/** The string itself was checked when it was kept; one that came with the key is checked now. */
async function checkReferenceString(
  { points, domainPower, referenceString }: PlonkProvingKey,
  stored: StoredKey,
  curve: CurveParameters,
): Promise<void> {
  const { referenceString: string, executeRows } = stored;
  if (string === undefined && stored.isImported === true) {
    const fault = findStringFault(await loadReferenceKernels(curve), { ...points, domainPower });
    if (fault !== undefined) throw new GateFailure("reference_string", fault);
    return;
  }
  if (string === undefined) throw new GateFailure("reference_string", "the key's reference string is not at hand");
  const isSame =
    string.sha256 === referenceString &&
    string.power >= domainPower &&
    equalG2(points.tauG2, string.tauG2) &&
    Buffer.compare(points.powers, string.powersG1(2 ** domainPower + EXTRA_POWERS)) === 0 &&
    Buffer.compare(
      points.lagrange,
      await string.lagrangeG1(domainPower, executeRows === undefined ? {} : { executeRows }),
    ) === 0;
  if (!isSame) throw new GateFailure("reference_string", "the key's points are not those of its reference string");
}

function checkCircuit({ gates }: PlonkProvingKey, { r1cs }: StoredKey): void {
  if (!isDeepStrictEqual(gates, gatesOf(readR1cs(r1cs))))
    throw new GateFailure("circuit", "the key's gates are not the circuit's");
}

/** Commits to the circuit once more; returns the key in the form of the kernels on which that was done. */
function checkVerifyingKey(
  { gates, points, commitments }: PlonkProvingKey,
  stored: StoredKey,
  pairing: PairingKernels,
): ResidentPlonkKey {
  const { curve } = pairing;
  const published: unknown = JSON.parse(stored.verifyingKey);
  const decoded = plonkVerifyingKeyFromJson(published, pairing);
  if (!decoded.ok) throw new GateFailure("verifying_key", decoded.message);
  const resident = buildPlonkKey(gates, points, { curve, workspaces: 1, preferred: "integer" });
  if (!isDeepStrictEqual(published, plonkVerifyingKeyToJson(resident.verifyingKey, curve)))
    throw new GateFailure("verifying_key", "the verifying key is not the circuit's");
  if (commitments !== undefined && !isDeepStrictEqual(commitments, commitmentsOf(resident.verifyingKey)))
    throw new GateFailure("circuit", "the proving key's commitments are not the circuit's");
  return resident;
}

/** What no key may take for a proof: one whose points are all the generator, and one of a random assignment. */
function checkForgeries(
  prepared: PreparedPlonkKey,
  { gates }: PlonkProvingKey,
  prove: (witness: Uint8Array) => PlonkProof,
): void {
  const { curve } = prepared.kernels;
  const witness = randomAssignment(gates.systemWireCount, curve);
  const signals = publicSignalsOf({ curve, publicCount: gates.publicCount }, witness);
  if (verifyPlonk(prepared, trivialPlonkProof(curve), signals))
    throw new GateFailure("canary", "a forged proof verifies");
  if (!isSatisfied(gates, witness, curve) && verifyPlonk(prepared, prove(witness), signals))
    throw new GateFailure("canary", "a proof of an unsatisfied assignment verifies");
}
