/** Secrets of a vault: texts of at most 4096 bytes that callers store and read back. */
import type { Subject } from "../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../platform/clock.js";
import { AppError, invalidMember, notFound } from "../platform/errors.js";
import { newId } from "../platform/ids.js";
import type { StoreCommit } from "../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../platform/store/tables.js";
import { isOver } from "./keys/planned-deletions.js";
import { utf8Bytes } from "./keys/validation.js";
import type { SecretReference, VaultTasks } from "./protocol.js";
import { secretJson } from "./record-views.js";
import type { VaultRepository } from "./repository.js";
import type { VaultReference } from "./protocol.js";
import type { FoundSecret, SecretRecord } from "./vault-records.js";
import {
  SECRET_BYTES_MAX,
  type CreateSecretInput,
  type SecretFilters,
  type SecretJson,
  type SecretWithValueJson,
} from "./schemas.js";
import type { VaultSeal } from "./seal/seal.js";
import { listed, type Listed, type PrepareOptions, type Vaults } from "./vaults.js";

/** A secret whose record is ready to be written by the caller's commit. */
export interface PreparedSecret {
  readonly secret: SecretJson;
  readonly commit: StoreCommit;
}

export interface SecretsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
  readonly vaults: Vaults;
}

type OpenSecret = VaultTasks["open_secret"]["message"];

/** The secrets of all vaults. */
export class Secrets {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #clock: Clock;
  readonly #vaults: Vaults;
  /** Reads for other areas that are under way, by the secret's id. */
  readonly #opening = new Map<string, { readonly message: OpenSecret; readonly value: Promise<string> }>();

  constructor(dependencies: SecretsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#clock = dependencies.clock;
    this.#vaults = dependencies.vaults;
  }

