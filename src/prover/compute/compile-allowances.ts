/** What a compilation may take where the operator has set it for its owner (PROOFWRIGHT_COMPILE_OWNERS). */
import { StartError } from "../../platform/start-error.js";
import type { CompileAllowance } from "./compile-task.js";

/** By the name under which the owner's work waits for its turn, such as `organization:<uuid>`. */
export type CompileAllowances = ReadonlyMap<string, CompileAllowance>;

/** As the settings for everyone. */
const MEMORY_MB = { min: 128, max: 65_536 };
const SECONDS = { min: 1, max: 3_600 };

/**
 * Reads `user:<uuid>=<MiB>/<seconds>` and the same of organizations, comma separated, whose form the setting has
 * checked.
 * @throws StartError for numbers that the settings for everyone do not allow either, and for an owner named twice
 */
export function parseCompileOwners(text: string): CompileAllowances {
  const allowances = new Map<string, CompileAllowance>();
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const [name = "", limits = ""] = entry.split("=", 2);
    const owner = name.toLowerCase();
    const [memoryMb, seconds] = limits.split("/").map(Number);
    if (allowances.has(owner)) throw new StartError(`PROOFWRIGHT_COMPILE_OWNERS names ${owner} twice`);
    allowances.set(owner, {
      memoryMb: bounded(memoryMb, MEMORY_MB, `MiB of ${owner}`),
      seconds: bounded(seconds, SECONDS, `seconds of ${owner}`),
    });
  }
  return allowances;
}

function bounded(
  value: number | undefined,
  { min, max }: { readonly min: number; readonly max: number },
  what: string,
): number {
  if (value !== undefined && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new StartError(`PROOFWRIGHT_COMPILE_OWNERS: ${what} must be from ${String(min)} to ${String(max)}`);
}
