/**
 * Finds out why a call failed: decodes the return data of a revert by the contract's own ABI first, then as Solidity's
 * Error(string) and Panic(uint256), and recognizes a lack of gas.
 */
import type { Hex } from "../hex.js";
import { AppError, type Revert } from "../../platform/errors.js";
import type { StoreValue } from "../../platform/store/store.js";
import { RpcRefusal } from "../rpc/rpc.js";
import { executionFailure } from "../transactions/sending/refusals.js";
import { membersOf, readAbi, selectorOf, signatureOf, type ContractAbi } from "./abi/abi.js";
import type { AbiMember } from "./abi/abi-types.js";
import { decodeMembers, named } from "./abi/abi-values.js";

const OUT_OF_GAS =
  /out of gas|gas required exceeds|intrinsic gas (too low|low|too high)|gas (limit )?(is )?too low|exceeds block gas limit|OutOfGas/i;
/** A custom error's arguments may be long; the first ones say enough. */
const REASON_CHARACTERS_MAX = 500;
const DATA = /^0x(?:[0-9a-f]{2}){4,}$/i;

/** Return data that an answer repeats, in characters: 128 words of 32 bytes. */
const DATA_CHARACTERS_MAX = 2 + 128 * 64;

/** Solidity's own errors, which no ABI lists. */
const STANDARD_ERRORS = readAbi(
  [
    { type: "error", name: "Error", inputs: [{ name: "message", type: "string" }] },
    { type: "error", name: "Panic", inputs: [{ name: "code", type: "uint256" }] },
  ],
  "the standard errors",
);

/**
 * Returns what return data says by the errors of an ABI and Solidity's own.
 * @returns undefined without data
 */
export function revertOf(abi: ContractAbi, data: string | undefined): Revert | undefined {
  if (data === undefined) return undefined;
  const { name, members, values } = errorOf([...abi, ...STANDARD_ERRORS], data) ?? {};
  return {
    name: name ?? null,
    args: members === undefined || values === undefined ? null : named(members, values),
    data: data.slice(0, DATA_CHARACTERS_MAX),
  };
}

/** Returns `InsufficientBalance(available: 0, required: 5)`, or undefined when the ABI has no such error. */
export function customErrorText(abi: ContractAbi, data: string | undefined): string | undefined {
  const found = errorOf(abi, data);
  if (found === undefined) return undefined;
  const { name, members, values } = found;
  if (values === undefined) return `${name}(?)`;
  const listed = members
    .map((member, index) => `${member.name === "" ? "" : `${member.name}: `}${JSON.stringify(values[index])}`)
    .join(", ");
  return `${name}(${listed})`.slice(0, REASON_CHARACTERS_MAX);
}

/**
 * Returns the failure of a call or an estimate with its reason decoded: `execution_reverted` with the revert in its
 * details, `out_of_gas` or what else the node's refusal means.
 * @param error a refusal, or an AppError that has one as its cause; any other value is returned unchanged
 */
export function callFailure(error: unknown, abi: ContractAbi): unknown {
  const refusal = refusalOf(error);
  if (refusal === undefined) return error;
  const custom = customErrorText(abi, refusal.data);
  if (custom !== undefined) return reverted(`the call would revert: ${custom}`, { refusal, abi });
  if (OUT_OF_GAS.test(refusal.message))
    return new AppError("out_of_gas", { message: "the call needs more gas than it was given", cause: refusal });
  const failure = error instanceof AppError ? error : executionFailure(refusal);
  return failure.code === "execution_reverted" ? reverted(failure.message, { refusal, abi }) : failure;
}

/** Returns an `execution_reverted` with the revert in its details; any other value unchanged. */
export function withRevert(error: unknown): unknown {
  const refusal = refusalOf(error);
  return refusal !== undefined && error instanceof AppError && error.code === "execution_reverted"
    ? reverted(error.message, { refusal, abi: [] })
    : error;
}

function reverted(
  message: string,
  { refusal, abi }: { readonly refusal: RpcRefusal; readonly abi: ContractAbi },
): AppError {
  const code = "execution_reverted";
  const revert = revertOf(abi, refusal.data);
  const details = [{ message, code, ...(revert === undefined ? {} : { revert }) }];
  return new AppError(code, { message, details, cause: refusal });
}

function refusalOf(error: unknown): RpcRefusal | undefined {
  if (error instanceof RpcRefusal) return error;
  return error instanceof AppError && error.cause instanceof RpcRefusal ? error.cause : undefined;
}

interface FoundError {
  readonly name: string;
  readonly members: readonly AbiMember[];
  /** Undefined where the data does not match the members. */
  readonly values: StoreValue[] | undefined;
}

function errorOf(abi: ContractAbi, data: string | undefined): FoundError | undefined {
  if (data === undefined || !DATA.test(data)) return undefined;
  const selector = data.slice(0, 10).toLowerCase();
  for (const entry of abi) {
    if (entry.type !== "error" || selectorOf(signatureOf(entry)) !== selector) continue;
    const members = membersOf(entry.inputs);
    return { name: entry.name, members, values: decodeMembers(members, `0x${data.slice(10)}`) };
  }
  return undefined;
}

/** Returns return data as 0x-hex, or undefined for a value that is none. */
export function hexOf(value: unknown): Hex | undefined {
  return typeof value === "string" && /^0x(?:[0-9a-fA-F]{2})*$/.test(value) ? (value as Hex) : undefined;
}
