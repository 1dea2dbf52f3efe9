/** Public signals as canonical decimal strings, outputs before public inputs. */
import type { CurveParameters } from "../curves/curve-parameters.js";
import { readDecimal, readTuple } from "./decimal.js";
import { decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";

export function encodePublicSignals(publicSignals: readonly bigint[]): string[] {
  return publicSignals.map(String);
}

/**
 * Reads exactly `count` canonical decimals below r (comparing with the base field's modulus instead is CVE-2023-33252's
 * sequel).
 */
export function decodePublicSignals(value: unknown, count: number, curve: CurveParameters): Decoded<bigint[]> {
  return decoding(() =>
    readTuple(value, count, "publicSignals").map((signal, i) =>
      readDecimal(signal, curve.r, `publicSignals[${String(i)}]`),
    ),
  );
}
