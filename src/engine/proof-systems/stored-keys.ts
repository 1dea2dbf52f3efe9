/**
 * Checks keys as they lie in the artifact store, and writes what is published with them: the work of the gates process.
 */
import type { ProofSystemName } from "./names.js";
import type { StoredKey } from "./proof-system.js";
import { proofSystem } from "./table.js";

export type CheckedKey =
  | {
      readonly ok: true;
      /** Source of a Solidity contract that verifies the key's proofs; absent where the EVM has no precompiles. */
      readonly verifierContract?: string;
    }
  | { readonly ok: false; readonly message: string };

/** Runs all gates of a system on a key. */
export async function checkStoredKey(name: ProofSystemName, stored: StoredKey): Promise<CheckedKey> {
  const system = proofSystem(name);
  const checked = await system.checkKey(stored);
  if (!checked.ok || system.solidityVerifier === undefined) return checked;
  return { ok: true, verifierContract: await system.solidityVerifier(JSON.parse(stored.verifyingKey)) };
}
