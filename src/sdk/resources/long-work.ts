/** Proofs, and waiting for what the server works on after it has answered. */
import type { Calls } from "../calls.js";
import { waitFor, type WaitOptions } from "../delays.js";
import type { AnswerAt, BodyAt, FileBody } from "../endpoints.js";
import { ProvisioningError, TransactionError } from "../errors.js";
import type { CallOptions } from "../transport.js";

type Progress = AnswerAt<"GET /api/v1/provers/:id/status">;
type Transaction = AnswerAt<"GET /api/v1/transactions/:id">;

export interface ProveOptions extends CallOptions {
  /** Adds this form of the proof to the answer. */
  readonly format?: "snarkjs" | "solidity";
}

export interface ProvisioningWait extends WaitOptions {
  /** Called at first and whenever status, step or share change. */
  readonly onProgress?: (progress: Progress) => void;
}

export interface TransactionWait extends WaitOptions {
  /** Called at first and whenever the state changes. */
  readonly onProgress?: (transaction: Transaction) => void;
}

/** Proofs, which take as long as the circuit is large, and the wait for keys. */
export function provingCalls(calls: Calls) {
  return {
    /** Makes a proof of inputs by signal name. */
    prove: async (id: string, body: BodyAt<"POST /api/v1/provers/:id/prove">, options: ProveOptions = {}) => {
      const { format, ...rest } = options;
      const input = { params: { id }, body, ...(format && { query: { format } }) };
      return await calls.create("POST /api/v1/provers/:id/prove", input, rest);
    },
    /** Makes a proof of a whole witness, a `.wtns` file. */
    proveWitness: async (id: string, body: FileBody, options: ProveOptions = {}) => {
      const { format, ...rest } = options;
      const input = { params: { id }, body, ...(format && { query: { format } }) };
      return await calls.json("POST /api/v1/provers/:id/prove/witness", input, rest);
    },
    /**
     * Waits until a prover's keys are ready, and returns it.
     * @throws ProvisioningError with what the compiler said
     * @throws TimeoutError
     */
    waitUntilProvisioned: async (id: string, { onProgress, ...wait }: ProvisioningWait = {}) => {
      const changed = onChange(({ status, step, progress }: Progress) => [status, step, progress], onProgress);
      const last = await waitFor(
        `provisioning of ${id}`,
        async (signal) => {
          const value = await calls.json("GET /api/v1/provers/:id/status", { params: { id } }, signalOf(signal));
          changed(value);
          return { value, isFinal: value.finished };
        },
        wait,
      );
      if (last.status === "failed") throw new ProvisioningError(id, last.errors);
      return await calls.json("GET /api/v1/provers/:id", { params: { id } }, signalOf(wait.signal));
    },
  };
}

/** The wait for blocks. */
export function miningCalls(calls: Calls) {
  return {
    /**
     * Waits until a transaction is in a block, and returns it.
     * @throws TransactionError when it failed, was replaced or cancelled
     * @throws TimeoutError
     */
    waitUntilMined: async (id: string, { onProgress, ...wait }: TransactionWait = {}) => {
      const changed = onChange(({ state }: Transaction) => [state], onProgress);
      const last = await waitFor(
        `transaction ${id}`,
        async (signal) => {
          const value = await calls.json("GET /api/v1/transactions/:id", { params: { id } }, signalOf(signal));
          changed(value);
          return { value, isFinal: value.status !== "pending" };
        },
        wait,
      );
      if (last.status === "failed") throw new TransactionError(last);
      return last;
    },
  };
}

/** Returns a function that calls the listener when what `keyOf` picks differs from the last time. */
export function onChange<T>(keyOf: (value: T) => unknown[], listener?: (value: T) => void): (value: T) => void {
  let last: string | undefined;
  return (value) => {
    const key = JSON.stringify(keyOf(value));
    if (key !== last) listener?.(value);
    last = key;
  };
}

function signalOf(signal: AbortSignal | undefined): CallOptions {
  return signal === undefined ? {} : { signal };
}
