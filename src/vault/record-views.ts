/** What the API shows of the records of vaults and secrets. */
import type { SecretRecord, VaultRecord } from "./repository.js";
import type { SecretJson, VaultJson } from "./schemas.js";

export function vaultJson({ id, created_at, name, description, deletes_at }: VaultRecord): VaultJson {
  return { id, created_at, name, description, ...(deletes_at === undefined ? {} : { deletes_at }) };
}

export function secretJson({ envelope: _envelope, ...secret }: SecretRecord): SecretJson {
  return secret;
}
