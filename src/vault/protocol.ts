/**
 * The messages between the main thread and the vault workers, the threads that unwrap keys. Wrapped records and
 * requests go in, results come out; a root key or a private key never crosses.
 */
import type { KeyAgreementHeader } from "../crypto/jwe/content-key.js";
import type { HdPath } from "../crypto/wallets/hd-path.js";
import type { ErrorCode, ErrorDetail } from "../platform/errors.js";
import type { SignItem } from "./key-specs/key-spec.js";
import type { KeyOptions } from "./schemas.js";

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
  /** Asymmetric keys: `0x` hex from the record, authenticated together with the material. */
  readonly publicKey?: string;
  /** Checksummed account address from the record, authenticated like the public key. */
  readonly address?: string;
  /** True for a disabled key and for one whose deletion is planned: every use is refused. */
  readonly isDisabled?: boolean;
}

/**
 * Which worker runs a task: a `prompt` one must answer within about a millisecond; the `bulk` one takes batches, slow
 * algorithms and the generation of slow keys.
 */
export type WorkerKind = "prompt" | "bulk";

export type HdAccount = Omit<HdPath, "change" | "index">;

export type KeyOperation = "sign" | "verify" | "encrypt" | "decrypt" | "rewrap" | "agree" | "prove_possession";

/** One item of an operation. Which members it has is decided by the route's schema; the operation checks the rest. */
export interface OperationItem extends SignItem {
  readonly signature?: string;
  readonly public_key?: string;
  readonly context?: string;
  readonly data?: string;
  readonly encoding?: "utf8" | "hex";
  /** Why the item's schema refused it: then it has no other member (platform/contract/refused-item.ts). */
  readonly refused?: readonly ErrorDetail[];
}

/** An item to verify under the public key that it brings. */
export interface DetachedItem extends OperationItem {
  readonly spec?: string;
}

export interface OperateMessage {
  readonly vault: VaultReference;
  readonly key: KeyReference;
  /** Earlier generations of the key that the items to decrypt or to rewrap name. */
  readonly earlier: readonly KeyReference[];
  readonly operation: KeyOperation;
  readonly items: readonly OperationItem[];
  readonly worker: WorkerKind;
}

/** The outcome of one item; a `value` that is a text is the JSON of the result. */
export type ItemOutcome =
  | { readonly ok: true; readonly value: object | string }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: readonly ErrorDetail[];
    };

/** The plain columns of a secret that its envelope is bound to. */
export interface SecretReference {
  readonly secretId: string;
  readonly name: string;
  readonly type: string;
}

/** Who asks for an operation without a key, as `formatSubject` writes it: the request waits in the caller's turn. */
interface Asked {
  readonly owner: string;
}

/** The claim that a signature is the aggregate of one signature for each key and message; all as hex. */
export interface BlsAggregateClaim {
  readonly messages: readonly string[];
  readonly public_keys: readonly string[];
  readonly signature: string;
}

/** The claim that a signature is the sum of one signature of each key on the same message; all as hex. */
export interface BlsFastClaim {
  readonly message: string;
  readonly public_keys: readonly string[];
  readonly signature: string;
}

/** The claim that somebody has the private key of a public key; both as hex. */
export interface BlsPossessionClaim {
  readonly public_key: string;
  readonly proof: string;
}

export interface PhraseCheck {
  /** The caller's bytes, which the worker overwrites. In shared memory, so that crossing threads makes no copy. */
  readonly phrase: Uint8Array;
  /** Configured SHA-256 of the canonical phrase, or null where none is configured and the sentinel decides. */
  readonly validationHash: Uint8Array | null;
  readonly storeId: string;
  /** Stored sentinel, or null before the first unsealing. */
  readonly sentinel: Uint8Array | null;
}

