/** Makes the record of a wrapped key, and the API's view of a record. */
import { AppError } from "../../platform/errors.js";
import type { KeySpec } from "../key-specs/key-spec.js";
import type { VaultTasks } from "../protocol.js";
import type { KeyRecord } from "../vault-records.js";
import type { KeyJson } from "../schemas.js";

/** Generation of a key that was never rotated, and of a vault's record key. */
export const FIRST_GENERATION = 1;

/** A key as the worker wrapped it. */
export type WrittenKey = VaultTasks["create_key"]["value"];

/**
 * Returns the record of a new key.
 * @param input the caller's name and description; the description is empty by default
 */
export function newKeyRecord(
  identity: Pick<KeyRecord, "id" | "created_at" | "vault_id">,
  spec: KeySpec,
  input: { readonly name: string; readonly description?: string },
  written: WrittenKey,
): KeyRecord {
  return {
    ...identity,
    type: spec.type,
    usage: spec.usage,
    spec: spec.name,
    name: input.name,
    description: input.description ?? "",
    ...(written.publicKey === undefined ? {} : { public_key: written.publicKey }),
    ...(written.address === undefined ? {} : { address: written.address }),
    generation: FIRST_GENERATION,
    envelope: written.envelope,
  };
}

/** Returns the members that the API shows: all but generation and envelope. */
export function keyJson({ generation: _generation, envelope: _envelope, ...key }: KeyRecord): KeyJson {
  return key;
}

/**
 * Requires that callers may use the key themselves.
 * @throws key_server_only for one with which only this server's own statements are signed
 */
export function requireForCallers({ server_only: isServerOnly }: Pick<KeyRecord, "server_only">): void {
  if (isServerOnly === true)
    throw new AppError("key_server_only", {
      message: "this key signs statements of the server, such as receipts and tree heads, and nothing else",
    });
}

/** Rejects the use of a key that is disabled or whose deletion is planned. */
export function keyDisabled(): AppError {
  return new AppError("key_disabled", { message: "the key is disabled, or its deletion is planned" });
}
