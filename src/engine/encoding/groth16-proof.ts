/**
 * Groth16 proofs as text: gnark's compressed binary form in hex, snarkjs' JSON object, and Solidity call data. The decoders are
 * strict, so that each form has one spelling per proof; snarkjs itself takes several.
 *
 *   Ar(32) || Bs(64) || Krs(32), compressed as in compressed-points.ts: 128 bytes for BN254
 */
import type { CurveParameters } from "../curve/curve-parameters.js";
import type { Groth16Proof } from "../groth16/proof.js";
import type { Groth16ProofJson } from "../protocol.js";
import { compressG1, compressG2, decompressG1, decompressG2 } from "./compressed-points.js";
import { readRecord } from "./decimal.js";
import { Malformed, decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";
import { checkCurveName, g1FromJson, g1ToJson, g2FromJson, g2ToJson } from "./json-points.js";
import type { PointChecks } from "./json-points.js";

const LOWER_HEX = /^(?:[0-9a-f]{2})*$/;

/** Bytes of a compressed proof. */
export function proofBytes(curve: CurveParameters): number {
  return 4 * curve.fqBytes;
}

/** The proof in gnark's compressed form, as bytes. */
export function encodeProofBytes(proof: Groth16Proof, curve: CurveParameters): Uint8Array {
  const bytes = new Uint8Array(proofBytes(curve));
  bytes.set(compressG1(proof.a, curve));
  bytes.set(compressG2(proof.b, curve), curve.fqBytes);
  bytes.set(compressG1(proof.c, curve), 3 * curve.fqBytes);
  return bytes;
}

/** The proof in gnark's compressed form, lower-case hex without prefix: 256 digits for BN254. */
export function encodeProofHex(proof: Groth16Proof, curve: CurveParameters): string {
  return Buffer.from(encodeProofBytes(proof, curve)).toString("hex");
}

/** Reads the compressed form. Refuses infinity, points off the curve or outside G2, and any second spelling. */
export function decodeProofBytes(bytes: Uint8Array, checks: PointChecks): Decoded<Groth16Proof> {
  return decoding(() => {
    const { curve } = checks;
    if (bytes.length !== proofBytes(curve)) throw new Malformed(`the proof must be ${String(proofBytes(curve))} bytes long`);
    return {
      curve: curve.name,
      a: decompressG1(bytes.subarray(0, curve.fqBytes), checks, "Ar"),
      b: decompressG2(bytes.subarray(curve.fqBytes, 3 * curve.fqBytes), checks, "Bs"),
      c: decompressG1(bytes.subarray(3 * curve.fqBytes), checks, "Krs"),
    };
  });
}

/** Reads lower-case hex without prefix; see `decodeProofBytes`. */
export function decodeProofHex(text: string, checks: PointChecks): Decoded<Groth16Proof> {
  const digits = 2 * proofBytes(checks.curve);
  if (text.length !== digits || !LOWER_HEX.test(text)) return { ok: false, message: `the proof must be ${String(digits)} lower-case hex digits` };
  return decodeProofBytes(Buffer.from(text, "hex"), checks);
}

/** The proof object of snarkjs. */
export function proofToJson(proof: Groth16Proof, curve: CurveParameters): Groth16ProofJson {
  return { pi_a: g1ToJson(proof.a), pi_b: g2ToJson(proof.b), pi_c: g1ToJson(proof.c), protocol: "groth16", curve: curve.snarkjsName };
}

/** Reads snarkjs' proof object as parsed JSON. */
export function proofFromJson(value: unknown, checks: PointChecks): Decoded<Groth16Proof> {
  return decoding(() => {
    const record = readRecord(value, { required: ["pi_a", "pi_b", "pi_c", "protocol", "curve"], optional: [] }, "the proof");
    if (record.protocol !== "groth16") throw new Malformed("the proof's protocol must be groth16");
    checkCurveName(record.curve, checks.curve);
    return {
      curve: checks.curve.name,
      a: g1FromJson(record.pi_a, checks.curve, "pi_a"),
      b: g2FromJson(record.pi_b, checks, "pi_b"),
      c: g1FromJson(record.pi_c, checks.curve, "pi_c"),
    };
  });
}

/** Reads whatever form the API takes: hex with or without 0x, or snarkjs' object. */
export function decodeProof(value: unknown, checks: PointChecks): Decoded<Groth16Proof> {
  if (typeof value !== "string") return proofFromJson(value, checks);
  return decodeProofHex(value.startsWith("0x") ? value.slice(2) : value, checks);
}

/** Arguments of the Solidity verifier's `verifyProof`, as snarkjs writes them: quoted 32-byte hex, G2 with c1 first. */
export function proofToSolidityCalldata(proof: Groth16Proof, publicSignals: readonly bigint[]): string {
  const word = (value: bigint): string => `"0x${value.toString(16).padStart(64, "0")}"`;
  const list = (values: readonly bigint[], separator = ", "): string => `[${values.map(word).join(separator)}]`;
  const { a, b, c } = proof;
  return `${list([a.x, a.y])},[${list([b.x.c1, b.x.c0])},${list([b.y.c1, b.y.c0])}],${list([c.x, c.y])},${list(publicSignals, ",")}`;
}
