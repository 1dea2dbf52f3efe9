/**
 * The gates of a PLONK key as it lies in the artifact store: what is checked is what is published. A key follows from
 * the circuit and the reference string, so each part of it is compared with what follows from these, the commitments
 * on other arithmetic than the one that made them. If the circuit comes with satisfying inputs, an honest proof is made
 * and checked, too.
 */
import { isDeepStrictEqual } from "node:util";
import { randomBytes } from "node:crypto";
import { readR1cs } from "../circuit/r1cs.js";
import type { PairingKernels } from "../curves/curve-kernels.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { equalG2 } from "../curves/points.js";
import { plonkVerifyingKeyFromJson, plonkVerifyingKeyToJson } from "../encoding/plonk-verifying-key.js";
import { randomNonZero, readBigIntLE } from "../field/bytes.js";
import { publicSignalsOf } from "../groth16/prove.js";
import { buildPlonkKey } from "../kernels/plonk/build-plonk-key.js";
import { BLINDING_COUNT } from "../kernels/plonk/plonk-layout.js";
import type { ResidentPlonkKey } from "../kernels/plonk/plonk-key.js";
import { EXTRA_POWERS } from "../kernels/plonk/resident-circuit.js";
import { PlonkProver } from "../kernels/plonk/plonk-prover.js";
import type { StoredKey, StoredKeyResult } from "../proof-systems/proof-system.js";
import { honestWitness } from "../proof-systems/published-key.js";
import { PlonkKeyFormatError, readPlonkKey } from "./key-file.js";
import type { PlonkProvingKey } from "./key-file.js";
import type { PlonkProof } from "./key.js";
import { SELECTORS, gatesOf } from "./plonk-gates.js";
import type { PlonkGates } from "./plonk-gates.js";
import { preparePlonkKey, verifyPlonk } from "./verify-plonk.js";
import type { PreparedPlonkKey } from "./verify-plonk.js";

type Gate = "header" | "reference_string" | "circuit" | "verifying_key" | "canary" | "honest_proof";

class GateFailure extends Error {
  override readonly name = "GateFailure";
  readonly gate: Gate;

  constructor(gate: Gate, message: string) {
    super(message);
    this.gate = gate;
  }
}

/** Public signals whose change is tried on the honest proof. */
const CHANGED_SIGNALS_MAX = 16;
/** Random bytes per wire of an assignment that satisfies no constraint. */
const WIRE_BYTES = 4;

/** Runs all gates; the first that fails is the result. */
export async function checkPlonkKey(stored: StoredKey, pairing: PairingKernels): Promise<StoredKeyResult> {
  try {
    const { curve } = pairing;
    const key = readKey(stored, curve);
    checkReferenceString(key, stored);
    checkCircuit(key, stored);
    const resident = checkVerifyingKey(key, stored, pairing);
    const prepared = preparePlonkKey(pairing, resident.verifyingKey);
    const prove = (witness: Uint8Array): PlonkProof => {
      const blinding = Array.from({ length: BLINDING_COUNT }, () => randomNonZero(curve.r));
      return new PlonkProver(resident, curve).prove(witness, blinding).proof;
    };
    checkForgeries(prepared, key, prove);
    if (stored.example !== undefined) {
      const witness = await honestWitness(stored.example);
      if (!witness.ok) throw new GateFailure("honest_proof", witness.message);
      const signals = publicSignalsOf({ curve, publicCount: key.gates.publicCount }, witness.value);
      checkHonestProof(prepared, prove(witness.value), signals);
    }
    return { ok: true };
  } catch (error) {
    if (error instanceof GateFailure) return { ok: false, message: `${error.gate}: ${error.message}` };
    throw error;
  }
}

function readKey(stored: StoredKey, curve: CurveParameters): PlonkProvingKey {
  try {
    return readPlonkKey(stored.provingKey, curve);
  } catch (error) {
    if (error instanceof PlonkKeyFormatError) throw new GateFailure("header", error.message);
    throw error;
  }
}

/** The string itself was checked when it was kept. */
function checkReferenceString({ points, domainPower, referenceString }: PlonkProvingKey, stored: StoredKey): void {
  const string = stored.referenceString;
  if (string === undefined) throw new GateFailure("reference_string", "the key's reference string is not at hand");
  const isSame =
    string.sha256 === referenceString &&
    string.power >= domainPower &&
    equalG2(points.tauG2, string.tauG2) &&
    Buffer.compare(points.powers, string.powersG1(2 ** domainPower + EXTRA_POWERS)) === 0 &&
    Buffer.compare(points.lagrange, string.lagrangeG1(domainPower)) === 0;
  if (!isSame) throw new GateFailure("reference_string", "the key's points are not those of its reference string");
}

