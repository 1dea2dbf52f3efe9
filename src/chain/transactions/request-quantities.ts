/**
 * Reads the quantities of request bodies, whose form the schema has checked: an integer, decimal text, or 0x-hex text.
 */
import { AppError } from "../../platform/errors.js";

const UINT256_MAX = 2n ** 256n - 1n;

/** Reads one quantity. Throws `invalid_request` above 2^256 - 1. */
export function readQuantity(value: number | string): bigint {
  const number = BigInt(value);
  if (number > UINT256_MAX) throw new AppError("invalid_request", { message: "a quantity is above 2^256 - 1" });
  return number;
}
