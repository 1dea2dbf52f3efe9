/**
 * What a key spec is: how its material is generated and what the key can do. One file per spec implements
 * this; table.ts lists them. The functions run in the vault worker only; the names and abilities are read anywhere.
 */
import type { KeyObject } from "node:crypto";
import type { KeyAgreementHeader } from "../../crypto/jwe/content-key.js";
import type { SecretBytes } from "../../crypto/secret-bytes.js";
import type { SignMessage, SignOptions, SignResultJson } from "../keys/operation-schemas.js";
import type { KeyOptions } from "../schemas.js";
import type { Deferred } from "../threads/batch.js";
import type { DeriveInput } from "../worker/key-hierarchy.js";

export type KeyType = "symmetric" | "asymmetric";
export type KeyUsage = "encrypt/decrypt" | "sign/verify";

/**
 * First byte of a key record's plaintext: says what follows, so that decoding never guesses. Values are stored; never
 * renumber.
 */
export const MATERIAL_KINDS = { raw32: 0x01, pkcs8: 0x02, bip39_entropy: 0x03 } as const;
export type MaterialKind = keyof typeof MATERIAL_KINDS;

/** A key inside a running operation of the worker. */
export interface UnwrappedKey {
  readonly vaultId: string;
  readonly keyId: string;
  /** Counts rotations of the key; part of the header of its ciphertexts. */
  readonly generation: number;
  /** Without the material kind byte; wiped when the operation ends. */
  readonly material: SecretBytes;
  /** The public part from the record, authenticated together with the material; empty where the spec has none. */
  readonly publicKey: Uint8Array;
  /**
   * Returns what OpenSSL makes of the material for a purpose; made on first use and kept for a while. Calls with the
   * same purpose must make the same object.
   */
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
/** Which members stand beside the signature depends on the format: see the route's schema. */
export type SignAnswer = Omit<SignResultJson, "batch">;

/** Verifying under a public key that the caller brings. */
export interface DetachedVerification {
  /** Reads a caller's public key; undefined when it is none of this spec. */
  readonly readPublicKey: (text: string) => Uint8Array | undefined;
  /** False for every wrong signature, whatever is wrong with it. */
  readonly verify: (publicKey: Uint8Array, item: VerifyItem) => boolean;
}

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
  /** True where making a key takes a second or more of a core: such keys are made one at a time. */
  readonly isSlowToGenerate?: boolean;
  /** True where `options.prefix` chooses the form of the public key. */
  readonly hasPrefixOption?: boolean;
  readonly generate: (options: KeyOptions) => GeneratedKey | Promise<GeneratedKey>;
  /** Absent: `spec_cannot_encrypt`. Returns the frame of the API. */
  readonly encrypt?: (key: UnwrappedKey, plaintext: Uint8Array, context: Uint8Array) => Uint8Array;
  /** Absent: `spec_cannot_decrypt`. */
  readonly decrypt?: (key: UnwrappedKey, frame: Uint8Array, context: Uint8Array) => Uint8Array;
  /** Absent: `spec_cannot_derive`. The child is a key of the same spec. */
  readonly derive?: (key: UnwrappedKey, input: DeriveInput) => SecretBytes;
  /** Absent: `spec_cannot_sign`. The signature was checked before it is returned. */
  readonly sign?: (key: UnwrappedKey, item: SignItem) => SignAnswer;
  /** Signs many items, where that is cheaper than one by one; one result for each, in order. */
  readonly signMany?: (key: UnwrappedKey, items: readonly SignItem[]) => readonly Deferred<SignAnswer>[];
  /** Absent: `spec_cannot_verify`. False for every wrong signature, whatever is wrong with it. */
  readonly verify?: (key: UnwrappedKey, item: VerifyItem) => boolean;
  /** Verifies many items, as `signMany` signs them. */
  readonly verifyMany?: (key: UnwrappedKey, items: readonly VerifyItem[]) => readonly Deferred<boolean>[];
  /** Absent: `spec_cannot_verify` where the caller brings the public key. */
  readonly detached?: DetachedVerification;
  /**
   * Absent: `spec_cannot_agree`. Returns 32 bytes derived from the secret shared with a peer's public key; undefined
   * for a bad public key.
   */
  readonly agree?: (key: UnwrappedKey, peer: Uint8Array, context: Uint8Array) => Uint8Array | undefined;
  /**
   * Absent: the key opens no JSON Web Encryption. Returns the content key of one, which the caller wipes; undefined for
   * one that is for another key.
   */
  readonly contentKey?: (key: UnwrappedKey, header: KeyAgreementHeader) => Uint8Array | undefined;
  /** Absent: `spec_cannot_prove_possession`. Returns a proof of possession, which was checked. */
  readonly provePossession?: (key: UnwrappedKey) => Uint8Array;
  /** The members of the public key as a JSON Web Key, without `kid`. Absent: the key is not in the vault's key set. */
  readonly jwk?: (publicKey: Uint8Array) => Readonly<Record<string, string>>;
}
