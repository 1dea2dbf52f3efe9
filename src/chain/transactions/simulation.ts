/**
 * What a call returns, as far as it can be known: chains keep no return values, so that the call is simulated on the
 * latest block at submission. The mined call may return something else.
 */
import { AppError } from "../../platform/errors.js";
import { RpcRefusal } from "../rpc/rpc.js";
import type { GasRequest } from "./fees/gas.js";
import type { SubmissionRequest } from "./submission-port.js";
import type { TransactionNetwork } from "./transaction-ports.js";
import type { SimulatedReturn } from "./transaction-record.js";
import { RETURN_BYTES_MAX } from "./transaction-schemas.js";

/** Numbers and names make JSON longer than the data that it says. */
const VALUE_CHARACTERS_MAX = 8 * RETURN_BYTES_MAX;
/** No submission waits longer for what it can do without. */
const TIMEOUT_MS = 3_000;

/**
 * Returns what the call would return now; undefined when nothing reads it, the call fails, or it returns too much.
 * Whether the transaction can be made is for the estimate of gas to say: a node that refuses this call keeps nothing
 * back.
 */
export async function simulatedReturn(
  { rpc }: TransactionNetwork,
  { from, to, value, data }: GasRequest,
  { readReturn, gas }: Pick<SubmissionRequest, "readReturn" | "gas">,
): Promise<SimulatedReturn | undefined> {
  if (readReturn === undefined || to === null) return undefined;
  const call = {
    from,
    to,
    value: `0x${value.toString(16)}`,
    data,
    ...(gas === undefined ? {} : { gas: `0x${gas.toString(16)}` }),
  };
  try {
    const answer = await rpc.request("eth_call", [call, "latest"], { timeoutMs: TIMEOUT_MS });
    if (typeof answer !== "string" || answer.length > 2 + 2 * RETURN_BYTES_MAX) return undefined;
    const found = readReturn(answer);
    // An ABI may read the same bytes many times over.
    return JSON.stringify(found ?? null).length > VALUE_CHARACTERS_MAX ? undefined : found;
  } catch (error) {
    if (error instanceof AppError || error instanceof RpcRefusal) return undefined;
    throw error;
  }
}
