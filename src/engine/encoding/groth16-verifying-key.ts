/**
 * Groth16 verifying keys: snarkjs' verification_key.json, a canonical byte form for hashing, and the Solidity verifier.
 *
 *   alpha(32) || beta(64) || gamma(64) || delta(64) || points of IC u32 big-endian || IC(32 each), compressed as in compressed-points.ts
 */
import { primeSnarkjs, readSolidityTemplate } from "../backends/snarkjs.js";
import { BN254 } from "../curves/bn254.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { CurveKernels } from "../curves/curve-kernels.js";
import type { G1Point } from "../curves/points.js";
import { PUBLIC_SIGNALS_MAX } from "../groth16/proof.js";
import type { Groth16VerifyingKey } from "../groth16/proof.js";
import { writeVerifierZkey } from "../groth16/zkey-writer.js";
import {
  compressG1,
  compressG2,
  compressInfinity,
  decompressG1,
  decompressG2,
  isCompressedInfinity,
} from "./compressed-points.js";
import { readRecord, readTuple } from "./decimal.js";
import { Malformed, decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";
import { checkCurveName, g1FromJson, g1ToJson, g2FromJson, g2ToJson } from "./json-points.js";
import type { PointChecks } from "./json-points.js";

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

/** Writes the JSON that `snarkjs zkey export verificationkey` writes. About 3 ms, for the pairing in it. */
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

/** Reads verification_key.json as parsed JSON. The precomputed pairing is not read: it follows from alpha and beta. */
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
      alphaG1: g1FromJson(record.vk_alpha_1, checks.curve, "vk_alpha_1"),
      betaG2: g2FromJson(record.vk_beta_2, checks, "vk_beta_2"),
      gammaG2: g2FromJson(record.vk_gamma_2, checks, "vk_gamma_2"),
      deltaG2: g2FromJson(record.vk_delta_2, checks, "vk_delta_2"),
      ic: readTuple(record.IC, publicCount + 1, "IC").map((point, i) =>
        icFromJson(point, checks.curve, `IC[${String(i)}]`),
      ),
    };
  });
}

/** The canonical bytes; hash these to name a key. */
export function encodeVerifyingKeyBytes(key: Groth16VerifyingKey, curve: CurveParameters): Uint8Array {
  const count = new Uint8Array(4);
  new DataView(count.buffer).setUint32(0, key.ic.length);
  return Buffer.concat([
    compressG1(key.alphaG1, curve),
    compressG2(key.betaG2, curve),
    compressG2(key.gammaG2, curve),
    compressG2(key.deltaG2, curve),
    count,
    ...key.ic.map((point) => (point === undefined ? compressInfinity(curve.fqBytes) : compressG1(point, curve))),
  ]);
}

/** Reads the canonical bytes. */
export function decodeVerifyingKeyBytes(bytes: Uint8Array, checks: PointChecks): Decoded<Groth16VerifyingKey> {
  return decoding(() => {
    const { curve } = checks;
    const g1 = curve.fqBytes,
      g2 = 2 * curve.fqBytes,
      head = g1 + 3 * g2 + 4;
    const icCount = bytes.length < head ? 0 : new DataView(bytes.buffer, bytes.byteOffset).getUint32(head - 4);
    if (icCount < 1 || icCount > PUBLIC_SIGNALS_MAX + 1 || bytes.length !== head + icCount * g1)
      throw new Malformed("the verifying key has a wrong length");
    const g2At = (index: number, name: string): Groth16VerifyingKey["betaG2"] =>
      decompressG2(bytes.subarray(g1 + index * g2, g1 + (index + 1) * g2), checks, name);
    return {
      curve: curve.name,
      publicCount: icCount - 1,
      alphaG1: decompressG1(bytes.subarray(0, g1), checks, "alpha"),
      betaG2: g2At(0, "beta"),
      gammaG2: g2At(1, "gamma"),
      deltaG2: g2At(2, "delta"),
      ic: Array.from({ length: icCount }, (_, i) => {
        const point = bytes.subarray(head + i * g1, head + (i + 1) * g1);
        return isCompressedInfinity(point) ? undefined : decompressG1(point, checks, `IC[${String(i)}]`);
      }),
    };
  });
}

/**
 * The Solidity contract that verifies this key's proofs, from snarkjs' template (GPL-3.0). BN254 only: it is the curve
 * of the EVM's precompiles, and the template would silently produce nonsense for another.
 */
export async function solidityVerifier(key: Groth16VerifyingKey): Promise<string> {
  const snarkjs = await primeSnarkjs();
  return await snarkjs.zKey.exportSolidityVerifier(writeVerifierZkey(BN254, key), {
    groth16: await readSolidityTemplate("groth16"),
  });
}

function icFromJson(value: unknown, curve: CurveParameters, name: string): G1Point | undefined {
  const isInfinity =
    Array.isArray(value) && value.length === 3 && value.every((coordinate, i) => coordinate === INFINITY_JSON[i]);
  return isInfinity ? undefined : g1FromJson(value, curve, name);
}
