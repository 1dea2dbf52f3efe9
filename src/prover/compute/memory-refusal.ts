/** The failure of a step that takes more memory than the server ever has. */
import type { MemoryBudget } from "../../platform/concurrency/memory-budget.js";
import { AppError } from "../../platform/errors.js";
import { diagnostic } from "../provisioning/diagnostics.js";
import type { StepFailure } from "./compute.js";

/**
 * Returns the failure of a step for which the budget could never be enough: it fails at once, without waiting for its
 * memory. Undefined for any other step.
 * @param need.what the step as the message names it
 */
export function refusalOf(
  memory: Pick<MemoryBudget, "require">,
  { bytes, what }: { readonly bytes: number; readonly what: string },
): StepFailure | undefined {
  try {
    memory.require(bytes, what);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ok: false, errors: [diagnostic(error.code, error.message)] };
  }
}
