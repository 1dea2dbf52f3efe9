/**
 * Gates that every key must pass before it is used, checkable from its public parts and its circuit alone. They catch a
 * key of another circuit, a swapped verifying key, an uncontributed phase 2 (gamma = delta, the FoomCash and Veil
 * forgeries of 2026), points off the curve or outside the subgroup, and truncated files. What needs the trapdoor is in
 * setup-self-test.ts.
 */
import type { CurveProgram } from "../backends/snarkjs.js";
import type { R1cs } from "../circuit/r1cs.js";
import { areCanonical } from "../curves/canonical-points.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import { equalG1, equalG2 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { randomScalars } from "../field/bytes.js";
import type { PowersOfTau } from "../powers-of-tau/lagrange-points.js";
import { forgeCanary } from "./canary.js";
import { findFaultAgainstPowers, findTranscriptFault } from "./phases/powers-gate.js";
import type { Groth16Proof, Groth16VerifyingKey } from "./proof.js";
import { ProvingKeyFormatError, verifyingKeyOf } from "./proving-key.js";
import type { Groth16ProvingKey } from "./proving-key.js";
import { testedKernelPairing } from "./pairing-backend.js";
import { areAllInSubgroup } from "./section-membership.js";
import { prepareWith, verifyGroth16 } from "./verify.js";
import type { PreparedVerifyingKey } from "./verify.js";
import { coefficientSectionBytes, writeCoefficients, zkeyCountsOf } from "./zkey-writer.js";

export type GateName =
  "header" | "phase2" | "verifying_key" | "circuit" | "points" | "reference_string" | "canary" | "honest_proof";

export type GateResult =
  | { readonly ok: true; readonly passed: readonly GateName[] }
  | { readonly ok: false; readonly gate: GateName; readonly message: string };

export interface GateSubject {
  readonly key: Groth16ProvingKey;
  /** The verifying key that will be published with it. */
  readonly verifyingKey: Groth16VerifyingKey;
  readonly r1cs: R1cs;
  /** Called with the share of the gates that have passed, 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** The powers of tau from which phase 1 of the key is said to follow. */
  readonly powers?: PowersOfTau;
  /** The key comes from elsewhere: who contributed to its phase 2 is not this server's to say. */
  readonly isImported?: boolean;
}

/** Thrown inside the gates only. */
class GateFailure extends Error {
  override readonly name = "GateFailure";
}

/**
 * Rounds and bits of the random combinations over B: unequal B1 and B2 escape with 2^-48. On BN254 they test for the
 * subgroup as well: the least prime factor of the twist's cofactor is 10,069, so one round misses a point outside with
 * probability about 1 in 10,000 and three with 1 in 10^12. The cofactors of BLS12-381 have smaller factors.
 */
const COMBINATION_ROUNDS = 3;
const COMBINATION_BYTES = 2;
/** Public signals whose change is tried on the honest proof; each costs 6 ms. */
const CHANGED_SIGNALS_MAX = 16;

/** Runs the gates in order and stops at the first failure. About 1.5 s for 60,000 wires. */
export function checkKey(kernels: CurveKernels, program: CurveProgram, subject: GateSubject): GateResult {
  const gates: readonly (readonly [GateName, () => void])[] = [
    [
      "header",
      () => {
        checkHeader(kernels, subject.key);
      },
    ],
    [
      "phase2",
      () => {
        checkPhase2(kernels, subject.key);
      },
    ],
    [
      "verifying_key",
      () => {
        checkVerifyingKey(subject);
      },
    ],
    [
      "circuit",
      () => {
        checkCircuit(kernels, program, subject);
      },
    ],
    [
      "points",
      () => {
        checkPoints(kernels, subject.key);
      },
    ],
    [
      "canary",
      () => {
        checkCanary(kernels, subject.verifyingKey);
      },
    ],
    ...stringGates(kernels, program, subject),
  ];
  return runGates(gates, subject.onProgress);
}

/**
 * Runs the gates of a verifying key that comes without its proving key. Its points are finite and in their subgroups:
 * whoever decoded it has checked them.
 */
export function checkVerifyingKeyAlone(kernels: CurveKernels, verifyingKey: Groth16VerifyingKey): GateResult {
  return runGates([
    [
      "phase2",
      () => {
        checkPhase2(kernels, verifyingKey);
      },
    ],
    [
      "verifying_key",
      () => {
        checkBinding(verifyingKey);
      },
    ],
    [
      "canary",
      () => {
        checkCanary(kernels, verifyingKey);
      },
    ],
  ]);
}

/**
 * Runs the gate for circuits that come with a satisfying witness: the proof must verify, and must not verify with a
 * signal changed, left out or added.
 */
