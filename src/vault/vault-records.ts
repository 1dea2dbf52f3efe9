/** What the store keeps of vaults, keys and secrets, and what a look-up returns of them. */
import type { StoreRecord } from "../platform/store/store.js";
import type { KeyReference, SecretReference, VaultReference } from "./protocol.js";
import type { KeyJson, SecretJson, VaultJson } from "./schemas.js";

export interface VaultRecord extends VaultJson {
  readonly owner_kind: string;
  readonly owner_id: string;
  readonly master_key_id: string;
  /** Generation of the record key that new records are wrapped under. */
  readonly generation: number;
}
export interface KeyRecord extends KeyJson {
  /** Counts rotations; part of the header of the key's ciphertexts. */
  readonly generation: number;
  readonly envelope: string;
}
export interface SecretRecord extends SecretJson {
  readonly envelope: string;
}

/** A record as read, and the part of it that goes to the worker. */
export interface Found<Row, Reference> {
  readonly record: StoreRecord<Row>;
  readonly reference: Reference;
}
export type FoundVault = Found<VaultRecord, VaultReference>;
export type FoundKey = Found<KeyRecord, KeyReference>;
export type FoundSecret = Found<SecretRecord, SecretReference>;

export interface KeyInVault {
  readonly vault: FoundVault;
  readonly key: FoundKey;
}
