/**
 * Groth16 proofs as text: gnark's compressed binary form in hex, and snarkjs' JSON object. The decoders are strict, so
 * that each form has one spelling per proof; snarkjs itself accepts several.
 *
 *   Ar || Bs || Krs, compressed as in compressed-points.ts: 32 + 64 + 32 = 128 bytes on BN254, 48 + 96 + 48 = 192 on
 *   BLS12-381
 */
import type { CurveParameters } from "../curves/curve-parameters.js";
import type { PairingKernels } from "../curves/curve-kernels.js";
import { normFq2, realPartSquared, squareRoot } from "../field/prime-field.js";
import type { Fq2 } from "../field/prime-field.js";
import type { Groth16Proof } from "../groth16/proof.js";
import { compressG1, compressG2, decompressG1, decompressG2, radicandG1, radicandG2 } from "./compressed-points.js";
import { readRecord } from "./decimal.js";
import { Malformed, decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";
import { checkCurveName, g1FromJson, g1ToJson, g2FromJson, g2ToJson } from "./json-points.js";
import type { PointChecks } from "./json-points.js";

/** The proof object of snarkjs; coordinates decimal, G2 as [c0, c1]. */
export interface Groth16ProofJson {
  readonly pi_a: string[];
  readonly pi_b: string[][];
  readonly pi_c: string[];
  readonly protocol: "groth16";
  readonly curve: string;
}

/** The kernels' part in decoding many proofs at once. */
type JointPointChecks = PointChecks & Pick<PairingKernels, "areInSubgroupG2" | "squareRootPowers">;

const LOWER_HEX = /^(?:[0-9a-f]{2})*$/;

/** Returns the length of a compressed proof in bytes. */
function proofBytes(curve: CurveParameters): number {
  return 4 * curve.fqBytes;
}

/** Returns the proof in gnark's compressed form. */
function encodeProofBytes(proof: Groth16Proof, curve: CurveParameters): Uint8Array {
  const bytes = new Uint8Array(proofBytes(curve));
  bytes.set(compressG1(proof.a, curve));
  bytes.set(compressG2(proof.b, curve), curve.fqBytes);
  bytes.set(compressG1(proof.c, curve), 3 * curve.fqBytes);
  return bytes;
}

/**
 * Returns the proof in gnark's compressed form as lower-case hex without prefix, 256 digits on BN254 and 384 on
 * BLS12-381.
 * @example encodeProofHex(await proveGroth16(key, witness), BN254)
 */
export function encodeProofHex(proof: Groth16Proof, curve: CurveParameters): string {
  return Buffer.from(encodeProofBytes(proof, curve)).toString("hex");
}

/**
 * Reads the compressed form. Refuses infinity, points off their curve or outside G1 and G2, and any second spelling of
 * a proof.
 */
function decodeProofBytes(bytes: Uint8Array, checks: PointChecks): Decoded<Groth16Proof> {
  return decoding(() => {
    const { curve } = checks;
    if (bytes.length !== proofBytes(curve))
      throw new Malformed(`the proof must be ${String(proofBytes(curve))} bytes long`);
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
  if (!isProofHex(text, checks.curve))
    return { ok: false, message: `the proof must be ${String(2 * proofBytes(checks.curve))} lower-case hex digits` };
  return decodeProofBytes(Buffer.from(text, "hex"), checks);
}

/** Returns the proof object of snarkjs. */
export function proofToJson(proof: Groth16Proof, curve: CurveParameters): Groth16ProofJson {
  return {
    pi_a: g1ToJson(proof.a),
    pi_b: g2ToJson(proof.b),
    pi_c: g1ToJson(proof.c),
    protocol: "groth16",
    curve: curve.snarkjsName,
  };
}

/** Reads snarkjs' proof object, given as parsed JSON. */
export function proofFromJson(value: unknown, checks: PointChecks): Decoded<Groth16Proof> {
  return decoding(() => {
    const record = readRecord(
      value,
      { required: ["pi_a", "pi_b", "pi_c", "protocol", "curve"], optional: [] },
      "the proof",
    );
    if (record.protocol !== "groth16") throw new Malformed("the proof's protocol must be groth16");
    checkCurveName(record.curve, checks.curve);
    return {
      curve: checks.curve.name,
      a: g1FromJson(record.pi_a, checks, "pi_a"),
      b: g2FromJson(record.pi_b, checks, "pi_b"),
      c: g1FromJson(record.pi_c, checks, "pi_c"),
    };
  });
}

/** Reads a proof in any form of the API: hex with or without 0x, or snarkjs' object. */
export function decodeProof(value: unknown, checks: PointChecks): Decoded<Groth16Proof> {
  if (typeof value !== "string") return proofFromJson(value, checks);
  return decodeProofHex(withoutPrefix(value), checks);
}

/** Reads many proofs as `decodeProof` does, but computes square roots and membership in G1 and G2 for all together. */
export function decodeProofs(values: readonly unknown[], checks: JointPointChecks): Decoded<Groth16Proof>[] {
  const powers = rootPowers(values, checks);
  const unchecked: PointChecks = {
    curve: checks.curve,
    areInSubgroupG1: (points) => points.map(() => true),
    isInSubgroupG2: () => true,
    squareRootPower: (value) => powers.get(value) ?? checks.squareRootPower(value),
  };
  const decoded = values.map((value) => decodeProof(value, unchecked));
  const read = decoded.flatMap((each) => (each.ok ? [each.value] : []));
  const areInG1 = checks.areInSubgroupG1(read.flatMap(({ a, c }) => [a, c]));
  const areInG2 = checks.areInSubgroupG2(read.map(({ b }) => b));
  const areMembers = areInG2.map((isMember, i) => isMember && areInG1[2 * i] === true && areInG1[2 * i + 1] === true);
  let next = 0;
  return decoded.map((each, i) => {
    if (!each.ok || areMembers[next++] === true) return each;
    // Decoded once more, for the decoder's own message.
    return decodeProof(values[i], checks);
  });
}

/**
 * Computes the powers that decoding will need, in two rounds: those of G1 and of the norms of G2, then those that
 * depend on the norms' roots. Malformed values are left to the decoder.
 */
function rootPowers(values: readonly unknown[], checks: JointPointChecks): Map<bigint, bigint> {
  const { curve } = checks;
  const radicands = values.flatMap((value) => {
    const text = typeof value === "string" ? withoutPrefix(value) : "";
    return isProofHex(text, curve) ? radicandsOf(Buffer.from(text, "hex"), curve) : [];
  });
  const powers = new Map<bigint, bigint>();
  const compute = (of: readonly bigint[]): void => {
    for (const [i, power] of checks.squareRootPowers(of).entries()) powers.set(of[i] ?? 0n, power);
  };
  compute(radicands.flatMap(({ a, b, c }) => [a, normFq2(b, curve.q), c]));
  compute(
    radicands.flatMap(({ b }) => {
      const norm = squareRoot(normFq2(b, curve.q), curve.q, (value) => powers.get(value) ?? 0n);
      return norm === undefined ? [] : [realPartSquared(b, norm, curve.q)];
    }),
  );
  return powers;
}

function radicandsOf(bytes: Uint8Array, curve: CurveParameters): { a: bigint; b: Fq2; c: bigint }[] {
  const { fqBytes } = curve;
  const read = decoding(() => ({
    a: radicandG1(bytes.subarray(0, fqBytes), curve),
    b: radicandG2(bytes.subarray(fqBytes, 3 * fqBytes), curve),
    c: radicandG1(bytes.subarray(3 * fqBytes), curve),
  }));
  return read.ok ? [read.value] : [];
}

function isProofHex(text: string, curve: CurveParameters): boolean {
  return text.length === 2 * proofBytes(curve) && LOWER_HEX.test(text);
}

function withoutPrefix(text: string): string {
  return text.startsWith("0x") ? text.slice(2) : text;
}