function checkCircuit({ gates }: PlonkProvingKey, { r1cs }: StoredKey): void {
  if (!isDeepStrictEqual(gates, gatesOf(readR1cs(r1cs))))
    throw new GateFailure("circuit", "the key's gates are not the circuit's");
}

/** Commits to the circuit once more; returns the key in the form of the kernels on which that was done. */
function checkVerifyingKey(
  { gates, points }: PlonkProvingKey,
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
  return resident;
}

/** What no key may take for a proof: one whose points are all the generator, and one of a random assignment. */
function checkForgeries(
  prepared: PreparedPlonkKey,
  { gates }: PlonkProvingKey,
  prove: (witness: Uint8Array) => PlonkProof,
): void {
  const { curve } = prepared.kernels;
  const { generatorG1 } = curve;
  const witness = randomAssignment(gates.systemWireCount, curve);
  const signals = publicSignalsOf({ curve, publicCount: gates.publicCount }, witness);
  const trivial: PlonkProof = {
    curve: curve.name,
    a: generatorG1,
    b: generatorG1,
    c: generatorG1,
    z: generatorG1,
    t1: generatorG1,
    t2: generatorG1,
    t3: generatorG1,
    wXi: generatorG1,
    wXiOmega: generatorG1,
    evaluations: { a: 0n, b: 0n, c: 0n, s1: 0n, s2: 0n, zOmega: 0n },
  };
  if (verifyPlonk(prepared, trivial, signals)) throw new GateFailure("canary", "a forged proof verifies");
  if (!isSatisfied(gates, witness, curve) && verifyPlonk(prepared, prove(witness), signals))
    throw new GateFailure("canary", "a proof of an unsatisfied assignment verifies");
}

function checkHonestProof(prepared: PreparedPlonkKey, proof: PlonkProof, signals: readonly bigint[]): void {
  const fails = (changed: readonly bigint[], what: string): void => {
    if (verifyPlonk(prepared, proof, changed)) throw new GateFailure("honest_proof", `the proof verifies with ${what}`);
  };
  if (!verifyPlonk(prepared, proof, signals)) throw new GateFailure("honest_proof", "an honest proof does not verify");
  signals.slice(0, CHANGED_SIGNALS_MAX).forEach((signal, i) => {
    fails(signals.with(i, signal === 0n ? 1n : signal - 1n), `public signal ${String(i)} changed`);
  });
  if (signals.length > 0) fails(signals.slice(0, -1), "a public signal missing");
  fails([...signals, 0n], "a public signal too many");
}

/** Whether the assignment satisfies all gates, which a circuit without constraints makes any one do. */
function isSatisfied(gates: PlonkGates, witness: Uint8Array, { r, frBytes }: CurveParameters): boolean {
  const { systemWireCount, publicCount, gateCount, coefficients, wires, selectors, additions } = gates;
  const sums: bigint[] = [];
  const factor = (numbers: Uint32Array, i: number): bigint => coefficients[numbers[i] ?? 0] ?? 0n;
  const value = (wire: number): bigint => {
    if (wire === 0) return 0n;
    if (wire < systemWireCount) return readBigIntLE(witness, wire * frBytes, frBytes);
    for (let i = sums.length; i <= wire - systemWireCount; i += 1)
      sums.push(
        (factor(additions.leftFactor, i) * value(additions.left[i] ?? 0) +
          factor(additions.rightFactor, i) * value(additions.right[i] ?? 0)) %
          r,
      );
    return sums[wire - systemWireCount] ?? 0n;
  };
  for (let i = publicCount; i < gateCount; i += 1) {
    const [a, b, c] = [value(wires.a[i] ?? 0), value(wires.b[i] ?? 0), value(wires.c[i] ?? 0)];
    const [m, l, right, o, k] = SELECTORS.map((name) => factor(selectors[name], i));
    if (((m ?? 0n) * a * b + (l ?? 0n) * a + (right ?? 0n) * b + (o ?? 0n) * c + (k ?? 0n)) % r !== 0n) return false;
  }
  return true;
}

/** Wire 0 is 1, the others are random. */
function randomAssignment(wireCount: number, { frBytes }: CurveParameters): Uint8Array {
  const witness = new Uint8Array(wireCount * frBytes);
  const random = randomBytes(wireCount * WIRE_BYTES);
  for (let wire = 1; wire < wireCount; wire += 1)
    witness.set(random.subarray(wire * WIRE_BYTES, (wire + 1) * WIRE_BYTES), wire * frBytes);
  witness[0] = 1;
  return witness;
}
