/**
 * Where the vault's records lie in the store. Vaults lie under their owner, keys and secrets under their vault, so that
 * another tenant's record is not there to be found. Knows no cryptography: envelopes are texts here.
 */
import { formatSubject, ownerKey, type Subject } from "../platform/auth/principal.js";
import { AppError } from "../platform/errors.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../platform/store/store.js";
import { defineTable, mergeCommits, type Listing, type Page, type Table } from "../platform/store/tables.js";
import { formatHdPath, type HdPath } from "../crypto/wallets/hd-path.js";
import type { HdAddressJson } from "./keys/operation-schemas.js";
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
  /** Counts rotations; stands in the header of the key's ciphertexts. */
  readonly generation: number;
  readonly envelope: string;
}
export interface SecretRecord extends SecretJson {
  readonly envelope: string;
}

/** A record as read, with what the worker needs of it. */
export interface Found<Row, Reference> {
  readonly record: StoreRecord<Row>;
  readonly reference: Reference;
}
export type FoundVault = Found<VaultRecord, VaultReference>;
export type FoundKey = Found<KeyRecord, KeyReference>;
export type FoundSecret = Found<SecretRecord, SecretReference>;

export interface UsableKey {
  readonly vault: FoundVault;
  readonly key: FoundKey;
}

/** An address that was derived from a wallet, for the list of them. */
export interface HdAddressRecord extends HdAddressJson {
  readonly vault_id: string;
  readonly key_id: string;
}

/** A planned deletion whose time came. */
export interface DueDeletion {
  readonly commit: StoreCommit;
  /** Present when the commit deletes a vault. */
  readonly vaultId?: string;
}

export interface KeyFilter {
  readonly spec?: string | undefined;
  readonly type?: string | undefined;
}

/** Everything of a vault but its own record lies under [name, vault id]. Index names as tables.ts writes them. */
const VAULT_CONTENT = [
  "key",
  "key#vault",
  "key#spec",
  "key#type",
  "secret",
  "secret#vault",
  "secret#type",
  "derive_nonce",
  "key_generation",
  "hd_index",
  "hd_address",
  "hd_address#key",
  "hd_address!path",
] as const;
const DERIVE_NONCE = "derive_nonce";
const KEY_GENERATION = "key_generation";
const HD_INDEX = "hd_index";
/** What lies under [name, vault id, key id] beside the key itself. */
const KEY_CONTENT = [
  DERIVE_NONCE,
  KEY_GENERATION,
  HD_INDEX,
  "hd_address",
  "hd_address#key",
  "hd_address!path",
] as const;
/** At about 2 KB each. */
const USABLE_KEYS_MAX = 1_000;
/** Planned deletions by time across all vaults; entries of what is gone are crossed off when their time comes. */
const KEY_DELETION = "key_deletion";
const SECRET_DELETION = "secret_deletion";
const VAULT_DELETION = "vault_deletion";

export class VaultRepository {
  readonly #store: Store;
  readonly #vaults: Table<VaultRecord, "owner", never>;
  readonly #keys: Table<KeyRecord, "vault" | "spec" | "type", never>;
  readonly #secrets: Table<SecretRecord, "vault" | "type", never>;
  readonly #hdAddresses: Table<HdAddressRecord, "key", "path">;
  /** By key, with who found it in which vault: nobody else gets it. */
  readonly #usable = new Map<
    string,
    { readonly owner: Subject; readonly vaultId: string; readonly found: UsableKey }
  >();
  #usableRevision = -1;

