/**
 * The gas that a transaction needs before it does anything (EIP-2028, EIP-2930, EIP-3860, EIP-7702) and at least pays
 * for its data (EIP-7623). A node may take a transaction with less and never put it into a block, which would hold up
 * the later nonces of the account.
 */
import { AppError } from "../../../platform/errors.js";

/** What a transaction names beside its data; nothing for those that this server makes. */
export interface TransactionLists {
  readonly accessListAddresses?: number;
  readonly accessListKeys?: number;
  readonly authorizations?: number;
}

const BASE = 21_000n;
const CREATION = 32_000n;
const INIT_CODE_WORD = 2n;
const WORD_BYTES = 32n;
const ACCESS_LIST_ADDRESS = 2_400n;
const ACCESS_LIST_KEY = 1_900n;
const AUTHORIZATION = 25_000n;
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
export function intrinsicGas(to: string | null, data: string, lists: TransactionLists = {}): bigint {
  const intrinsic = gasBeforeExecution(to, data, lists);
  const floor = BASE + tokensOf(data) * TOKEN_FLOOR;
  return intrinsic > floor ? intrinsic : floor;
}

/** Returns the intrinsic cost alone, which every chain asks for. Parameters as `intrinsicGas`. */
export function gasBeforeExecution(to: string | null, data: string, lists: TransactionLists = {}): bigint {
  const { accessListAddresses = 0, accessListKeys = 0, authorizations = 0 } = lists;
  const bytes = BigInt((data.length - 2) / 2);
  const creation = to === null ? CREATION + INIT_CODE_WORD * ((bytes + WORD_BYTES - 1n) / WORD_BYTES) : 0n;
  return (
    BASE +
    tokensOf(data) * TOKEN +
    creation +
    BigInt(accessListAddresses) * ACCESS_LIST_ADDRESS +
    BigInt(accessListKeys) * ACCESS_LIST_KEY +
    BigInt(authorizations) * AUTHORIZATION
  );
}

/** Throws `out_of_gas` for a limit of the caller that no block would take. Parameters as `intrinsicGas`. */
export function requireIntrinsicGas(gas: bigint, { to, data, lists }: TransactionContent): void {
  requireGas(gas, intrinsicGas(to, data, lists));
}

/**
 * Throws `out_of_gas` for a limit that no chain takes, whether it knows EIP-7623 or not: for bytes that are signed
 * already, of which the chain may be any. Parameters as `intrinsicGas`.
 */
export function requireGasBeforeExecution(gas: bigint, { to, data, lists }: TransactionContent): void {
  requireGas(gas, gasBeforeExecution(to, data, lists));
}

interface TransactionContent {
  readonly to: string | null;
  readonly data: string;
  readonly lists?: TransactionLists;
}

function requireGas(gas: bigint, least: bigint): void {
  if (gas < least)
    throw new AppError("out_of_gas", {
      message: `gas: this transaction needs at least ${String(least)} before it does anything`,
    });
}

function tokensOf(data: string): bigint {
  const bytes = Buffer.from(data.slice(2), "hex");
  let zeros = 0n;
  for (const byte of bytes) if (byte === 0) zeros += 1n;
  return zeros + (BigInt(bytes.length) - zeros) * TOKENS_OF_OTHER_BYTE;
}