export function checkHonestProof(
  prepared: PreparedVerifyingKey,
  proof: Groth16Proof,
  publicSignals: readonly bigint[],
): GateResult {
  return runGates([
    [
      "honest_proof",
      (): void => {
        const fails = (signals: readonly bigint[], what: string): void => {
          if (verifyGroth16(prepared, proof, signals)) throw new GateFailure(`the proof verifies with ${what}`);
        };
        if (!verifyGroth16(prepared, proof, publicSignals)) throw new GateFailure("an honest proof does not verify");
        publicSignals.slice(0, CHANGED_SIGNALS_MAX).forEach((signal, i) => {
          fails(publicSignals.with(i, signal === 0n ? 1n : signal - 1n), `public signal ${String(i)} changed`);
        });
        if (publicSignals.length > 0) fails(publicSignals.slice(0, -1), "a public signal missing");
        fails([...publicSignals, 0n], "a public signal too many");
      },
    ],
  ]);
}

function stringGates(
  kernels: CurveKernels,
  program: CurveProgram,
  { key, r1cs, powers, isImported }: GateSubject,
): readonly (readonly [GateName, () => void])[] {
  if (powers === undefined) return [];
  const check = (): void => {
    const fault =
      findFaultAgainstPowers(kernels, program, { key, r1cs, powers }) ??
      (isImported === true ? undefined : findTranscriptFault(kernels, key));
    if (fault !== undefined) throw new GateFailure(fault);
  };
  return [["reference_string", check]];
}

function runGates(
  gates: readonly (readonly [GateName, () => void])[],
  onProgress: (share: number) => void = () => undefined,
): GateResult {
  for (const [i, [gate, run]] of gates.entries()) {
    try {
      run();
      onProgress((i + 1) / gates.length);
    } catch (error) {
      // An IC point off the curve is found while the verifying key is read out of the proving key.
      if (error instanceof GateFailure || error instanceof ProvingKeyFormatError)
        return { ok: false, gate, message: error.message };
      throw error;
    }
  }
  return { ok: true, passed: gates.map(([name]) => name) };
}

/**
 * Membership in G1 and G2, and that beta and delta are the same scalars in both groups. The reader has proved the
 * points finite and on their curves.
 */
function checkHeader(kernels: CurveKernels, key: Groth16ProvingKey): void {
  const { generatorG1, generatorG2 } = kernels.curve;
  for (const [name, point] of [
    ["alpha", key.alphaG1],
    ["beta", key.betaG1],
    ["delta", key.deltaG1],
  ] as const) {
    if (kernels.areInSubgroupG1([point])[0] !== true) throw new GateFailure(`${name} is not in the subgroup G1`);
  }
  for (const [name, point] of [
    ["beta", key.betaG2],
    ["gamma", key.gammaG2],
    ["delta", key.deltaG2],
  ] as const) {
    if (!kernels.isInSubgroupG2(point)) throw new GateFailure(`${name} is not in the subgroup G2`);
  }
  for (const [name, g1, g2] of [
    ["beta", key.betaG1, key.betaG2],
    ["delta", key.deltaG1, key.deltaG2],
  ] as const) {
    const left = kernels.pairingProduct([{ g1, g2: generatorG2 }]),
      right = kernels.pairingProduct([{ g1: generatorG1, g2 }]);
    if (!kernels.equalPairingValues(left, right)) throw new GateFailure(`${name} differs between G1 and G2`);
  }
}

/** Delta is the same scalar in both groups; the gate before has checked it where there is one of G1. */
function checkPhase2(kernels: CurveKernels, key: Pick<Groth16VerifyingKey, "gammaG2" | "deltaG2">): void {
  if (equalG2(key.gammaG2, key.deltaG2)) throw new GateFailure("gamma equals delta: anyone can forge proofs");
  if (equalG2(key.deltaG2, kernels.curve.generatorG2))
    throw new GateFailure("delta is the generator: phase 2 has no contribution");
}

function checkVerifyingKey({ key, verifyingKey }: GateSubject): void {
  const own = verifyingKeyOf(key);
  const isSame =
    own.publicCount === verifyingKey.publicCount &&
    equalG1(own.alphaG1, verifyingKey.alphaG1) &&
    equalG2(own.betaG2, verifyingKey.betaG2) &&
    equalG2(own.gammaG2, verifyingKey.gammaG2) &&
    equalG2(own.deltaG2, verifyingKey.deltaG2) &&
    own.ic.length === verifyingKey.ic.length &&
    own.ic.every((point, i) => equalOptional(point, verifyingKey.ic[i]));
  if (!isSame) throw new GateFailure("the verifying key does not belong to the proving key");
  checkBinding(own);
}

