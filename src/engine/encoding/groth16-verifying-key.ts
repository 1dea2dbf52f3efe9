/** Groth16 verifying keys: snarkjs' verification_key.json, and the Solidity verifier. */
import { primeSnarkjs, readSolidityTemplate } from "../backends/snarkjs.js";
import { BN254 } from "../curves/bn254.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import type { G1Point } from "../curves/points.js";
import { PUBLIC_SIGNALS_MAX } from "../groth16/proof.js";
import type { Groth16VerifyingKey } from "../groth16/proof.js";
import { writeVerifierZkey } from "../groth16/zkey-writer.js";
import { readRecord, readTuple } from "./decimal.js";
import { Malformed, decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";
import { checkCurveName, g1FromJson, g1ToJson, g2FromJson, g2ToJson, manyG1FromJson } from "./json-points.js";
import type { PointChecks } from "./json-points.js";
import { signallessTemplate } from "./signalless-template.js";

/** snarkjs' verification_key.json for Groth16. */
export interface Groth16VerifyingKeyJson {
  readonly protocol: "groth16";
  readonly curve: string;
  readonly nPublic: number;
  readonly vk_alpha_1: string[];
  readonly vk_beta_2: string[][];
  readonly vk_gamma_2: string[][];
  readonly vk_delta_2: string[][];
  /** e(alpha, beta) as two triples of pairs; snarkjs writes it and no verifier reads it. */
  readonly vk_alphabeta_12: string[][][];
  readonly IC: string[][];
}

const INFINITY_JSON = ["0", "1", "0"];

/** Returns the JSON that `snarkjs zkey export verificationkey` writes. About 3 ms, for the pairing in it. */
export function verifyingKeyToJson(key: Groth16VerifyingKey, kernels: CurveKernels): Groth16VerifyingKeyJson {
  const coordinates = kernels
    .pairingCoordinates(kernels.pairingProduct([{ g1: key.alphaG1, g2: key.betaG2 }]))
    .map(String);
  const pair = (i: number): string[] => coordinates.slice(2 * i, 2 * i + 2);
  return {
    protocol: "groth16",
    curve: kernels.curve.snarkjsName,
    nPublic: key.publicCount,
    vk_alpha_1: g1ToJson(key.alphaG1),
    vk_beta_2: g2ToJson(key.betaG2),
    vk_gamma_2: g2ToJson(key.gammaG2),
    vk_delta_2: g2ToJson(key.deltaG2),
    vk_alphabeta_12: [
      [pair(0), pair(1), pair(2)],
      [pair(3), pair(4), pair(5)],
    ],
    IC: key.ic.map((point) => (point === undefined ? [...INFINITY_JSON] : g1ToJson(point))),
  };
}

/**
 * Reads verification_key.json, given as parsed JSON. The precomputed pairing is not read: it follows from alpha and
 * beta.
 */
export function verifyingKeyFromJson(value: unknown, checks: PointChecks): Decoded<Groth16VerifyingKey> {
  return decoding(() => {
    const members = {
      required: ["protocol", "curve", "nPublic", "vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2", "IC"],
      optional: ["vk_alphabeta_12"],
    };
    const record = readRecord(value, members, "the verifying key");
    if (record.protocol !== "groth16") throw new Malformed("the verifying key's protocol must be groth16");
    checkCurveName(record.curve, checks.curve);
    const publicCount = record.nPublic;
    if (
      typeof publicCount !== "number" ||
      !Number.isInteger(publicCount) ||
      publicCount < 0 ||
      publicCount > PUBLIC_SIGNALS_MAX
    ) {
      throw new Malformed(`nPublic must be an integer from 0 to ${String(PUBLIC_SIGNALS_MAX)}`);
    }
    return {
      curve: checks.curve.name,
      publicCount,
      alphaG1: g1FromJson(record.vk_alpha_1, checks, "vk_alpha_1"),
      betaG2: g2FromJson(record.vk_beta_2, checks, "vk_beta_2"),
      gammaG2: g2FromJson(record.vk_gamma_2, checks, "vk_gamma_2"),
      deltaG2: g2FromJson(record.vk_delta_2, checks, "vk_delta_2"),
      ic: icFromJson(readTuple(record.IC, publicCount + 1, "IC"), checks),
    };
  });
}

/**
 * Returns the Solidity contract that verifies this key's proofs, from snarkjs' template (GPL-3.0).
 * @throws RangeError for a key over another curve than BN254: the template would silently produce nonsense.
 */
export async function solidityVerifier(key: Groth16VerifyingKey): Promise<string> {
  if (key.curve !== BN254.name) throw new RangeError(`there is no Solidity verifier for proofs over ${key.curve}`);
  const snarkjs = await primeSnarkjs();
  const template = await readSolidityTemplate("groth16");
  return await snarkjs.zKey.exportSolidityVerifier(writeVerifierZkey(BN254, key), {
    // IC has one point more than there are public signals.
    groth16: key.ic.length > 1 ? template : signallessTemplate("groth16", template),
  });
}

function icFromJson(values: readonly unknown[], checks: PointChecks): (G1Point | undefined)[] {
  const places = [...values.keys()].filter((i) => !isInfinity(values[i]));
  const points = manyG1FromJson(
    places.map((i) => values[i]),
    checks,
    (index) => `IC[${String(places[index])}]`,
  );
  const ic: (G1Point | undefined)[] = values.map(() => undefined);
  for (const [index, place] of places.entries()) ic[place] = points[index];
  return ic;
}

function isInfinity(value: unknown): boolean {
  return Array.isArray(value) && value.length === 3 && value.every((coordinate, i) => coordinate === INFINITY_JSON[i]);
}
