/**
 * Keys of a vault: finding, generating and deleting them. What is done with a key: key-operations.ts. Material stays in
 * the vault's threads.
 */
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { Lane } from "../../platform/pool/lane.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import type { KeySpec } from "../key-specs/key-spec.js";
import { findKeySpec, keySpecNamed } from "../key-specs/table.js";
import type { VaultRepository } from "../repository.js";
import type { CreateKeyInput, KeyFilters, KeyJson } from "../schemas.js";
import type { VaultSeal } from "../seal/seal.js";
import { workerKindFor } from "../threads/item-batches.js";
import type { TurnOf } from "../threads/request-queue.js";
import { listed, type Listed, type PrepareOptions, type Vaults } from "../vaults.js";
import { keyJson, newKeyRecord, type WrittenKey } from "./key-records.js";

/** A key whose record is ready to be written by the caller's commit. */
export interface PreparedKey {
  readonly key: KeyJson;
  readonly commit: StoreCommit;
}

export interface PrepareKeyOptions extends PrepareOptions {
  /** Whether only the server itself may use the key, by `KeyOperations.signAsServer`. */
  readonly isServerOnly?: boolean;
  /** Whether inputs of a prover are encrypted to the key. */
  readonly isForInputs?: boolean;
}

export interface CreateKeyOptions extends Omit<PrepareKeyOptions, "pendingVault"> {
  /** Returns what else goes into the key's commit. */
  readonly keep?: ((key: KeyJson) => StoreCommit) | undefined;
}

export interface KeysDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
  readonly vaults: Vaults;
  /** See VaultDependencies.turnOf. */
  readonly turnOf?: TurnOf | undefined;
}

/** RSA keys that may wait to be generated: each takes up to seconds of a core, and one is generated at a time. */
const SLOW_KEYS_WAITING_MAX = 32;

/** The keys of all vaults. */
export class Keys {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #clock: Clock;
  readonly #vaults: Vaults;
  readonly #turnOf: TurnOf;
  readonly #slowKeys = new Lane({ name: "RSA keys", places: 1, queueLengthMax: SLOW_KEYS_WAITING_MAX });

  constructor(dependencies: KeysDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#clock = dependencies.clock;
    this.#vaults = dependencies.vaults;
    this.#turnOf = dependencies.turnOf ?? ((owner) => owner);
  }

  /** Lists the keys of a vault, its master key among them, oldest first. Throws `not_found`. */
  list(owner: Subject, vaultId: string, query: Page & KeyFilters): Listed<KeyJson> {
    this.#vaults.find(owner, vaultId);
    const spec = query.spec === undefined ? undefined : (findKeySpec(query.spec)?.name ?? query.spec);
    return listed(this.#repository.listKeys(vaultId, { ...query, spec }, query), keyJson);
  }

  /** Returns a key. Throws `not_found`. */
  get(owner: Subject, vaultId: string, keyId: string): KeyJson {
    this.#vaults.find(owner, vaultId);
    return keyJson(this.#repository.findKey(vaultId, keyId).record.value);
  }

  /**
   * Generates a key, to be written by the caller's commit.
   * @throws key_spec_unknown, `key_type_mismatch`, `option_unsupported`, `not_found`, `overloaded` when too many RSA
   *   keys wait
   */
  async prepare(
    owner: Subject,
    vaultId: string,
    input: CreateKeyInput,
    options: PrepareKeyOptions = {},
  ): Promise<PreparedKey> {
    const { reference, pin } = this.#vaults.targetFor(owner, vaultId, options);
    const spec = keySpecNamed(input.spec);
    requireMatch(spec, input);
    const keyId = newId();
    const message = {
      vault: reference,
      keyId,
      spec: spec.name,
      options: input.options ?? {},
      worker: workerKindFor(spec),
    };
    const generate = async (): Promise<WrittenKey> => await this.#seal.run("create_key", message, keyId);
    const turn = { owner: this.#turnOf(formatSubject(owner)) };
    const written = spec.isSlowToGenerate === true ? await this.#slowKeys.run(turn, generate) : await generate();
    const identity = { id: keyId, created_at: isoTimestamp(this.#clock.nowMs()), vault_id: vaultId };
    const record = {
      ...newKeyRecord(identity, spec, input, written),
      ...(options.isServerOnly === true ? { server_only: true as const } : {}),
      ...(options.isForInputs === true ? { input_key: true as const } : {}),
    };
    return { key: keyJson(record), commit: mergeCommits(pin, this.#repository.keyInsertion(record)) };
  }

  /** Generates a key. Throws as `prepare` does. */
  async create(
    owner: Subject,
    vaultId: string,
    input: CreateKeyInput,
    { keep, ...options }: CreateKeyOptions = {},
  ): Promise<KeyJson> {
    return await retryOnConflict(async () => {
      const { key, commit } = await this.prepare(owner, vaultId, input, options);
      await this.#repository.commit(commit, keep?.(key) ?? {});
      return key;
    });
  }

  /** Returns the commit that deletes a key at once. Throws `master_key_immutable` for master0, `not_found`. */
  deletion(owner: Subject, vaultId: string, keyId: string): StoreCommit {
    const vault = this.#vaults.find(owner, vaultId);
    if (keyId === vault.reference.masterKeyId)
      throw new AppError("master_key_immutable", { message: "the master key of a vault cannot be deleted" });
    return this.#repository.keyDeletion(this.#repository.findKey(vaultId, keyId));
  }

  /** Deletes a key at once. Throws as `deletion` does. */
  async delete(owner: Subject, vaultId: string, keyId: string): Promise<void> {
    await this.#repository.commitLatest(() => this.deletion(owner, vaultId, keyId));
  }
}

/** Callers may state type and usage; both must be the spec's. */
function requireMatch(spec: KeySpec, input: CreateKeyInput): void {
  if (input.type !== undefined && input.type !== spec.type)
    throw invalidMember("type", `${spec.name} keys are ${spec.type}`, "key_type_mismatch");
  if (input.options?.prefix !== undefined && spec.hasPrefixOption !== true)
    throw invalidMember("options.prefix", `${spec.name} keys have no prefix`, "option_unsupported");
  if (input.usage !== undefined && input.usage !== spec.usage)
    throw invalidMember("usage", `${spec.name} keys are for ${spec.usage}`, "key_type_mismatch");
}
