/**
 * Finds out why a call failed: decodes the return data of a revert by the contract's own ABI first, then as Solidity's
 * Error(string) and Panic(uint256), and recognizes a lack of gas.
 */
import type { Hex } from "viem";
import { AppError } from "../../platform/errors.js";
import { RpcRefusal } from "../rpc/rpc.js";
import { executionFailure } from "../transactions/sending/refusals.js";
import { membersOf, selectorOf, signatureOf, type ContractAbi } from "./abi/abi.js";
import { decodeMembers } from "./abi/abi-values.js";

const OUT_OF_GAS =
  /out of gas|gas required exceeds|intrinsic gas (too low|low|too high)|gas (limit )?(is )?too low|exceeds block gas limit|OutOfGas/i;
/** A custom error's arguments may be long; the first ones say enough. */
const REASON_CHARACTERS_MAX = 500;
const DATA = /^0x(?:[0-9a-f]{2}){4,}$/i;

/** Returns `InsufficientBalance(available: 0, required: 5)`, or undefined when the ABI has no such error. */
export function customErrorText(abi: ContractAbi, data: string | undefined): string | undefined {
  if (data === undefined || !DATA.test(data)) return undefined;
  const selector = data.slice(0, 10).toLowerCase();
  for (const entry of abi) {
    if (entry.type !== "error" || selectorOf(signatureOf(entry)) !== selector) continue;
    const members = membersOf(entry.inputs);
    const values = decodeMembers(members, `0x${data.slice(10)}`);
    if (values === undefined) return `${entry.name}(?)`;
    const listed = members
      .map(({ name }, index) => `${name === "" ? "" : `${name}: `}${JSON.stringify(values[index])}`)
      .join(", ");
    return `${entry.name}(${listed})`.slice(0, REASON_CHARACTERS_MAX);
  }
  return undefined;
}

/**
 * Returns the failure of a call or an estimate with its reason decoded: `execution_reverted`, `out_of_gas` or what else
 * the node's refusal means.
 * @param error a refusal, or an AppError that has one as its cause; any other value is returned unchanged
 */
export function callFailure(error: unknown, abi: ContractAbi): unknown {
  const refusal =
    error instanceof RpcRefusal
      ? error
      : error instanceof AppError && error.cause instanceof RpcRefusal
        ? error.cause
        : undefined;
  if (refusal === undefined) return error;
  const custom = customErrorText(abi, refusal.data);
  if (custom !== undefined)
    return new AppError("execution_reverted", { message: `the call would revert: ${custom}`, cause: refusal });
  if (OUT_OF_GAS.test(refusal.message))
    return new AppError("out_of_gas", { message: "the call needs more gas than it was given", cause: refusal });
  if (error instanceof AppError) return error;
  return executionFailure(refusal);
}

/** Returns return data as viem takes it, or undefined for a value that is none. */
export function hexOf(value: unknown): Hex | undefined {
  return typeof value === "string" && /^0x(?:[0-9a-fA-F]{2})*$/.test(value) ? (value as Hex) : undefined;
}