/** Task name -> message and value. */
export interface VaultTasks {
  /**
   * Checks the phrase and keeps its entropy, encrypted under an ephemeral key, until the thread ends or `lock` runs.
   */
  unseal: { message: PhraseCheck; value: { sentinel: Uint8Array } };
  /** Checks the phrase without keeping it. */
  check_phrase: { message: PhraseCheck; value: null };
  lock: { message: null; value: null };
  /** Drops the cached keys of a deleted vault. */
  forget_vault: { message: { vaultId: string }; value: null };
  create_master: { message: { vaultId: string; owner: string; masterKeyId: string }; value: { envelope: string } };
  create_key: {
    message: { vault: VaultReference; keyId: string; spec: string; options: KeyOptions; worker: WorkerKind };
    value: { envelope: string; publicKey?: string; address?: string };
  };
  derive_key: {
    message: { vault: VaultReference; parent: KeyReference; keyId: string; nonce: number; context: Uint8Array };
    value: { envelope: string };
  };
  /** Makes new material for a symmetric key, wrapped as the given generation. */
  rotate_key: {
    message: { vault: VaultReference; key: KeyReference; generation: number };
    value: { envelope: string };
  };
  encrypt: {
    message: { vault: VaultReference; key: KeyReference; data: Uint8Array; context: Uint8Array };
    value: Uint8Array;
  };
  decrypt: {
    message: { vault: VaultReference; key: KeyReference; data: Uint8Array; context: Uint8Array };
    value: Uint8Array;
  };
  /** Runs one operation of one key on items; a refused item does not fail the task. */
  operate: { message: OperateMessage; value: readonly ItemOutcome[] };
  /** Does the same and returns the outcomes as JSON in UTF-8, separated by commas. */
  operate_batch: { message: OperateMessage; value: Uint8Array };
  /** Verifies under public keys that callers bring. */
  verify_detached: {
    message: Asked & { items: readonly DetachedItem[]; worker: WorkerKind };
    value: readonly ItemOutcome[];
  };
  bls_aggregate: { message: Asked & { signatures: readonly string[] }; value: ItemOutcome };
  bls_verify: { message: Asked & BlsAggregateClaim; value: ItemOutcome };
  bls_fast_verify: { message: Asked & BlsFastClaim; value: ItemOutcome };
  bls_verify_possession: { message: Asked & BlsPossessionClaim; value: ItemOutcome };
  /** Returns the public keys of a vault as JSON Web Keys; keys without a registered form are left out. */
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
  open_secret: {
    message: {
      vault: VaultReference;
      secret: SecretReference;
      envelope: string;
      /** In whose turn it is read, such as `user:<uuid>`; the owner's unless given. */
      asker?: string | undefined;
    };
    value: Uint8Array;
  };
  /** Returns a box of the recipient with the secret's value, without showing it to the main thread. */
  hand_secret: {
    message: { vault: VaultReference; secret: SecretReference; envelope: string; to: Uint8Array };
    value: Uint8Array;
  };
  /** The same with a signature's inputs for a circuit. */
  hand_signature: {
    message: { vault: VaultReference; key: KeyReference; message: string; to: Uint8Array; worker: WorkerKind };
    value: Uint8Array;
  };
  /** The same with the content key of a JSON Web Encryption. */
  hand_content_key: {
    message: { vault: VaultReference; key: KeyReference; header: KeyAgreementHeader; to: Uint8Array };
    value: Uint8Array;
  };
}
export type VaultTaskName = keyof VaultTasks;

export type VaultRequest = {
  readonly [Name in VaultTaskName]: { readonly task: Name; readonly message: VaultTasks[Name]["message"] };
}[VaultTaskName];

export interface VaultTaskFailure {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly message: string;
  /** Where a fault of our own happened: stack frames without the error's message, which may quote a secret. */
  readonly frames?: string;
}
export type VaultTaskResult<Value> = { readonly ok: true; readonly value: Value } | VaultTaskFailure;

/** Runs tasks on the threads that hold the keys. */
export interface VaultTaskRunner {
  /** Resolves with the task's result; rejects with `overloaded`, and when the thread ends before it answers. */
  run<Name extends VaultTaskName>(
    task: Name,
    message: VaultTasks[Name]["message"],
  ): Promise<VaultTaskResult<VaultTasks[Name]["value"]>>;
  /** Ends the threads with everything in their memory and starts empty ones. Running tasks reject. */
  recycle(): Promise<void>;
  /** Ends the threads for good. */
  stop(): Promise<void>;
}