function checkBinding({ ic }: Groth16VerifyingKey): void {
  const unbound = ic.findIndex((point, i) => i > 0 && point === undefined);
  if (unbound > 0) throw new GateFailure(`public signal ${String(unbound - 1)} is not bound by the key`);
}

function equalOptional(a: G1Point | undefined, b: G1Point | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalG1(a, b);
}

/**
 * Counts, and A and B entry by entry. C is not in a key's table; the points made from it are covered by the self-test.
 */
function checkCircuit(kernels: CurveKernels, program: CurveProgram, { key, r1cs }: GateSubject): void {
  const counts = zkeyCountsOf(r1cs);
  if (
    r1cs.prime !== key.curve.r ||
    counts.wireCount !== key.wireCount ||
    counts.publicCount !== key.publicCount ||
    counts.domainPower !== key.domainPower
  ) {
    throw new GateFailure("the key's counts are not the circuit's");
  }
  const expected = new Uint8Array(coefficientSectionBytes(r1cs));
  writeCoefficients(program, kernels.curve, r1cs, expected);
  if (Buffer.compare(expected.subarray(4), key.coefficients.entries) !== 0)
    throw new GateFailure("the key's coefficients are not the circuit's");
}

function checkPoints(kernels: CurveKernels, key: Groth16ProvingKey): void {
  for (const [name, points] of [
    ["A", key.aPoints],
    ["B1", key.b1Points],
    ["C", key.cPoints],
    ["H", key.hPoints],
  ] as const) {
    if (!areCanonical(points, key.curve) || !kernels.surveyG1(points).isOnCurve)
      throw new GateFailure(`a point of ${name} is not on the curve`);
  }
  if (!areCanonical(key.b2Points, key.curve) || !kernels.surveyG2(key.b2Points).isOnCurve)
    throw new GateFailure("a point of B2 is not on the curve");
  checkSubgroups(kernels, key);
  if (kernels.surveyG1(key.hPoints).infinities > 0) throw new GateFailure("a point of H is infinity");
  for (let round = 0; round < COMBINATION_ROUNDS; round += 1) {
    const weights = randomWeights(key);
    const b1 = kernels.msmG1(key.b1Points, weights),
      b2 = kernels.msmG2(key.b2Points, weights);
    if (b2 !== undefined && !kernels.isInSubgroupG2(b2))
      throw new GateFailure("a point of B2 is not in the subgroup G2");
    if (!isSameScalar(kernels, b1, b2)) throw new GateFailure("B differs between G1 and G2");
  }
}

/** Tests all sections where points of a curve may be outside; where B2 alone can be, its combinations test it. */
function checkSubgroups(kernels: CurveKernels, key: Groth16ProvingKey): void {
  if (key.curve.cofactorG1 === 1n) return;
  const pairing = testedKernelPairing(key.curve) ?? kernels;
  for (const [name, group, points] of [
    ["A", "G1", key.aPoints],
    ["B1", "G1", key.b1Points],
    ["B2", "G2", key.b2Points],
    ["C", "G1", key.cPoints],
    ["H", "G1", key.hPoints],
  ] as const) {
    if (!areAllInSubgroup(pairing, group, points))
      throw new GateFailure(`a point of ${name} is not in the subgroup ${group}`);
  }
}

function randomWeights({ wireCount, curve }: Groth16ProvingKey): Uint8Array {
  return randomScalars(wireCount, { length: curve.frBytes, randomLength: COMBINATION_BYTES });
}

/** Whether two points are the same multiple of their generators. */
function isSameScalar(kernels: CurveKernels, g1: G1Point | undefined, g2: G2Point | undefined): boolean {
  if (g1 === undefined || g2 === undefined) return g1 === undefined && g2 === undefined;
  const { generatorG1, generatorG2 } = kernels.curve;
  return kernels.equalPairingValues(
    kernels.pairingProduct([{ g1, g2: generatorG2 }]),
    kernels.pairingProduct([{ g1: generatorG1, g2 }]),
  );
}

function checkCanary(kernels: CurveKernels, verifyingKey: Groth16VerifyingKey): void {
  const prepared = prepareWith(kernels, verifyingKey);
  for (const value of [0n, 1n, kernels.curve.r - 1n]) {
    const signals = Array.from({ length: verifyingKey.publicCount }, () => value);
    const canary = forgeCanary(kernels, verifyingKey, signals);
    if (canary !== undefined && verifyGroth16(prepared, canary, signals))
      throw new GateFailure("the canary forgery verifies: anyone can forge proofs");
  }
}
