/**
 * The vault: vaults, keys, secrets and what is done with them, for HTTP and for other areas. Every lookup starts from
 * the owner; key material stays in the worker behind the seal. Knows no HTTP.
 */
import { randomBytes } from "node:crypto";
import { entropyPhrase, SEAL_ENTROPY_BYTES, validationHash } from "../crypto/wallets/seal-phrase.js";
import { formatSubject, type Subject } from "../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../platform/clock.js";
import { AppError } from "../platform/errors.js";
import { newId } from "../platform/ids.js";
import { StoreConflict, type StoreCommit } from "../platform/store/store.js";
import { mergeCommits, type Listing, type Page } from "../platform/store/tables.js";
import { Turns } from "../platform/concurrency/keyed-mutex.js";
import { frameGeneration } from "./worker/ciphertext-frame.js";
import { HdWallets } from "./keys/hd-wallets.js";
import { laneOf } from "./threads/item-batches.js";
import { KeyDerivation } from "./keys/key-derivation.js";
import { KeyOperations } from "./keys/key-operations.js";
import { keyJson, newKeyRecord, type WrittenKey } from "./keys/key-records.js";
import { findKeySpec, keySpecNamed } from "./key-specs/table.js";
import type { KeySpec } from "./key-specs/key-spec.js";
import { MASTER_KEY_COLUMNS } from "./worker/keyring.js";
import type { VaultReference } from "./protocol.js";
import { isOver } from "./keys/planned-deletions.js";
import { PublicOperations } from "./keys/public-operations.js";
import { secretJson, vaultJson } from "./record-views.js";
import {
  unchanged,
  vaultReference,
  type FoundVault,
  type KeyRecord,
  type SecretRecord,
  type UsableKey,
  type VaultRecord,
  type VaultRepository,
} from "./repository.js";
import {
  SECRET_BYTES_MAX,
  type CreateKeyInput,
  type CreateSecretInput,
  type CreateVaultInput,
  type KeyJson,
  type SecretJson,
  type SecretWithValueJson,
  type VaultJson,
} from "./schemas.js";
import type { SealAttempts } from "./seal/seal-attempts.js";
import { readSealKey } from "./seal/seal-request.js";
import type { SealState, SealStatus, VaultSeal } from "./seal/seal.js";
import { exactBytes, invalidMember, toHex, utf8Bytes } from "./keys/validation.js";

/** A page of a list, as the contract's list replies take it. */
export interface Listed<T> {
  readonly body: T[];
  /** Over all pages. */
  readonly total: number;
}

export interface VaultServiceDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly attempts: SealAttempts;
  readonly clock: Clock;
}

/** A vault whose records are ready to be written by somebody's commit. */
export interface PreparedVault {
  readonly vault: VaultJson;
  readonly master: KeyJson;
  readonly commit: StoreCommit;
  /** For preparing keys and secrets that go into the same commit. */
  readonly reference: VaultReference;
}
export interface PreparedKey {
  readonly key: KeyJson;
  readonly commit: StoreCommit;
}
export interface PreparedSecret {
  readonly secret: SecretJson;
  readonly commit: StoreCommit;
}
export interface PrepareOptions {
  /** The vault is written by the same commit and not yet there to be found. */
  readonly pendingVault?: PreparedVault;
}

/** RSA keys that may wait to be made: each takes up to seconds of a core, and one is made at a time. */
const SLOW_KEYS_WAITING_MAX = 32;
const SLOW_KEYS = "slow keys";
const FIRST_GENERATION = 1;
/** `{}` with some white space; a phrase is longer, and never becomes a string. */
const EMPTY_OBJECT_BYTES_MAX = 8;

export class VaultService {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #attempts: SealAttempts;
  readonly #clock: Clock;
  readonly #slowKeys = new Turns({ waitingMax: SLOW_KEYS_WAITING_MAX });
  /** What is done with keys. */
  readonly operations: KeyOperations;
  readonly derivation: KeyDerivation;
  readonly wallets: HdWallets;
  /** What needs no key of the vault, and public keys. */
  readonly publicKeys: PublicOperations;