  /** Lists the secrets of a vault without their values, oldest first. Throws `not_found`. */
  list(owner: Subject, vaultId: string, query: Page & SecretFilters): Listed<SecretJson> {
    this.#vaults.find(owner, vaultId);
    return listed(this.#repository.listSecrets(vaultId, query, query), secretJson);
  }

  /**
   * Wraps a secret, to be written by the caller's commit.
   * @throws secret_too_long over 4096 bytes of UTF-8, `not_found`
   */
  async prepare(
    owner: Subject,
    vaultId: string,
    input: CreateSecretInput,
    options: PrepareOptions = {},
  ): Promise<PreparedSecret> {
    const { reference, pin } = this.#vaults.targetFor(owner, vaultId, options);
    const value = utf8Bytes(input.value, "value");
    if (value.length > SECRET_BYTES_MAX)
      throw invalidMember(
        "value",
        `value too long: ${value.length} bytes, at most ${SECRET_BYTES_MAX}`,
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

  /**
   * Seals a value of the server's own, whose envelope the caller keeps. It opens at the same place alone, and secrets
   * have ids that nobody chooses: so nobody else can have a value sealed for a place with an id from elsewhere.
   * @throws `not_found`
   */
  async sealValue(owner: Subject, vaultId: string, secret: SecretReference, value: string): Promise<string> {
    const { reference: vault } = this.#vaults.find(owner, vaultId);
    const message = { vault, secret, value: utf8Bytes(value, "value") };
    return (await this.#seal.run("seal_secret", message, secret.secretId)).envelope;
  }

  /**
   * Opens what `sealValue` has sealed for this place.
   * @throws `not_found`, and an error for any other envelope
   */
  async openValue(owner: Subject, vaultId: string, secret: SecretReference, envelope: string): Promise<string> {
    const { reference: vault } = this.#vaults.find(owner, vaultId);
    return await this.#open({ vault, secret, envelope }, secret.secretId);
  }

  /**
   * Stores a secret. Throws as `prepare` does.
   * @param keep returns what else goes into the secret's commit; does not get the value
   */
  async create(
    owner: Subject,
    vaultId: string,
    input: CreateSecretInput,
    keep?: (secret: SecretJson) => StoreCommit,
  ): Promise<SecretJson> {
    return await retryOnConflict(async () => {
      const { secret, commit } = await this.prepare(owner, vaultId, input);
      await this.#repository.commit(commit, keep?.(secret) ?? {});
      return secret;
    });
  }

  /** Returns a secret with its value. Throws `not_found`, and `deletion_planned` until it is restored. */
  async get(owner: Subject, vaultId: string, secretId: string): Promise<SecretWithValueJson> {
    const { record, message } = this.#readable(owner, vaultId, secretId);
    return { ...secretJson(record), value: await this.#open(message, secretId) };
  }

  /**
   * Returns the value of a secret, for other areas. Overlapping reads of one secret are one: they know that it is still
   * there, and differ in nothing but their turns.
   * @param asker in whose turn it is read, such as `user:<uuid>`; the owner's unless given
   * @throws `not_found` also when its deletion is planned
   */
  async retrieve(owner: Subject, vaultId: string, secretId: string, asker?: string): Promise<string> {
    try {
      const { message } = this.#readable(owner, vaultId, secretId);
      return await this.#openTogether({ ...message, asker }, secretId);
    } catch (error) {
      if (error instanceof AppError && error.code === "deletion_planned")
        throw new AppError("not_found", { message: error.message, cause: error });
      throw error;
    }
  }

  #readable(owner: Subject, vaultId: string, secretId: string): { record: SecretRecord; message: OpenSecret } {
    const { record, reference, vault } = this.find(owner, vaultId, secretId);
    return { record: record.value, message: { vault, secret: reference, envelope: record.value.envelope } };
  }

  /**
   * Finds a secret whose value may be read, without reading it.
   * @throws not_found, and `deletion_planned` until it is restored
   */
  find(owner: Subject, vaultId: string, secretId: string): FoundSecret & { readonly vault: VaultReference } {
    const vault = this.#vaults.find(owner, vaultId);
    const { record, reference } = this.#repository.findSecret(vaultId, secretId);
    const { deletes_at: deletesAt } = record.value;
    if (deletesAt !== undefined) {
      if (isOver(deletesAt, this.#clock)) throw notFound("secret");
      throw new AppError("deletion_planned", {
        message: "the deletion of this secret is planned; restore it to read its value",
      });
    }
    return { record, reference, vault: vault.reference };
  }

  async #openTogether(message: OpenSecret, secretId: string): Promise<string> {
    for (;;) {
      this.#seal.requireUnsealed();
      const others = this.#opening.get(secretId);
      if (others?.message.envelope !== message.envelope) return await this.#openForOthers(message, secretId);
      try {
        return await others.value;
      } catch (error) {
        // The first one's queue was full for it, and need not be for this one.
        const isOfTurn = error instanceof AppError && error.code === "overloaded";
        if (!isOfTurn || others.message.asker === message.asker) throw error;
      }
    }
  }

  async #openForOthers(message: OpenSecret, secretId: string): Promise<string> {
    const opening = { message, value: this.#open(message, secretId) };
    this.#opening.set(secretId, opening);
    try {
      return await opening.value;
    } finally {
      if (this.#opening.get(secretId) === opening) this.#opening.delete(secretId);
    }
  }

  async #open(message: OpenSecret, secretId: string): Promise<string> {
    const value = await this.#seal.run("open_secret", message, secretId);
    try {
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(value);
    } finally {
      value.fill(0);
    }
  }

  /**
   * Returns the commit that deletes a secret, also in a vault whose deletion is planned: restoring the vault must not
   * bring the secret back. Throws `not_found`.
   */
  deletion(owner: Subject, vaultId: string, secretId: string): StoreCommit {
    this.#seal.requireUnsealed();
    this.#repository.findAnyVault(owner, vaultId);
    return this.#repository.secretDeletion(this.#repository.findSecret(vaultId, secretId));
  }

  /** Deletes a secret at once. Throws `not_found`. */
  async delete(owner: Subject, vaultId: string, secretId: string): Promise<void> {
    this.#vaults.find(owner, vaultId);
    await this.#repository.commitLatest(() => this.deletion(owner, vaultId, secretId));
  }
}
