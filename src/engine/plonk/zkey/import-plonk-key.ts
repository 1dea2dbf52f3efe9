/**
 * Reads a PLONK key of snarkjs that was made elsewhere. All of it but the powers of its reference string follows from
 * the circuit, so it is made again from both and compared byte for byte; what is kept is this server's own form.
 */
import { areCanonical } from "../../curves/canonical-points.js";
import type { CurveKernels } from "../../curves/curve-kernels.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { plonkVerifyingKeyFromJson, plonkVerifyingKeyToJson } from "../../encoding/plonk-verifying-key.js";
import { buildPlonkKey } from "../../kernels/plonk/build-plonk-key.js";
import type { PlonkSetupPoints } from "../../kernels/plonk/build-plonk-key.js";
import type { ResidentPlonkKey } from "../../kernels/plonk/plonk-key.js";
import { writePlonkZkey } from "../../kernels/zkey/write-plonk-zkey.js";
import {
  FOREIGN_STRING,
  findForeignVerifyingKey,
  findString,
  findUniversalForgery,
  importVerifyingKeyAlone,
  keyProblem,
} from "../../proof-systems/imported-keys.js";
import type { VerifyingKeyForm } from "../../proof-systems/imported-keys.js";
import type {
  ImportedKeyFiles,
  ImportedKeyResult,
  ImportedVerifyingKeyResult,
} from "../../proof-systems/proof-system.js";
import { loadReferenceKernels } from "../../reference/reference-kernels.js";
import { writePlonkKey } from "../key-file.js";
import { commitmentsOf, domainPowerOf } from "../key.js";
import type { PlonkVerifyingKey } from "../key.js";
import { readCircuitGates } from "../make-plonk-key.js";
import type { PlonkGates } from "../plonk-gates.js";
import { readPlonkZkey } from "./plonk-zkey.js";
import type { PlonkZkey } from "./plonk-zkey.js";
import { trivialPlonkProof } from "../stored-plonk-key.js";
import { preparePlonkKey, verifyPlonk } from "../verify-plonk.js";
import { lagrangePointsOf } from "../../powers-of-tau/point-transform.js";
import type { PointRowOptions } from "../../powers-of-tau/point-row-work.js";
import { ZkeyFormatError, findDifference } from "./zkey-parts.js";

/** Of a key whose string the server does not have. */
const NO_STRING = "00".repeat(32);
/**
 * The Lagrange points of a key of this size take about a minute of one core, and each power of two more than doubles
 * that; with the string at hand they are only read.
 */
const OWN_STRING_POWER_MAX = 16;

/** Reads the key; whether its powers are those of one secret is left to the gates. About 1 s for 2^12 gates. */
export async function importPlonkKey(
  files: ImportedKeyFiles,
  curve: CurveParameters,
  options: PointRowOptions = {},
): Promise<ImportedKeyResult> {
  try {
    const zkey = readPlonkZkey(files.provingKey, curve);
    const circuit = readCircuitGates(files.r1cs, curve);
    if ("refusal" in circuit)
      return { ok: false, code: "import_invalid", file: "circuit.r1cs", message: circuit.refusal };
    const { gates } = circuit;
    if (!isOf(gates, zkey)) return keyProblem("the key is of another circuit: its counts are not the R1CS's");
    return await convert(files, zkey, { gates, curve, options });
  } catch (error) {
    if (error instanceof ZkeyFormatError) return keyProblem(error.message);
    throw error;
  }
}

/** Reads a verifying key alone, and runs the gates that it has. */
export async function importPlonkVerifyingKey(
  text: string,
  curve: CurveParameters,
): Promise<ImportedVerifyingKeyResult> {
  const kernels = await loadReferenceKernels(curve);
  return importVerifyingKeyAlone(text, formOf(kernels), (key) =>
    findUniversalForgery(key, curve, (zeros) =>
      verifyPlonk(preparePlonkKey(kernels, key), trivialPlonkProof(curve), zeros),
    ),
  );
}

function formOf(kernels: CurveKernels): VerifyingKeyForm<PlonkVerifyingKey> {
  return {
    decode: (value) => plonkVerifyingKeyFromJson(value, kernels),
    encode: (key) => plonkVerifyingKeyToJson(key, kernels.curve),
  };
}

async function convert(
  files: ImportedKeyFiles,
  { counts: { domainPower }, powers, tauG2 }: PlonkZkey,
  {
    gates,
    curve,
    options,
  }: { readonly gates: PlonkGates; readonly curve: CurveParameters; readonly options: PointRowOptions },
): Promise<ImportedKeyResult> {
  const kernels = await loadReferenceKernels(curve);
  const { infinities, isOnCurve } = kernels.surveyG1(powers);
  if (infinities > 0 || !isOnCurve || !areCanonical(powers, curve))
    return keyProblem("a power of the key is infinity or not on the curve");
  const string = findString(files.strings, { powers, tauG2, power: domainPower });
  if (string === undefined && files.needsString === true) return keyProblem(FOREIGN_STRING);
  if (string === undefined && domainPower > OWN_STRING_POWER_MAX)
    return keyProblem(
      `a key of more than 2^${String(OWN_STRING_POWER_MAX)} gates takes its powers-of-tau file, which this server does not have`,
    );
  const lagrange =
    string === undefined
      ? await lagrangePointsOf(kernels, { powers, domainPower }, options)
      : await string.lagrangeG1(domainPower, options);
  const points = { powers, lagrange, tauG2 };
  const resident = buildOrRefuse(gates, points, curve);
  if ("refusal" in resident) return keyProblem(resident.refusal);
  const difference = findDifference(writePlonkZkey(resident, { gates, points }, curve), files.provingKey);
  if (difference !== undefined) return keyProblem(`the key is not the circuit's: ${difference}`);
  const form = formOf(kernels);
  const own = JSON.stringify(form.encode(resident.verifyingKey));
  const foreign = findForeignVerifyingKey(files.verifyingKey, own, form);
  if (foreign !== undefined) return foreign;
  const referenceString = string?.sha256 ?? NO_STRING;
  const commitments = commitmentsOf(resident.verifyingKey);
  return {
    ok: true,
    verifyingKey: own,
    provingKey: writePlonkKey({ gates, domainPower, points, referenceString, commitments }, curve),
    ...(string === undefined ? {} : { referenceString: string.sha256 }),
  };
}

/** A degenerate string, or a key that no WebAssembly memory holds, is the sender's. */
function buildOrRefuse(
  gates: PlonkGates,
  points: PlonkSetupPoints,
  curve: CurveParameters,
): ResidentPlonkKey | { readonly refusal: string } {
  try {
    return buildPlonkKey(gates, points, { curve, workspaces: 1 });
  } catch (error) {
    if (error instanceof RangeError) return { refusal: error.message };
    throw error;
  }
}

function isOf(gates: PlonkGates, { counts }: PlonkZkey): boolean {
  return (
    counts.wireCount === gates.systemWireCount + gates.additions.count &&
    counts.publicCount === gates.publicCount &&
    counts.additionCount === gates.additions.count &&
    counts.gateCount === gates.gateCount &&
    counts.domainPower === domainPowerOf(gates.gateCount)
  );
}