  constructor(dependencies: { readonly store: Store }) {
    this.#store = dependencies.store;
    this.#vaults = defineTable(
      {
        name: "vault",
        key: (vault: VaultRecord) => [vault.owner_kind, vault.owner_id, vault.id],
        indexes: { owner: (vault: VaultRecord) => [vault.owner_kind, vault.owner_id] },
      },
      dependencies,
    );
    this.#keys = defineTable(
      {
        name: "key",
        key: (key: KeyRecord) => [key.vault_id, key.id],
        indexes: {
          vault: (key: KeyRecord) => [key.vault_id],
          spec: (key: KeyRecord) => [key.vault_id, key.spec],
          type: (key: KeyRecord) => [key.vault_id, key.type],
        },
      },
      dependencies,
    );
    this.#secrets = defineTable(
      {
        name: "secret",
        key: (secret: SecretRecord) => [secret.vault_id, secret.id],
        indexes: {
          vault: (secret: SecretRecord) => [secret.vault_id],
          type: (secret: SecretRecord) => [secret.vault_id, secret.type],
        },
      },
      dependencies,
    );
    this.#hdAddresses = defineTable(
      {
        name: "hd_address",
        key: (address: HdAddressRecord) => [address.vault_id, address.key_id, address.id],
        indexes: { key: (address: HdAddressRecord) => [address.vault_id, address.key_id] },
        uniques: { path: (address: HdAddressRecord) => [address.vault_id, address.key_id, address.hd_derivation_path] },
      },
      dependencies,
    );
  }

  // The wallets' tables, in the same place as the keys that they belong to.

  /**
   * The index that a branch of a wallet gives out next, and the commit that takes it; conflicts when somebody else took
   * it first.
   */
  nextHdIndex({ record }: FoundKey, branch: HdPath): { readonly index: number; readonly claim: StoreCommit } {
    const key: StoreKey = [
      HD_INDEX,
      record.value.vault_id,
      record.value.id,
      branch.purpose,
      branch.account,
      branch.change,
    ];
    const counter = this.#store.get<number>(key);
    let index = counter?.value ?? 0;
    // Addresses that were derived by their path were given to somebody too.
    while (
      this.#hdAddresses.findBy("path", [record.value.vault_id, record.value.id, formatHdPath({ ...branch, index })]) !==
      undefined
    )
      index += 1;
    return {
      index,
      claim: { checks: [{ key, version: counter?.version ?? "absent" }], puts: [{ key, value: index + 1 }] },
    };
  }

  listHdAddresses({ record }: FoundKey, page: Page): Listing<HdAddressRecord> {
    return this.#hdAddresses.list("key", [record.value.vault_id, record.value.id], { page });
  }

  /**
   * Puts an address on the wallet's list; an empty commit when it is there. Conflicts when it was put there in between.
   */
  hdAddressInsertion(
    { record }: FoundKey,
    path: HdPath,
    address: Omit<HdAddressJson, "hd_derivation_path" | "index">,
  ): StoreCommit {
    const { vault_id, id: key_id } = record.value;
    const hd_derivation_path = formatHdPath(path);
    if (this.#hdAddresses.findBy("path", [vault_id, key_id, hd_derivation_path]) !== undefined) return {};
    return this.#hdAddresses.insertCommit({ ...address, vault_id, key_id, hd_derivation_path, index: path.index });
  }

  async commit(...commits: readonly StoreCommit[]): Promise<void> {
    await this.#store.commit(mergeCommits(...commits));
  }

  /**
   * Throws `not_found` for an unknown vault, for another owner's and for one that is to be deleted, and `data_corrupt`
   * for one without its master key.
   * @param options.evenPlanned also finds a vault that is to be deleted: its own record, not what it holds
   */
  findVault(owner: Subject, vaultId: string, options: { readonly evenPlanned?: boolean } = {}): FoundVault {
    const record = this.#vaults.get([...ownerKey(owner), vaultId]);
    if (record === undefined) throw missing("vault");
    // Only its owner gets here: it may know more than that nothing is found.
    if (record.value.deletes_at !== undefined && options.evenPlanned !== true)
      throw new AppError("not_found", { message: "the vault is to be deleted; restore it to reach what it holds" });
    const master = this.#keys.get([vaultId, record.value.master_key_id]);
    if (master === undefined) throw new AppError("data_corrupt", { message: "a vault lacks its master key" });
    return { record, reference: vaultReference(owner, record.value, master.value.envelope) };
  }

  findKey(vaultId: string, keyId: string): FoundKey {
    const record = this.#keys.get([vaultId, keyId]);
    if (record === undefined) throw missing("key");
    return { record, reference: keyReference(record.value) };
  }

  /** A key under its vault, as often as it is asked for: read again only after something was written. */
  findUsableKey(owner: Subject, vaultId: string, keyId: string): UsableKey {
    const revision = this.#store.revision?.();
    if (revision === undefined) return { vault: this.findVault(owner, vaultId), key: this.findKey(vaultId, keyId) };
    if (revision !== this.#usableRevision || this.#usable.size >= USABLE_KEYS_MAX) this.#usable.clear();
    this.#usableRevision = revision;
    const known = this.#usable.get(keyId);
    if (known?.vaultId === vaultId && known.owner.id === owner.id && known.owner.kind === owner.kind)
      return known.found;
    const found = { vault: this.findVault(owner, vaultId), key: this.findKey(vaultId, keyId) };
    this.#usable.set(keyId, { owner, vaultId, found });
    return found;
  }

  /**
   * The key as it was in an earlier generation, to open what was encrypted then; undefined when there was no such
   * generation.
   */
  findGeneration({ record, reference }: FoundKey, generation: number): KeyReference | undefined {
    if (generation === reference.generation) return reference;
    const envelope = this.#store.get<string>([
      KEY_GENERATION,
      record.value.vault_id,
      record.value.id,
      generation,
    ])?.value;
    return envelope === undefined ? undefined : { ...reference, generation, envelope };
  }

  vaultUpdate({ record }: FoundVault, next: VaultRecord): StoreCommit {
    return this.#vaults.updateCommit(record, next);
  }

  secretUpdate({ record }: FoundSecret, next: SecretRecord): StoreCommit {
    return this.#secrets.updateCommit(record, next);
  }

  keyUpdate({ record }: FoundKey, next: KeyRecord): StoreCommit {
    return this.#keys.updateCommit(record, next);
  }

  /** Puts new material in place of a key's present one, which stays readable under its generation. */
  keyRotation(found: FoundKey, envelope: string): StoreCommit {
    const { value } = found.record;
    return mergeCommits(this.keyUpdate(found, { ...value, generation: value.generation + 1, envelope }), {
      puts: [{ key: [KEY_GENERATION, value.vault_id, value.id, value.generation], value: value.envelope }],
    });
  }

  /** Puts a key on the list of those that are deleted at a time (ISO 8601). */
  keyDeletionPlan({ record }: FoundKey, deletesAt: string): StoreCommit {
    return { puts: [{ key: [KEY_DELETION, deletesAt, record.value.vault_id, record.value.id], value: true }] };
  }

  secretDeletionPlan({ record }: FoundSecret, deletesAt: string): StoreCommit {
    return { puts: [{ key: [SECRET_DELETION, deletesAt, record.value.vault_id, record.value.id], value: true }] };
  }

  vaultDeletionPlan({ record }: FoundVault, deletesAt: string): StoreCommit {
    return {
      puts: [
        {
          key: [VAULT_DELETION, deletesAt, record.value.owner_kind, record.value.owner_id, record.value.id],
          value: true,
        },
      ],
    };
  }

  /**
   * What deletes the vaults, secrets and keys of any owner whose time came, oldest first, at most `limit` of each. A
   * plan that no longer holds is only crossed off.
   */
  dueDeletions(now: string, limit: number): DueDeletion[] {
    return [
      ...this.#due(VAULT_DELETION, now, limit, this.#vaults, (record) => this.vaultDeletion({ record })),
      ...this.#due(SECRET_DELETION, now, limit, this.#secrets, (record) => this.#secrets.deleteCommit(record)),
      ...this.#due(KEY_DELETION, now, limit, this.#keys, (record) => this.keyDeletion({ record })),
    ];
  }

  /** A plan's key is the list's name, the time, and the key of the record. */
  #due<Row extends VaultRecord | SecretRecord | KeyRecord>(
    list: string,
    now: string,
    limit: number,
    table: Pick<Table<Row, never, never>, "get">,
    deletion: (record: StoreRecord<Row>) => StoreCommit,
  ): DueDeletion[] {
    return this.#store.range([list], { limit }).flatMap((plan): DueDeletion[] => {
      const [, deletesAt, ...key] = plan.key;
      if (String(deletesAt) > now) return [];
      const record = table.get(key);
      const crossedOff = { deletes: [plan.key] };
      if (record === undefined || record.value.deletes_at !== deletesAt) return [{ commit: crossedOff }];
      return [
        {
          commit: mergeCommits(crossedOff, deletion(record)),
          ...(list === VAULT_DELETION ? { vaultId: record.value.id } : {}),
        },
      ];
    });
  }

  findSecret(vaultId: string, secretId: string): FoundSecret {
    const record = this.#secrets.get([vaultId, secretId]);
    if (record === undefined) throw missing("secret");
    return { record, reference: { secretId, name: record.value.name, type: record.value.type } };
  }

  listVaults(owner: Subject, page: Page): Listing<VaultRecord> {
    return this.#vaults.list("owner", ownerKey(owner), { page });
  }

  listKeys(vaultId: string, { spec, type }: KeyFilter, page: Page): Listing<KeyRecord> {
    if (spec !== undefined)
      return this.#keys.list("spec", [vaultId, spec], {
        page,
        ...(type === undefined ? {} : { filter: (key) => key.type === type }),
      });
    return type === undefined
      ? this.#keys.list("vault", [vaultId], { page })
      : this.#keys.list("type", [vaultId, type], { page });
  }

  listSecrets(vaultId: string, type: string | undefined, page: Page): Listing<SecretRecord> {
    return type === undefined
      ? this.#secrets.list("vault", [vaultId], { page })
      : this.#secrets.list("type", [vaultId, type], { page });
  }

  /** A vault and its master key are written together or not at all. */
  vaultInsertion(vault: VaultRecord, master: KeyRecord): StoreCommit {
    return mergeCommits(this.#vaults.insertCommit(vault), this.#keys.insertCommit(master));
  }

  keyInsertion(key: KeyRecord): StoreCommit {
    return this.#keys.insertCommit(key);
  }

  secretInsertion(secret: SecretRecord): StoreCommit {
    return this.#secrets.insertCommit(secret);
  }

  /** Deletes a vault with everything that it holds. */
  vaultDeletion({ record }: Pick<FoundVault, "record">): StoreCommit {
    return mergeCommits(this.#vaults.deleteCommit(record), {
      deletePrefixes: VAULT_CONTENT.map((table) => [table, record.value.id]),
    });
  }

  /**
   * Deletes a key and the memory of the nonces that were derived from it: without the key they cannot be used again.
   */
  keyDeletion({ record }: Pick<FoundKey, "record">): StoreCommit {
    return mergeCommits(this.#keys.deleteCommit(record), {
      deletePrefixes: KEY_CONTENT.map((table) => [table, record.value.vault_id, record.value.id]),
    });
  }

  secretDeletion({ record }: FoundSecret): StoreCommit {
    return this.#secrets.deleteCommit(record);
  }
}

