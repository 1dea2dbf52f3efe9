/**
 * FFLONK proofs as text: a compressed binary form in hex, and snarkjs' JSON object. The decoders are strict, so that
 * each form has one spelling per proof.
 *
 *   C1 || C2 || W1 || W2 || ql || qr || qm || qo || qc || s1 || s2 || s3 || a || b || c || z || zw || t1w || t2w || inv
 *
 * Points are compressed as in compressed-points.ts, values are big-endian integers of 32 bytes: 640 bytes. The inverse
 * follows from the rest and the public signals, and the verifier checks it; it stands in the form because contracts
 * take it.
 */
import { BN254 } from "../curves/bn254.js";
import type { G1Point } from "../curves/points.js";
import type { FflonkEvaluations, FflonkProof } from "../fflonk/fflonk-values.js";
import { compressG1, decompressG1 } from "./compressed-points.js";
import { readDecimal, readRecord } from "./decimal.js";
import { Malformed, decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";
import { checkCurveName, g1FromJson, g1ToJson } from "./json-points.js";
import { decodeJointly } from "./joint-g1-points.js";
import type { JointProofChecks, ProofChecks } from "./joint-g1-points.js";

/** Members of a proof in the order of the binary form, with their names in snarkjs' object. */
const POINTS = [
  ["c1", "C1"],
  ["c2", "C2"],
  ["w1", "W1"],
  ["w2", "W2"],
] as const;
const VALUES = [
  ["l", "ql"],
  ["r", "qr"],
  ["m", "qm"],
  ["o", "qo"],
  ["k", "qc"],
  ["s1", "s1"],
  ["s2", "s2"],
  ["s3", "s3"],
  ["a", "a"],
  ["b", "b"],
  ["c", "c"],
  ["z", "z"],
  ["zOmega", "zw"],
  ["t1Omega", "t1w"],
  ["t2Omega", "t2w"],
  ["inverse", "inv"],
] as const;
const POINT_NAMES = POINTS.map(([, shown]) => shown);
const VALUE_NAMES = VALUES.map(([, shown]) => shown);

const PROOF_BYTES = POINTS.length * BN254.fqBytes + VALUES.length * BN254.frBytes;
const LOWER_HEX = /^(?:[0-9a-f]{2})*$/;

/** The proof object of snarkjs; coordinates and values decimal. */
export interface FflonkProofJson {
  readonly polynomials: Readonly<Record<(typeof POINTS)[number][1], string[]>>;
  readonly evaluations: Readonly<Record<(typeof VALUES)[number][1], string>>;
  readonly protocol: "fflonk";
  readonly curve: string;
}

/** Returns the compressed form as lower-case hex without prefix, 1280 digits. */
export function encodeFflonkProofHex(proof: FflonkProof): string {
  const points = POINTS.map(([name]) => Buffer.from(compressG1(proof[name], BN254)).toString("hex"));
  const values = VALUES.map(([name]) =>
    valueOf(proof, name)
      .toString(16)
      .padStart(2 * BN254.frBytes, "0"),
  );
  return [...points, ...values].join("");
}

/**
 * Reads the compressed form, lower-case hex without prefix. Refuses infinity, points off the curve, values that are not
 * below the scalar field's order, and any second spelling of a proof.
 */
export function decodeFflonkProofHex(text: string, checks: ProofChecks): Decoded<FflonkProof> {
  return decoding(() => {
    if (text.length !== 2 * PROOF_BYTES || !LOWER_HEX.test(text))
      throw new Malformed(`the proof must be ${String(2 * PROOF_BYTES)} lower-case hex digits`);
    const bytes = Buffer.from(text, "hex");
    const { fqBytes, frBytes, r } = BN254;
    return assemble(
      POINTS.map(([name, shown], i) => [
        name,
        decompressG1(bytes.subarray(i * fqBytes, (i + 1) * fqBytes), checks, shown),
      ]),
      VALUES.map(([name, shown], i) => {
        const at = POINTS.length * fqBytes + i * frBytes;
        const value = BigInt(`0x${bytes.toString("hex", at, at + frBytes)}`);
        if (value >= r) throw new Malformed(`${shown} is not below the field's modulus`);
        return [name, value];
      }),
    );
  });
}

/** Returns the proof object of snarkjs. */
export function fflonkProofToJson(proof: FflonkProof): FflonkProofJson {
  return {
    polynomials: Object.fromEntries(
      POINTS.map(([name, shown]) => [shown, g1ToJson(proof[name])]),
    ) as unknown as FflonkProofJson["polynomials"],
    evaluations: Object.fromEntries(
      VALUES.map(([name, shown]) => [shown, String(valueOf(proof, name))]),
    ) as unknown as FflonkProofJson["evaluations"],
    protocol: "fflonk",
    curve: BN254.snarkjsName,
  };
}

/** Reads snarkjs' proof object, given as parsed JSON. */
export function fflonkProofFromJson(value: unknown, checks: ProofChecks): Decoded<FflonkProof> {
  const { curve } = checks;
  return decoding(() => {
    const members = { required: ["polynomials", "evaluations", "protocol", "curve"], optional: [] };
    const record = readRecord(value, members, "the proof");
    if (record.protocol !== "fflonk") throw new Malformed("the proof's protocol must be fflonk");
    checkCurveName(record.curve, curve);
    const points = readRecord(record.polynomials, { required: POINT_NAMES, optional: [] }, "polynomials");
    const values = readRecord(record.evaluations, { required: VALUE_NAMES, optional: [] }, "evaluations");
    return assemble(
      POINTS.map(([name, shown]) => [name, g1FromJson(points[shown], checks, shown)]),
      VALUES.map(([name, shown]) => [name, readDecimal(values[shown], curve.r, shown)]),
    );
  });
}

/** Reads a proof in any form of the API: hex with or without 0x, or snarkjs' object. */
export function decodeFflonkProof(value: unknown, checks: ProofChecks): Decoded<FflonkProof> {
  if (typeof value !== "string") return fflonkProofFromJson(value, checks);
  return decodeFflonkProofHex(value.startsWith("0x") ? value.slice(2) : value, checks);
}

/** Reads many proofs as `decodeFflonkProof` does, but computes square roots for all together. */
export function decodeFflonkProofs(values: readonly unknown[], checks: JointProofChecks): Decoded<FflonkProof>[] {
  return decodeJointly(values, checks, {
    pointCount: POINTS.length,
    decode: decodeFflonkProof,
    pointsOf: (proof) => POINTS.map(([name]) => proof[name]),
  });
}

function valueOf({ evaluations, inverse }: FflonkProof, name: (typeof VALUES)[number][0]): bigint {
  return name === "inverse" ? inverse : evaluations[name];
}

function assemble(
  points: readonly (readonly [string, G1Point])[],
  values: readonly (readonly [string, bigint])[],
): FflonkProof {
  const { inverse = 0n, ...evaluations } = Object.fromEntries(values);
  return {
    curve: BN254.name,
    ...(Object.fromEntries(points) as unknown as Pick<FflonkProof, (typeof POINTS)[number][0]>),
    evaluations: evaluations as unknown as FflonkEvaluations,
    inverse,
  };
}
