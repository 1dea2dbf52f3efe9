/** What one item of an operation came to inside the worker. */
import { AppError } from "../../platform/errors.js";
import type { ItemOutcome } from "../protocol.js";
import type { Deferred } from "../threads/batch.js";

/**
 * Takes a deferred result. A refusal is the item's outcome, and so is a signature that failed its own check; a damaged
 * record and a fault of our own concern all items and are thrown.
 */
export function itemOutcome(result: Deferred<object | string>): ItemOutcome {
  try {
    return { ok: true, value: result() };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "data_corrupt" || error.code === "vault_sealed") throw error;
    return { ok: false, code: error.code, message: error.message, details: error.details };
  }
}