  constructor(dependencies: VaultServiceDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#attempts = dependencies.attempts;
    this.#clock = dependencies.clock;
    this.wallets = new HdWallets(dependencies);
    this.operations = new KeyOperations({ ...dependencies, wallets: this.wallets });
    this.derivation = new KeyDerivation({ ...dependencies, wallets: this.wallets });
    this.publicKeys = new PublicOperations(dependencies);
  }

  // The seal

  state(): SealState {
    return this.#seal.state;
  }

  isUnsealed(): boolean {
    return this.#seal.isUnsealed;
  }

  /** Resolves once the vault is unsealed; rejects with the signal's reason. */
  async untilUnsealed(signal: AbortSignal): Promise<void> {
    await this.#seal.untilUnsealed(signal);
  }

  sealStatus(): SealStatus {
    return this.#seal.status();
  }

  /**
   * Unseals with the body of a request, `{"key": phrase}`, which is overwritten; with `{}` where the provider has the
   * key.
   */
  async unseal(subject: Subject, body: Uint8Array): Promise<void> {
    if (this.#isWithoutKey(body)) {
      await this.#attempts.attempt(formatSubject(subject), async () => {
        await this.#seal.unsealByProvider();
      });
      return;
    }
    const phrase = readSealKey(body);
    await this.#attempts.attempt(formatSubject(subject), async () => {
      await this.#seal.unseal(phrase);
    });
  }

  /**
   * Seals with the body of a request, `{"key": phrase}`, which is overwritten; with `{}` where the provider has the
   * key.
   */
  async seal(subject: Subject, body: Uint8Array): Promise<void> {
    if (this.#isWithoutKey(body)) {
      await this.#seal.sealByPermission();
      return;
    }
    const phrase = readSealKey(body);
    await this.#attempts.attempt(formatSubject(subject), async () => {
      await this.#seal.seal(phrase);
    });
  }

  /**
   * A fresh seal key for another instance, as JSON bytes: the phrase never becomes a string. Throws `seal_unsupported`.
   */
  createUnsealerKey(): Uint8Array {
    if (!this.#seal.issuesKeys)
      throw new AppError("seal_unsupported", { message: "only the seal provider `environment` makes seal keys" });
    const entropy = randomBytes(SEAL_ENTROPY_BYTES);
    const phrase = entropyPhrase(entropy);
    try {
      return Buffer.concat([
        Buffer.from('{"key":"'),
        phrase,
        Buffer.from(`","validation_hash":"${toHex(validationHash(phrase))}"}`),
      ]);
    } finally {
      entropy.fill(0);
      phrase.fill(0);
    }
  }

  // Vaults

  listVaults(owner: Subject, page: Page): Listed<VaultJson> {
    this.#requireUnsealed();
    return listed(this.#repository.listVaults(owner, page), vaultJson);
  }

  /** Also one that is to be deleted: `deletes_at` says so. */
  getVault(owner: Subject, vaultId: string): VaultJson {
    this.#requireUnsealed();
    const vault = vaultJson(this.#repository.findVault(owner, vaultId, { evenPlanned: true }).record.value);
    if (isOver(vault.deletes_at, this.#clock)) throw new AppError("not_found", { message: "vault not found" });
    return vault;
  }

  /** Makes a vault with its master key, to be written by the caller's commit. */
  async prepareVault(owner: Subject, input: CreateVaultInput): Promise<PreparedVault> {
    const vaultId = newId();
    const masterKeyId = newId();
    const createdAt = isoTimestamp(this.#clock.nowMs());
    const { envelope } = await this.#seal.run(
      "create_master",
      { vaultId, owner: formatSubject(owner), masterKeyId },
      vaultId,
    );
    const record: VaultRecord = {
      id: vaultId,
      created_at: createdAt,
      name: input.name,
      description: input.description ?? "",
      owner_kind: owner.kind,
      owner_id: owner.id,
      master_key_id: masterKeyId,
      generation: FIRST_GENERATION,
    };
    const master: KeyRecord = {
      id: masterKeyId,
      created_at: createdAt,
      vault_id: vaultId,
      ...MASTER_KEY_COLUMNS,
      name: "master0",
      description: `AES-256-GCM master key for vault ${vaultId}`,
      generation: FIRST_GENERATION,
      envelope,
    };
    return {
      vault: vaultJson(record),
      master: keyJson(master),
      commit: this.#repository.vaultInsertion(record, master),
      reference: vaultReference(owner, record, envelope),
    };
  }

  async createVault(owner: Subject, input: CreateVaultInput): Promise<VaultJson> {
    const { vault, commit } = await this.prepareVault(owner, input);
    await this.#repository.commit(commit);
    return vault;
  }

  /**
   * What deletes a vault with its keys and secrets at once, whatever was planned; to be written by the caller's commit.
   */
  deletion(owner: Subject, vaultId: string): StoreCommit {
    this.#requireUnsealed();
    return this.#repository.vaultDeletion(this.#repository.findVault(owner, vaultId, { evenPlanned: true }));
  }

  async deleteVault(owner: Subject, vaultId: string): Promise<void> {
    await this.#commitOrMissing(this.deletion(owner, vaultId), "vault");
    await this.forget(vaultId);
  }

  /**
   * Drops from memory what is kept of a vault that was deleted. Never rejects: sealing in the meantime has dropped it
   * as well.
   */
  async forget(vaultId: string): Promise<void> {
    await this.#seal.run("forget_vault", { vaultId }, vaultId).catch(() => null);
  }

  // Keys

  listKeys(
    owner: Subject,
    vaultId: string,
    query: Page & { readonly spec?: string; readonly type?: string },
  ): Listed<KeyJson> {
    this.#findVault(owner, vaultId);
    const spec = query.spec === undefined ? undefined : (findKeySpec(query.spec)?.name ?? query.spec);
    return listed(this.#repository.listKeys(vaultId, { spec, type: query.type }, query), keyJson);
  }

  getKey(owner: Subject, vaultId: string, keyId: string): KeyJson {
    this.#findVault(owner, vaultId);
    return keyJson(this.#repository.findKey(vaultId, keyId).record.value);
  }

  /**
   * Generates a key, to be written by the caller's commit. Throws `key_spec_unknown`, `key_type_mismatch`, `not_found`.
   */
  async prepareKey(
    owner: Subject,
    vaultId: string,
    input: CreateKeyInput,
    options: PrepareOptions = {},
  ): Promise<PreparedKey> {
    const { reference, pin } = this.#target(owner, vaultId, options);
    const spec = keySpecNamed(input.spec);
    requireFit(spec, input);
    const keyId = newId();
    const message = {
      vault: reference,
      keyId,
      spec: spec.name,
      options: input.options ?? {},
      lane: laneOf(spec),
    } as const;
    const make = async (): Promise<WrittenKey> => await this.#seal.run("create_key", message, keyId);
    const made = spec.name.startsWith("RSA-") ? await this.#slowKeys.run(SLOW_KEYS, make) : await make();
    const record = newKeyRecord(
      { id: keyId, created_at: isoTimestamp(this.#clock.nowMs()), vault_id: vaultId },
      spec,
      input,
      made,
    );
    return { key: keyJson(record), commit: mergeCommits(pin, this.#repository.keyInsertion(record)) };
  }

  async createKey(owner: Subject, vaultId: string, input: CreateKeyInput): Promise<KeyJson> {
    const { key, commit } = await this.prepareKey(owner, vaultId, input);
    await this.#commitOrMissing(commit, "vault");
    return key;
  }

  /** Throws `master_key_immutable` for master0. */
  async deleteKey(owner: Subject, vaultId: string, keyId: string): Promise<void> {
    const vault = this.#findVault(owner, vaultId);
    if (keyId === vault.reference.masterKeyId)
      throw new AppError("master_key_immutable", { message: "the master key of a vault cannot be deleted" });
    await this.#commitOrMissing(this.#repository.keyDeletion(this.#repository.findKey(vaultId, keyId)), "key");
  }

  // Encryption

  /** Encrypts bytes with a key; answers the frame of the API. Throws `spec_cannot_encrypt`, `not_found`. */
  async encrypt(
    owner: Subject,
    vaultId: string,
    keyId: string,
    plaintext: Uint8Array,
    context = "",
  ): Promise<Uint8Array> {
    const { vault, key } = this.#usableKey(owner, vaultId, keyId);
    return await this.#seal.run(
      "encrypt",
      {
        vault: vault.reference,
        key: key.reference,
        data: exactBytes(plaintext),
        context: utf8Bytes(context, "context"),
      },
      keyId,
    );
  }

  /**
   * Decrypts a frame made by `encrypt` with the same key and context. Throws `decryption_failed`,
   * `spec_cannot_decrypt`, `not_found`.
   */
  async decrypt(owner: Subject, vaultId: string, keyId: string, frame: Uint8Array, context = ""): Promise<Uint8Array> {
    const { vault, key } = this.#usableKey(owner, vaultId, keyId);
    // An unknown generation is left to the worker, so that it fails like every other frame that does not open.
    const reference =
      this.#repository.findGeneration(key, frameGeneration(frame) ?? key.reference.generation) ?? key.reference;
    return await this.#seal.run(
      "decrypt",
      { vault: vault.reference, key: reference, data: exactBytes(frame), context: utf8Bytes(context, "context") },
      keyId,
    );
  }

  // Secrets

  listSecrets(owner: Subject, vaultId: string, query: Page & { readonly type?: string }): Listed<SecretJson> {
    this.#findVault(owner, vaultId);
    return listed(this.#repository.listSecrets(vaultId, query.type, query), secretJson);
  }

  /** Wraps a secret, to be written by the caller's commit. Throws `secret_too_long` over 4096 bytes of UTF-8. */
  async prepareSecret(
    owner: Subject,
    vaultId: string,
    input: CreateSecretInput,
    options: PrepareOptions = {},
  ): Promise<PreparedSecret> {
    const { reference, pin } = this.#target(owner, vaultId, options);
    const value = utf8Bytes(input.value, "value");
    if (value.length > SECRET_BYTES_MAX)
      throw invalidMember(
        "value",
        `value too long: ${String(value.length)} bytes, at most ${String(SECRET_BYTES_MAX)}`,
        "secret_too_long",
      );
    const secretId = newId();
    const secret = { secretId, name: input.name, type: input.type };
    const { envelope } = await this.#seal.run("seal_secret", { vault: reference, secret, value }, secretId);
    value.fill(0);
    const record: SecretRecord = {
      id: secretId,
      created_at: isoTimestamp(this.#clock.nowMs()),
      vault_id: vaultId,
      type: input.type,
      name: input.name,
      description: input.description ?? "",
      envelope,
    };
    return { secret: secretJson(record), commit: mergeCommits(pin, this.#repository.secretInsertion(record)) };
  }

  async createSecret(owner: Subject, vaultId: string, input: CreateSecretInput): Promise<SecretJson> {
    const { secret, commit } = await this.prepareSecret(owner, vaultId, input);
    await this.#commitOrMissing(commit, "vault");
    return secret;
  }

  async getSecret(owner: Subject, vaultId: string, secretId: string): Promise<SecretWithValueJson> {
    const vault = this.#findVault(owner, vaultId);
    const { record, reference } = this.#repository.findSecret(vaultId, secretId);
    const { deletes_at: deletesAt } = record.value;
    if (deletesAt !== undefined) {
      if (isOver(deletesAt, this.#clock)) throw new AppError("not_found", { message: "secret not found" });
      throw new AppError("deletion_planned", { message: "the secret is to be deleted; restore it to read it" });
    }
    const value = await this.#seal.run(
      "open_secret",
      { vault: vault.reference, secret: reference, envelope: record.value.envelope },
      secretId,
    );
    try {
      return { ...secretJson(record.value), value: new TextDecoder("utf-8", { ignoreBOM: true }).decode(value) };
    } finally {
      value.fill(0);
    }
  }

  /** The value of a secret, for other areas. Throws `not_found` also for one that is to be deleted. */
  async retrieveSecret(owner: Subject, vaultId: string, secretId: string): Promise<string> {
    try {
      return (await this.getSecret(owner, vaultId, secretId)).value;
    } catch (error) {
      if (error instanceof AppError && error.code === "deletion_planned")
        throw new AppError("not_found", { message: error.message, cause: error });
      throw error;
    }
  }

  /**
   * What deletes a secret, to be written by the caller's commit; also in a vault that is to be deleted and may be
   * restored.
   */
  secretDeletion(owner: Subject, vaultId: string, secretId: string): StoreCommit {
    this.#requireUnsealed();
    this.#repository.findVault(owner, vaultId, { evenPlanned: true });
    return this.#repository.secretDeletion(this.#repository.findSecret(vaultId, secretId));
  }

  async deleteSecret(owner: Subject, vaultId: string, secretId: string): Promise<void> {
    this.#findVault(owner, vaultId);
    await this.#commitOrMissing(this.secretDeletion(owner, vaultId, secretId), "secret");
  }

  /** `{}` where nobody need know the seal key; elsewhere the body is read and refused for what it lacks. */
  #isWithoutKey(body: Uint8Array): boolean {
    return (
      !this.#seal.issuesKeys &&
      body.length <= EMPTY_OBJECT_BYTES_MAX &&
      /^\s*\{\s*\}\s*$/.test(Buffer.from(body).toString("latin1"))
    );
  }

  /** Sealed is told before anything about what exists. */
  #requireUnsealed(): void {
    this.#seal.requireUnsealed();
  }

  #findVault(owner: Subject, vaultId: string): FoundVault {
    this.#requireUnsealed();
    return this.#repository.findVault(owner, vaultId);
  }

  #usableKey(owner: Subject, vaultId: string, keyId: string): UsableKey {
    this.#requireUnsealed();
    return this.#repository.findUsableKey(owner, vaultId, keyId);
  }

  /** The vault that a new record goes into, and what pins it: a vault deleted meanwhile must not gain records. */
  #target(owner: Subject, vaultId: string, options: PrepareOptions): { reference: VaultReference; pin: StoreCommit } {
    const pending = options.pendingVault?.reference;
    if (pending === undefined) {
      const { reference, record } = this.#findVault(owner, vaultId);
      return { reference, pin: unchanged(record) };
    }
    if (pending.vaultId !== vaultId || pending.owner !== formatSubject(owner))
      throw new AppError("not_found", { message: "vault not found" });
    return { reference: pending, pin: {} };
  }

  /** Commits; a conflict means that what it builds on was deleted meanwhile. */
  async #commitOrMissing(commit: StoreCommit, what: string): Promise<void> {
    try {
      await this.#repository.commit(commit);
    } catch (error) {
      if (error instanceof StoreConflict)
        throw new AppError("not_found", { message: `${what} not found`, cause: error });
      throw error;
    }
  }
}

/** The caller may state type and usage; what it states must be what the spec is. */
function requireFit(spec: KeySpec, input: CreateKeyInput): void {
  if (input.type !== undefined && input.type !== spec.type)
    throw invalidMember("type", `${spec.name} keys are ${spec.type}`, "key_type_mismatch");
  if (input.options?.prefix !== undefined && spec.name !== "Ed25519-nkey")
    throw invalidMember("options.prefix", `${spec.name} keys have no prefix`, "option_unsupported");
  if (input.usage !== undefined && input.usage !== spec.usage)
    throw invalidMember("usage", `${spec.name} keys are for ${spec.usage}`, "key_type_mismatch");
}

function listed<T, U>({ rows, total }: Listing<T>, map: (row: T) => U): Listed<U> {
  return { body: rows.map(map), total };
}
