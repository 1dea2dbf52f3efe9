/**
 * Vaults: finding them under their owner, creating them with their master key, deleting them. Every lookup starts from
 * the owner.
 */
import { formatSubject, type Subject } from "../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../platform/clock.js";
import { notFound } from "../platform/errors.js";
import { newId } from "../platform/ids.js";
import type { StoreCommit } from "../platform/store/store.js";
import { mergeCommits } from "../platform/store/commits.js";
import type { Listing, Page } from "../platform/store/tables.js";
import { FIRST_GENERATION, keyJson } from "./keys/key-records.js";
import { isOver } from "./keys/planned-deletions.js";
import type { VaultReference } from "./protocol.js";
import { vaultJson } from "./record-views.js";
import { unchanged, vaultReference, type VaultRepository } from "./repository.js";
import type { FoundVault, KeyRecord, VaultRecord } from "./vault-records.js";
import type { CreateVaultInput, KeyJson, VaultFilters, VaultJson } from "./schemas.js";
import type { VaultSeal } from "./seal/seal.js";
import { MASTER_KEY_COLUMNS } from "./worker/keyring.js";

/** A page of a list, as the contract's list replies take it. */
export interface Listed<T> {
  readonly body: T[];
  /** Over all pages. */
  readonly total: number;
}

/** A vault whose records are ready to be written by the caller's commit. */
export interface PreparedVault {
  readonly vault: VaultJson;
  readonly master: KeyJson;
  readonly commit: StoreCommit;
  /** For preparing keys and secrets that go into the same commit. */
  readonly reference: VaultReference;
}

export interface PrepareOptions {
  /** The vault is written by the same commit and does not exist yet. */
  readonly pendingVault?: PreparedVault;
}

/** The vault that a new record goes into, and the check that fails its commit when the vault was deleted meanwhile. */
export interface RecordTarget {
  readonly reference: VaultReference;
  readonly pin: StoreCommit;
}

export interface VaultsDependencies {
  readonly repository: VaultRepository;
  readonly seal: VaultSeal;
  readonly clock: Clock;
}

/** The vaults of all owners. */
export class Vaults {
  readonly #repository: VaultRepository;
  readonly #seal: VaultSeal;
  readonly #clock: Clock;

  constructor(dependencies: VaultsDependencies) {
    this.#repository = dependencies.repository;
    this.#seal = dependencies.seal;
    this.#clock = dependencies.clock;
  }

  /** Lists an owner's vaults, or those of one name, oldest first. */
  list(owner: Subject, query: Page & VaultFilters): Listed<VaultJson> {
    this.#seal.requireUnsealed();
    return listed(this.#repository.listVaults(owner, query, query), vaultJson);
  }

  /** Returns a vault, also one whose deletion is planned: `deletes_at` says so. Throws `not_found`. */
  get(owner: Subject, vaultId: string): VaultJson {
    this.#seal.requireUnsealed();
    const vault = vaultJson(this.#repository.findAnyVault(owner, vaultId).record.value);
    if (isOver(vault.deletes_at, this.#clock)) throw notFound("vault");
    return vault;
  }

  /** Finds a vault that can be used. Throws `vault_sealed` first, so that a sealed vault does not show what exists. */
  find(owner: Subject, vaultId: string): FoundVault {
    this.#seal.requireUnsealed();
    return this.#repository.findUsableVault(owner, vaultId);
  }

  /** Returns where a new key or secret goes. Throws `not_found` also for a pending vault of another owner or id. */
  targetFor(owner: Subject, vaultId: string, options: PrepareOptions): RecordTarget {
    const pending = options.pendingVault?.reference;
    if (pending === undefined) {
      const { reference, record } = this.find(owner, vaultId);
      return { reference, pin: unchanged(record) };
    }
    if (pending.vaultId !== vaultId || pending.owner !== formatSubject(owner)) throw notFound("vault");
    return { reference: pending, pin: {} };
  }

  /** Makes a vault with its master key, to be written by the caller's commit. */
  async prepare(owner: Subject, input: CreateVaultInput): Promise<PreparedVault> {
    const vaultId = newId();
    const masterKeyId = newId();
    const createdAt = isoTimestamp(this.#clock.nowMs());
    const { pin } = this.#seal;
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
      commit: mergeCommits(this.#repository.vaultInsertion(record, master), pin),
      reference: vaultReference(owner, record, envelope),
    };
  }

  /**
   * Makes a vault with its master key.
   * @param keep returns what else goes into the vault's commit
   */
  async create(owner: Subject, input: CreateVaultInput, keep?: (vault: VaultJson) => StoreCommit): Promise<VaultJson> {
    const { vault, commit } = await this.prepare(owner, input);
    await this.#repository.commit(commit, keep?.(vault) ?? {});
    return vault;
  }

  /**
   * Returns the commit that deletes a vault with its keys and secrets at once, whether or not a deletion is planned.
   * Throws `not_found`.
   */
  deletion(owner: Subject, vaultId: string): StoreCommit {
    this.#seal.requireUnsealed();
    return this.#repository.vaultDeletion(this.#repository.findAnyVault(owner, vaultId));
  }

  /** Deletes a vault with its keys and secrets at once. Throws `not_found`. */
  async delete(owner: Subject, vaultId: string): Promise<void> {
    await this.#repository.commitLatest(() => this.deletion(owner, vaultId));
    await this.#seal.forgetVault(vaultId);
  }
}

/** Returns a page of records in the form of the API. */
export function listed<T, U>({ rows, total }: Listing<T>, map: (row: T) => U): Listed<U> {
  return { body: rows.map(map), total };
}
