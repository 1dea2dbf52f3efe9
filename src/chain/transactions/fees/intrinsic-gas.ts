/**
 * The gas that a transaction needs before it does anything (EIP-2028, EIP-3860) and at least pays for its data
 * (EIP-7623). A node may take a transaction with less and never put it into a block, which would hold up the later
 * nonces of the account.
 */
import { AppError } from "../../../platform/errors.js";

const BASE = 21_000n;
const CREATION = 32_000n;
const INIT_CODE_WORD = 2n;
const WORD_BYTES = 32n;
/**
 * Tokens of data: one for a zero byte, four for another. A token costs 4, and 10 where that comes to more than the
 * work.
 */
const TOKENS_OF_OTHER_BYTE = 4n;
const TOKEN = 4n;
const TOKEN_FLOOR = 10n;

/**
 * Returns the gas that a transaction must have at least: the larger of the intrinsic cost and the floor. Chains before
 * EIP-7623 know only the first.
 * @param to null for the creation of a contract
 * @param data 0x-hex
 */
export function intrinsicGas(to: string | null, data: string): bigint {
  const bytes = Buffer.from(data.slice(2), "hex");
  let zeros = 0n;
  for (const byte of bytes) if (byte === 0) zeros += 1n;
  const length = BigInt(bytes.length);
  const tokens = zeros + (length - zeros) * TOKENS_OF_OTHER_BYTE;
  const creation = to === null ? CREATION + INIT_CODE_WORD * ((length + WORD_BYTES - 1n) / WORD_BYTES) : 0n;
  const intrinsic = BASE + tokens * TOKEN + creation;
  const floor = BASE + tokens * TOKEN_FLOOR;
  return intrinsic > floor ? intrinsic : floor;
}

/** Throws `out_of_gas` for a limit of the caller that no block would take. Parameters as `intrinsicGas`. */
export function requireIntrinsicGas(gas: bigint, to: string | null, data: string): void {
  const least = intrinsicGas(to, data);
  if (gas < least)
    throw new AppError("out_of_gas", {
      message: `gas: this transaction needs at least ${String(least)} before it does anything`,
    });
}