/** What the worker needs of a key's record. */
export function keyReference(record: KeyRecord): KeyReference {
  const { id: keyId, spec, type, usage, generation, envelope } = record;
  return {
    keyId,
    spec,
    type,
    usage,
    generation,
    envelope,
    ...(record.public_key === undefined ? {} : { publicKey: record.public_key }),
    ...(record.address === undefined ? {} : { address: record.address }),
    ...(record.disabled_at !== undefined || record.deletes_at !== undefined ? { isDisabled: true } : {}),
  };
}

/** Pins a record: the commit fails when it was deleted or changed meanwhile. */
export function unchanged(record: StoreRecord<unknown>): StoreCommit {
  return { checks: [{ key: record.key, version: record.version }] };
}

/** Marks a nonce of a parent key as used; the commit fails when it already is. */
export function nonceClaim(parent: KeyRecord, nonce: number): StoreCommit {
  const key: StoreKey = [DERIVE_NONCE, parent.vault_id, parent.id, nonce];
  return { checks: [{ key, version: "absent" }], puts: [{ key, value: true }] };
}

/** True when a conflict was about a nonce that is used already. */
export function isNonceClaim(key: StoreKey): boolean {
  return key[0] === DERIVE_NONCE;
}

/** The owner comes from the caller, never from the record: a record under another owner's key does not unwrap. */
export function vaultReference(owner: Subject, record: VaultRecord, masterEnvelope: string): VaultReference {
  return {
    vaultId: record.id,
    owner: formatSubject(owner),
    masterKeyId: record.master_key_id,
    masterEnvelope,
    generation: record.generation,
  };
}

function missing(what: string): AppError {
  return new AppError("not_found", { message: `${what} not found` });
}
