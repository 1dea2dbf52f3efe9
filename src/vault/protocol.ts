/**
 * The messages between the main thread and the vault worker. Wrapped records and requests go in, results come out; a
 * root key or a private key never crosses.
 */
import type { HdPath } from "../crypto/wallets/hd-path.js";
import type { ErrorCode, ErrorDetail } from "../platform/errors.js";
import type { KeyOptions } from "./keys/operation-schemas.js";

/** A vault as the worker needs it. */
export interface VaultReference {
  readonly vaultId: string;
  /** `user:<uuid>`, from the caller's own subject; authenticated with the master key. */
  readonly owner: string;
  readonly masterKeyId: string;
  readonly masterEnvelope: string;
  /** Generation of the record key that new records are wrapped under. */
  readonly generation: number;
}

/** A stored key as the worker needs it. */
export interface KeyReference {
  readonly keyId: string;
  readonly spec: string;
  readonly type: string;
  readonly usage: string;
  readonly generation: number;
  readonly envelope: string;
  /**
   * Of asymmetric keys, as the record has them (`0x` hex, checksummed address): authenticated together with the
   * material.
   */
  readonly publicKey?: string;
  readonly address?: string;
  /** True for a key that is switched off or waits for its deletion: every use is refused. */
  readonly isDisabled?: boolean;
}

/**
 * Which thread runs a task: `prompt` answers in microseconds and must stay that way; `bulk` takes batches, slow
 * algorithms and the making of slow keys.
 */
export type VaultLane = "prompt" | "bulk";

export type HdAccount = Omit<HdPath, "change" | "index">;

export type KeyOperation = "sign" | "verify" | "encrypt" | "decrypt" | "agree";

export interface OperateMessage {
  readonly vault: VaultReference;
  readonly key: KeyReference;
  /** Earlier generations that frames to decrypt name. */
  readonly earlier: readonly KeyReference[];
  readonly operation: KeyOperation;
  readonly items: readonly unknown[];
  readonly lane: VaultLane;
}

/** What one item came to; `value` is its answer, as JSON where it is a text. */
export type ItemOutcome =
  | { readonly ok: true; readonly value: object | string }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: readonly ErrorDetail[];
    };

/** The readable columns of a secret that its envelope is bound to. */
export interface SecretReference {
  readonly secretId: string;
  readonly name: string;
  readonly type: string;
}

/** That a signature is the aggregate of one signature for each key and message, as hex. */
export interface BlsAggregateClaim {
  readonly messages: readonly string[];
  readonly public_keys: readonly string[];
  readonly signature: string;
}

export interface PhraseCheck {
  /** As presented; the worker overwrites it. In shared memory, so that no copy is made on the way. */
  readonly phrase: Uint8Array;
  /** Configured SHA-256 of the canonical phrase, or null where the provider has none and the sentinel decides. */
  readonly validationHash: Uint8Array | null;
  readonly storeId: string;
  /** Stored sentinel, or null before the first unsealing. */
  readonly sentinel: Uint8Array | null;
}

/** Task name -> message and value. */
export interface VaultTasks {
  /**
   * Checks the phrase and keeps its entropy (wrapped under an ephemeral key) until the thread ends or `lock` is called.
   */
  unseal: { message: PhraseCheck; value: { sentinel: Uint8Array } };
  /** Checks the phrase and keeps nothing. */
  check_phrase: { message: PhraseCheck; value: null };
  lock: { message: null; value: null };
  /** Drops what is cached of a deleted vault. */
  forget_vault: { message: { vaultId: string }; value: null };
  create_master: { message: { vaultId: string; owner: string; masterKeyId: string }; value: { envelope: string } };
  create_key: {
    message: { vault: VaultReference; keyId: string; spec: string; options: KeyOptions; lane: VaultLane };
    value: { envelope: string; publicKey?: string; address?: string };
  };
  derive_key: {
    message: { vault: VaultReference; parent: KeyReference; keyId: string; nonce: number; context: Uint8Array };
    value: { envelope: string };
  };
  /** New material for a symmetric key, wrapped as the given generation. */
  rotate_key: {
    message: { vault: VaultReference; key: KeyReference; generation: number };
    value: { envelope: string };
  };
  /** Decrypts with one generation of a key and encrypts with another; the plaintext stays in the worker. */
  rewrap: {
    message: { vault: VaultReference; from: KeyReference; to: KeyReference; data: Uint8Array; context: Uint8Array };
    value: Uint8Array;
  };
  encrypt: {
    message: { vault: VaultReference; key: KeyReference; data: Uint8Array; context: Uint8Array };
    value: Uint8Array;
  };
  decrypt: {
    message: { vault: VaultReference; key: KeyReference; data: Uint8Array; context: Uint8Array };
    value: Uint8Array;
  };
  /**
   * The same operation of one key on many items, as the API takes and answers them; what fails for one item does not
   * fail the task.
   */
  operate: { message: OperateMessage; value: readonly ItemOutcome[] };
  /** The same, answered as JSON in UTF-8: the answers one after the other with commas between. */
  operate_batch: { message: OperateMessage; value: Uint8Array };
  /** Verifications under public keys that callers bring. */
  verify_detached: { message: { items: readonly unknown[]; lane: VaultLane }; value: readonly ItemOutcome[] };
  bls_aggregate: { message: { signatures: readonly string[] }; value: ItemOutcome };
  bls_verify: { message: BlsAggregateClaim; value: ItemOutcome };
  /** The public keys of a vault as JSON Web Keys; keys that have no such form are left out. */
  json_web_keys: {
    message: { vault: VaultReference; keys: readonly KeyReference[] };
    value: readonly Readonly<Record<string, string>>[];
  };
  hd_address: { message: { vault: VaultReference; key: KeyReference; path: string }; value: string };
  hd_xpub: { message: { vault: VaultReference; key: KeyReference; account: HdAccount }; value: string };
  seal_secret: {
    message: { vault: VaultReference; secret: SecretReference; value: Uint8Array };
    value: { envelope: string };
  };
  open_secret: { message: { vault: VaultReference; secret: SecretReference; envelope: string }; value: Uint8Array };
}
export type VaultTaskName = keyof VaultTasks;

export type VaultRequest = {
  readonly [Name in VaultTaskName]: { readonly task: Name; readonly message: VaultTasks[Name]["message"] };
}[VaultTaskName];

export interface VaultTaskFailure {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly message: string;
  /** Where a fault of ours happened: stack frames without the error's text, which may have seen a secret. */
  readonly frames?: string;
}
export type VaultTaskResult<Value> = { readonly ok: true; readonly value: Value } | VaultTaskFailure;

/** The threads that hold the keys. */
export interface VaultWorker {
  run<Name extends VaultTaskName>(
    task: Name,
    message: VaultTasks[Name]["message"],
  ): Promise<VaultTaskResult<VaultTasks[Name]["value"]>>;
  /** Ends the threads with everything in their memory and starts empty ones. Running tasks reject. */
  recycle(): Promise<void>;
  stop(): Promise<void>;
}
