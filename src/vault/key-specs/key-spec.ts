/**
 * What a key specification is: how its material comes to be and what the key can do. One file per spec implements this;
 * table.ts lists them. The functions run in the vault worker only; the names and capabilities are read anywhere.
 */
import type { KeyObject } from "node:crypto";
import type { SecretBytes } from "../../crypto/secret-bytes.js";
import type { DeriveInput } from "../worker/key-hierarchy.js";
import type { KeyOptions, SignMessage, SignOptions, SignResultJson } from "../keys/operation-schemas.js";
import type { Answer } from "../threads/batch.js";

export type KeyType = "symmetric" | "asymmetric";
export type KeyUsage = "encrypt/decrypt" | "sign/verify";

/**
 * First byte of a key record's plaintext: what follows, so that decoding never guesses. Values are stored; never
 * renumber.
 */
export const MATERIAL_KINDS = { raw32: 0x01, pkcs8: 0x02, bip39_entropy: 0x03 } as const;
export type MaterialKind = keyof typeof MATERIAL_KINDS;

/** A key inside a running operation of the worker. */
export interface UnwrappedKey {
  readonly vaultId: string;
  readonly keyId: string;
  /** Counts rotations of the key; stands in the header of its ciphertexts. */
  readonly generation: number;
  /** Without the material kind byte; wiped when the operation ends. */
  readonly material: SecretBytes;
  /** The public part from the record, authenticated together with the material; empty where the spec has none. */
  readonly publicKey: Uint8Array;
  /** What OpenSSL makes of the material for a purpose; made on first use and kept for a while. */
  toKeyObject(purpose: string, make: (material: Uint8Array) => KeyObject): KeyObject;
}

export interface GeneratedKey {
  readonly material: SecretBytes;
  /** Public part for the record, where the spec has one. */
  readonly publicKey?: Uint8Array;
  /** Blockchain account address, where the spec has one. */
  readonly address?: string;
}

/** One thing to sign or to verify, as the API takes it. */
export interface SignItem {
  readonly message?: SignMessage;
  readonly options?: SignOptions;
}
export interface VerifyItem extends SignItem {
  readonly signature: string;
}
/** What a signature answers beside itself depends on the format: see the route's schema. */
export type SignAnswer = Omit<SignResultJson, "batch">;

export interface KeySpec {
  /** The name on the wire, in its canonical spelling. */
  readonly name: string;
  readonly type: KeyType;
  readonly usage: KeyUsage;
  readonly materialKind: MaterialKind;
  /**
   * Microseconds that the slowest operation takes, by order of magnitude: decides which thread runs it and how many
   * items of a batch go to the thread at once. Measured by `bench vault`.
   */
  readonly operationUs: number;
  generate(options: KeyOptions): GeneratedKey | Promise<GeneratedKey>;
  /** Absent: `spec_cannot_encrypt`. Answers the frame of the API. */
  encrypt?(key: UnwrappedKey, plaintext: Uint8Array, context: Uint8Array): Uint8Array;
  /** Absent: `spec_cannot_decrypt`. */
  decrypt?(key: UnwrappedKey, frame: Uint8Array, context: Uint8Array): Uint8Array;
  /** Absent: `spec_cannot_derive`. The child is a key of the same spec. */
  derive?(key: UnwrappedKey, input: DeriveInput): SecretBytes;
  /** Absent: `spec_cannot_sign`. The signature was verified before it is answered. */
  sign?(key: UnwrappedKey, item: SignItem): SignAnswer;
  /** The same for many items where that is cheaper than one by one; answers in order, and each for itself. */
  signMany?(key: UnwrappedKey, items: readonly SignItem[]): readonly Answer<SignAnswer>[];
  /** Absent: `spec_cannot_verify`. False for every wrong signature, whatever is wrong with it. */
  verify?(key: UnwrappedKey, item: VerifyItem): boolean;
  /** As `signMany`. */
  verifyMany?(key: UnwrappedKey, items: readonly VerifyItem[]): readonly Answer<boolean>[];
  /** The same for a public key that the caller brings. Absent: `spec_cannot_verify`. */
  verifyDetached?(publicKey: Uint8Array, item: VerifyItem): boolean;
  /** Reads a caller's public key; undefined when it is none of this spec. There when `verifyDetached` is. */
  readPublicKey?(text: string): Uint8Array | undefined;
  /**
   * Absent: `spec_cannot_agree`. 32 bytes derived from the secret shared with a peer's public key; undefined for a bad
   * one.
   */
  agree?(key: UnwrappedKey, peer: Uint8Array, context: Uint8Array): Uint8Array | undefined;
  /** The members of the public key as a JSON Web Key, without `kid`. Absent: the key is not in the vault's key set. */
  jwk?(publicKey: Uint8Array): Readonly<Record<string, string>>;
}
