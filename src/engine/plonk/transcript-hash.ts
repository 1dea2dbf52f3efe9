/**
 * The hash behind the challenges of PLONK and FFLONK as snarkjs computes them: Keccak-256 of the items one after the
 * other, modulo r.
 *
 * Points are written as big-endian x then y, infinity as zeros, scalars as big-endian integers of the scalar field's
 * size; the challenge is the hash as a big-endian integer.
 */
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { AnyCurve } from "../curves/curve-parameters.js";
import type { G1Point } from "../curves/points.js";

/** A scalar in [0, r), or a point; undefined is infinity. */
export type TranscriptItem = bigint | G1Point | undefined;

/** Returns the challenge that follows from the items, in [0, r). */
export function challengeOf({ fqBytes, frBytes, r }: AnyCurve, items: readonly TranscriptItem[]): bigint {
  const hex = items
    .map((item) => {
      if (typeof item === "bigint") return hexOf(item, frBytes);
      return hexOf(item?.x ?? 0n, fqBytes) + hexOf(item?.y ?? 0n, fqBytes);
    })
    .join("");
  return BigInt(`0x${Buffer.from(keccak_256(Buffer.from(hex, "hex"))).toString("hex")}`) % r;
}

function hexOf(value: bigint, bytes: number): string {
  return value.toString(16).padStart(2 * bytes, "0");
}
