/** The API's view of the records of vaults and secrets. */
import type { SecretRecord, VaultRecord } from "./vault-records.js";
import type { SecretJson, VaultJson } from "./schemas.js";

/** Returns the members of a vault that the API shows. */
export function vaultJson({ id, created_at, name, description, deletes_at }: VaultRecord): VaultJson {
  return { id, created_at, name, description, ...(deletes_at === undefined ? {} : { deletes_at }) };
}

/** Returns the members of a secret that the API shows, without its value. */
export function secretJson({ envelope: _envelope, ...secret }: SecretRecord): SecretJson {
  return secret;
}
