/** From a wrapped key to its record, and from the record to what the API shows of it. */
import { AppError } from "../../platform/errors.js";
import type { KeySpec } from "../key-specs/key-spec.js";
import type { VaultTasks } from "../protocol.js";
import type { KeyRecord } from "../repository.js";
import type { KeyJson } from "../schemas.js";

const FIRST_GENERATION = 1;

/** A key as the worker wrote it. */
export type WrittenKey = VaultTasks["create_key"]["value"];

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

/** The members of the API. */
export function keyJson({ generation: _generation, envelope: _envelope, ...key }: KeyRecord): KeyJson {
  return key;
}

/** The refusal of every use of a key that is switched off, or whose deletion is planned. */
export function keyDisabled(): AppError {
  return new AppError("key_disabled", { message: "the key is disabled, or its deletion is planned" });
}
