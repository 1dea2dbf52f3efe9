/** Words of the vaults that several of their pages share. */
import type { Key } from "../parts/records.js";

export const VAULT_TABS = [
  ["", "Vaults"],
  ["seal", "Seal"],
] as const;

/** How a key is, in a word. */
export function stateOf({ disabled_at, deletes_at }: Key): string {
  if (deletes_at !== undefined) return "deletion planned";
  return disabled_at === undefined ? "ready" : "disabled";
}
