/**
 * The gates of an FFLONK key as it lies in the artifact store: what is checked is what is published. A key follows from
 * the circuit and the reference string, so each part of it is compared with what follows from these: the powers, the
 * commitment on integer arithmetic (another than the one that made it where the machine fuses multiply-add), and then
 * the whole file, which others prove with. If the circuit comes with satisfying inputs, an honest proof is made and
 * checked, too.
 */
import { isDeepStrictEqual } from "node:util";
import { readR1cs } from "../circuit/r1cs.js";
import { BN254 } from "../curves/bn254.js";
import type { PairingKernels } from "../curves/curve-kernels.js";
import { equalG1, equalG2 } from "../curves/points.js";
import { fflonkVerifyingKeyFromJson, fflonkVerifyingKeyToJson } from "../encoding/fflonk-verifying-key.js";
import { randomNonZero } from "../field/bytes.js";
import { publicSignalsOf } from "../groth16/prove.js";
import { buildFflonkKey } from "../kernels/fflonk/build-fflonk-key.js";
import type { ResidentFflonkKey } from "../kernels/fflonk/fflonk-key.js";
import { FFLONK_BLINDING_COUNT } from "../kernels/fflonk/fflonk-layout.js";
import { FflonkProver } from "../kernels/fflonk/fflonk-prover.js";
import { writeFflonkZkey } from "../kernels/fflonk/write-fflonk-zkey.js";
import { findStringFault } from "../plonk/own-string.js";
import { GateFailure, checkHonestProof, isSatisfied, passGates, randomAssignment } from "../plonk/key-gates.js";
import { gatesOf } from "../plonk/plonk-gates.js";
import type { StoredKey, StoredKeyResult } from "../proof-systems/proof-system.js";
import { honestWitness } from "../proof-systems/published-key.js";
import { ZkeyFormatError, findDifference } from "../plonk/zkey/zkey-parts.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { EVALUATIONS, fflonkPowerCount } from "./fflonk-values.js";
import type { FflonkEvaluations, FflonkProof } from "./fflonk-values.js";
import { FFLONK_GATES, STRING_POWER_MORE } from "./make-fflonk-key.js";
import { readFflonkZkey } from "./read-zkey.js";
import type { FflonkZkey } from "./read-zkey.js";
import { prepareFflonkKey, verifyFflonk } from "./verify-fflonk.js";
import type { PreparedFflonkKey } from "./verify-fflonk.js";

/** Shares of the whole at which the gates end: to make the key again takes longest, then the two proofs. */
const PROGRESS = { rebuilt: 0.5, forgeries: 0.75 } as const;

/** Runs all gates; the first that fails is the result. */
export async function checkFflonkKey(stored: StoredKey, pairing: PairingKernels): Promise<StoredKeyResult> {
  return await passGates(async () => {
    const report = stored.onProgress ?? ((): void => undefined);
    const key = readKey(stored);
    await checkReferenceString(key, stored);
    const resident = rebuild(key, stored, pairing);
    report(PROGRESS.rebuilt);
    const prepared = prepareFflonkKey(pairing, resident.verifyingKey);
    const prover = new FflonkProver(resident);
    const prove = (witness: Uint8Array): FflonkProof => {
      const blinding = Array.from({ length: FFLONK_BLINDING_COUNT }, () => randomNonZero(BN254.r));
      return prover.prove(witness, blinding).proof;
    };
    checkForgeries(prepared, key, prove);
    report(PROGRESS.forgeries);
    if (stored.example === undefined) return;
    const witness = await honestWitness(stored.example);
    if (!witness.ok) throw new GateFailure("honest_proof", witness.message);
    const signals = publicSignalsOf({ curve: BN254, publicCount: key.gates.publicCount }, witness.value);
    const proof = prove(witness.value);
    checkHonestProof((given) => verifyFflonk(prepared, proof, given), signals);
  });
}

/** Returns what no key may take for a proof: all points are the generator, all values 0. */
export function trivialFflonkProof(): FflonkProof {
  const { name, generatorG1: point } = BN254;
  const evaluations = Object.fromEntries(EVALUATIONS.map((each) => [each, 0n])) as FflonkEvaluations;
  return { curve: name, c1: point, c2: point, w1: point, w2: point, evaluations, inverse: 0n };
}

function readKey(stored: StoredKey): FflonkZkey {
  try {
    return readFflonkZkey(stored.provingKey);
  } catch (error) {
    if (error instanceof ZkeyFormatError) throw new GateFailure("header", error.message);
    throw error;
  }
}

/** The string itself was checked when it was kept; one that came with the key is checked now. */
async function checkReferenceString({ setup, verifyingKey }: FflonkZkey, stored: StoredKey): Promise<void> {
  const string = stored.referenceString;
  if (string === undefined && stored.isImported === true) {
    const { domainPower } = verifyingKey;
    const fault = findStringFault(await loadReferenceKernels(BN254), { ...setup, domainPower });
    if (fault !== undefined) throw new GateFailure("reference_string", fault);
    return;
  }
  if (string === undefined) throw new GateFailure("reference_string", "the key's reference string is not at hand");
  const { domainPower } = verifyingKey;
  const isSame =
    string.power >= domainPower + STRING_POWER_MORE &&
    equalG2(setup.tauG2, string.tauG2) &&
    Buffer.compare(setup.powers, string.powersG1(fflonkPowerCount(domainPower))) === 0;
  if (!isSame) throw new GateFailure("reference_string", "the key's points are not those of its reference string");
}

/** Makes the key from the circuit once more, on integer arithmetic, and compares all that was stored. */
function rebuild({ setup, verifyingKey }: FflonkZkey, stored: StoredKey, pairing: PairingKernels): ResidentFflonkKey {
  const gates = gatesOf(readR1cs(stored.r1cs), FFLONK_GATES);
  const resident = buildFflonkKey(gates, setup, { workspaces: 1, preferred: "integer" });
  if (!equalG1(resident.verifyingKey.c0, verifyingKey.c0))
    throw new GateFailure("circuit", "the key's commitment is not the circuit's");
  const difference = findDifference(writeFflonkZkey(resident, gates, setup), stored.provingKey);
  if (difference !== undefined) throw new GateFailure("circuit", `the key is not the circuit's: ${difference}`);
  const published: unknown = JSON.parse(stored.verifyingKey);
  const decoded = fflonkVerifyingKeyFromJson(published, pairing);
  if (!decoded.ok) throw new GateFailure("verifying_key", decoded.message);
  if (!isDeepStrictEqual(published, fflonkVerifyingKeyToJson(resident.verifyingKey, BN254)))
    throw new GateFailure("verifying_key", "the verifying key is not the circuit's");
  return resident;
}

/** What no key may take for a proof: one whose points are all the generator, and one of a random assignment. */
function checkForgeries(
  prepared: PreparedFflonkKey,
  { gates }: FflonkZkey,
  prove: (witness: Uint8Array) => FflonkProof,
): void {
  const witness = randomAssignment(gates.systemWireCount, BN254);
  const signals = publicSignalsOf({ curve: BN254, publicCount: gates.publicCount }, witness);
  if (verifyFflonk(prepared, trivialFflonkProof(), signals)) throw new GateFailure("canary", "a forged proof verifies");
  if (!isSatisfied(gates, witness, BN254) && verifyFflonk(prepared, prove(witness), signals))
    throw new GateFailure("canary", "a proof of an unsatisfied assignment verifies");
}
