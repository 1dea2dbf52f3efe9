/**
 * PLONK proofs as text: a compressed binary form in hex, and snarkjs' JSON object. The decoders are strict, so that
 * each form has one spelling per proof.
 *
 *   A || B || C || Z || T1 || T2 || T3 || Wxi || Wxiw || a || b || c || s1 || s2 || zw
 *
 * Points are compressed as in compressed-points.ts, values are big-endian integers of the scalar field's size: 480
 * bytes on BN254, 624 on BLS12-381. gnark's PLONK has other commitments, so that no form of its own exists for this
 * one.
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { G1Point } from "../curves/points.js";
import type { PlonkEvaluations, PlonkProof } from "../plonk/key.js";
import { compressG1, decompressG1 } from "./compressed-points.js";
import { readDecimal, readRecord } from "./decimal.js";
import { Malformed, decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";
import { checkCurveName, g1FromJson, g1ToJson } from "./json-points.js";
import { decodeJointly } from "./joint-g1-points.js";
import type { JointProofChecks, ProofChecks } from "./joint-g1-points.js";

/** Members of a proof in the order of the binary form, with their names in snarkjs' object. */
const POINTS = [
  ["a", "A"],
  ["b", "B"],
  ["c", "C"],
  ["z", "Z"],
  ["t1", "T1"],
  ["t2", "T2"],
  ["t3", "T3"],
  ["wXi", "Wxi"],
  ["wXiOmega", "Wxiw"],
] as const;
const VALUES = [
  ["a", "eval_a"],
  ["b", "eval_b"],
  ["c", "eval_c"],
  ["s1", "eval_s1"],
  ["s2", "eval_s2"],
  ["zOmega", "eval_zw"],
] as const;

const LOWER_HEX = /^(?:[0-9a-f]{2})*$/;

/** The proof object of snarkjs; coordinates and values decimal. */
export type PlonkProofJson = Readonly<Record<(typeof POINTS)[number][1], string[]>> &
  Readonly<Record<(typeof VALUES)[number][1], string>> & { readonly protocol: "plonk"; readonly curve: string };

type ProofPoints = Pick<PlonkProof, (typeof POINTS)[number][0]>;

/** Returns the length of a compressed proof in bytes. */
function proofBytes({ fqBytes, frBytes }: CurveParameters): number {
  return POINTS.length * fqBytes + VALUES.length * frBytes;
}

/** Returns the compressed form as lower-case hex without prefix, 960 digits on BN254 and 1,248 on BLS12-381. */
export function encodePlonkProofHex(proof: PlonkProof, curve: CurveParameters): string {
  const points = POINTS.map(([name]) => Buffer.from(compressG1(proof[name], curve)).toString("hex"));
  const values = VALUES.map(([name]) => proof.evaluations[name].toString(16).padStart(2 * curve.frBytes, "0"));
  return [...points, ...values].join("");
}

/**
 * Reads the compressed form, lower-case hex without prefix. Refuses infinity, points off the curve, values that are not
 * below the scalar field's order, and any second spelling of a proof.
 */
export function decodePlonkProofHex(text: string, checks: ProofChecks): Decoded<PlonkProof> {
  const { curve } = checks;
  return decoding(() => {
    if (text.length !== 2 * proofBytes(curve) || !LOWER_HEX.test(text))
      throw new Malformed(`the proof must be ${String(2 * proofBytes(curve))} lower-case hex digits`);
    const bytes = Buffer.from(text, "hex");
    const points = POINTS.map(([name, shown], i): [string, G1Point] => [
      name,
      decompressG1(bytes.subarray(i * curve.fqBytes, (i + 1) * curve.fqBytes), checks, shown),
    ]);
    const valuesAt = POINTS.length * curve.fqBytes;
    const values = VALUES.map(([name, shown], i): [string, bigint] => {
      const at = valuesAt + i * curve.frBytes;
      const value = BigInt(`0x${bytes.toString("hex", at, at + curve.frBytes)}`);
      if (value >= curve.r) throw new Malformed(`${shown} is not below the field's modulus`);
      return [name, value];
    });
    return assemble(curve, points, values);
  });
}

/** Returns the proof object of snarkjs. */
export function plonkProofToJson(proof: PlonkProof, curve: CurveParameters): PlonkProofJson {
  return {
    ...(Object.fromEntries(POINTS.map(([name, shown]) => [shown, g1ToJson(proof[name])])) as Record<
      (typeof POINTS)[number][1],
      string[]
    >),
    ...(Object.fromEntries(VALUES.map(([name, shown]) => [shown, String(proof.evaluations[name])])) as Record<
      (typeof VALUES)[number][1],
      string
    >),
    protocol: "plonk",
    curve: curve.snarkjsName,
  };
}

/** Reads snarkjs' proof object, given as parsed JSON. */
export function plonkProofFromJson(value: unknown, checks: ProofChecks): Decoded<PlonkProof> {
  const { curve } = checks;
  return decoding(() => {
    const names = [...POINTS, ...VALUES].map(([, shown]) => shown);
    const record = readRecord(value, { required: [...names, "protocol", "curve"], optional: [] }, "the proof");
    if (record.protocol !== "plonk") throw new Malformed("the proof's protocol must be plonk");
    checkCurveName(record.curve, curve);
    return assemble(
      curve,
      POINTS.map(([name, shown]) => [name, g1FromJson(record[shown], checks, shown)]),
      VALUES.map(([name, shown]) => [name, readDecimal(record[shown], curve.r, shown)]),
    );
  });
}

/** Reads a proof in any form of the API: hex with or without 0x, or snarkjs' object. */
export function decodePlonkProof(value: unknown, checks: ProofChecks): Decoded<PlonkProof> {
  if (typeof value !== "string") return plonkProofFromJson(value, checks);
  return decodePlonkProofHex(value.startsWith("0x") ? value.slice(2) : value, checks);
}

/** Reads many proofs as `decodePlonkProof` does, but computes square roots and membership in G1 for all together. */
export function decodePlonkProofs(values: readonly unknown[], checks: JointProofChecks): Decoded<PlonkProof>[] {
  return decodeJointly(values, checks, {
    pointCount: POINTS.length,
    decode: decodePlonkProof,
    pointsOf: (proof) => POINTS.map(([name]) => proof[name]),
  });
}

function assemble(
  curve: CurveParameters,
  points: readonly (readonly [string, G1Point])[],
  values: readonly (readonly [string, bigint])[],
): PlonkProof {
  return {
    curve: curve.name,
    ...(Object.fromEntries(points) as unknown as ProofPoints),
    evaluations: Object.fromEntries(values) as unknown as PlonkEvaluations,
  };
}
