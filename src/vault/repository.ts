/**
 * The vault's records in the store. Vaults are stored under their owner, keys and secrets under their vault, so that no
 * look-up can find another tenant's record. Knows no cryptography: envelopes are texts here.
 */
import { formatSubject, ownerKey, type Subject } from "../platform/auth/principal.js";
import { AppError, notFound } from "../platform/errors.js";
import {
  StoreConflict,
  type Store,
  type StoreCommit,
  type StoreKey,
  type StoreRecord,
} from "../platform/store/store.js";
import {
  defineTable,
  mergeCommits,
  retryOnConflict,
  type Listing,
  type Page,
  type Table,
} from "../platform/store/tables.js";
import { HD_INDEX, HdAddressRepository } from "./keys/hd-address-repository.js";
import { KeyCache } from "./key-cache.js";
import type { KeyReference, VaultReference } from "./protocol.js";
import type { SecretFilters, VaultFilters } from "./schemas.js";
import type {
  VaultRecord,
  KeyRecord,
  SecretRecord,
  FoundVault,
  FoundKey,
  FoundSecret,
  KeyInVault,
} from "./vault-records.js";

/** A planned deletion whose recovery window is over. */
export interface DueDeletion {
  readonly commit: StoreCommit;
  /** Present when the commit deletes a vault. */
  readonly vaultId?: string;
}

export interface KeyFilter {
  readonly spec?: string | undefined;
  readonly type?: string | undefined;
  readonly name?: string | undefined;
}

/**
 * The tables and indexes of what a vault holds: everything but its own record is stored under [name, vault id]. The
 * names of indexes are those of tables.ts.
 */
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
/** What is stored of a key under [name, vault id, key id], beside its record. */
const KEY_CONTENT = [
  DERIVE_NONCE,
  KEY_GENERATION,
  HD_INDEX,
  "hd_address",
  "hd_address#key",
  "hd_address!path",
] as const;
/** Planned deletions by time across all vaults. An entry whose record is gone is removed when its time comes. */
const KEY_DELETION = "key_deletion";
const SECRET_DELETION = "secret_deletion";
const VAULT_DELETION = "vault_deletion";

/** Reads the vault's records and makes the commits that change them. */
export class VaultRepository {
  /** The indexes and addresses of wallets. */
  readonly wallets: HdAddressRepository;
  readonly #store: Store;
  readonly #vaults: Table<VaultRecord, "owner", never>;
  readonly #keys: Table<KeyRecord, "vault" | "spec" | "type", never>;
  readonly #secrets: Table<SecretRecord, "vault" | "type", never>;
  readonly #keyCache: KeyCache;

  constructor(dependencies: { readonly store: Store }) {
    this.#store = dependencies.store;
    this.#keyCache = new KeyCache(dependencies);
    this.wallets = new HdAddressRepository(dependencies);
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
  }

  /** Applies the commits as one. Rejects with StoreConflict when one of their checks fails. */
  async commit(...commits: readonly StoreCommit[]): Promise<void> {
    await this.#store.commit(mergeCommits(...commits));
  }

  /**
   * Applies a commit that is made anew of what is there when a record was changed meanwhile, by `prepare`, which throws
   * `not_found` when it is gone.
   */
  async commitLatest(prepare: () => StoreCommit): Promise<void> {
    await retryOnConflict(async () => {
      await this.commit(prepare());
    });
  }

  /** Applies commits that change a record as it was read. Throws `conflict` when another request changed it. */
  async commitUnlessChanged(what: "vault" | "key" | "secret", ...commits: readonly StoreCommit[]): Promise<void> {
    try {
      await this.commit(...commits);
    } catch (error) {
      throw error instanceof StoreConflict ? changedMeanwhile(what, error) : error;
    }
  }

  /** Returns what a request says that did not find a key as it had read it: `not_found` or `conflict`. */
  keyConflict({ record }: FoundKey, cause: StoreConflict): AppError {
    const { vault_id, id } = record.value;
    return this.#keys.get([vault_id, id]) === undefined ? notFound("key", cause) : changedMeanwhile("key", cause);
  }

  /**
   * Finds a vault whose content may be used.
   * @throws not_found for an unknown vault, another owner's, and one whose deletion is planned; `data_corrupt` for one
   * without its master key
   */
  findUsableVault(owner: Subject, vaultId: string): FoundVault {
    const vault = this.findAnyVault(owner, vaultId);
    // Only the owner gets here, and may know that the vault exists.
    if (vault.record.value.deletes_at !== undefined)
      throw new AppError("not_found", {
        message: "the deletion of this vault is planned; restore it to reach its content",
      });
    return vault;
  }

  /**
   * Finds a vault, also one whose deletion is planned: for its own record, never for its content.
   * @throws not_found for an unknown vault and another owner's, `data_corrupt` for one without its master key
   */
  findAnyVault(owner: Subject, vaultId: string): FoundVault {
    const record = this.#vaults.get([...ownerKey(owner), vaultId]);
    if (record === undefined) throw notFound("vault");
    const master = this.#keys.get([vaultId, record.value.master_key_id]);
    if (master === undefined) throw new AppError("data_corrupt", { message: "a vault lacks its master key" });
    return { record, reference: vaultReference(owner, record.value, master.value.envelope) };
  }

  /** Finds a key in a vault that was found before. Throws `not_found`. */
  findKey(vaultId: string, keyId: string): FoundKey {
    const record = this.#keys.get([vaultId, keyId]);
    if (record === undefined) throw notFound("key");
    return { record, reference: keyReference(record.value) };
  }

  /** Finds a key and its vault, for an operation of the key. Cached until the next write. Throws `not_found`. */
  findKeyInVault(owner: Subject, vaultId: string, keyId: string): KeyInVault {
    return this.#keyCache.get({ owner, vaultId, keyId }, () => ({
      vault: this.findUsableVault(owner, vaultId),
      key: this.findKey(vaultId, keyId),
    }));
  }

  /**
   * Returns the key in an earlier generation, to decrypt what was encrypted then; undefined when there was no such
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

  /** Returns the commit that changes a vault's record. */
  vaultUpdate({ record }: FoundVault, next: VaultRecord): StoreCommit {
    return this.#vaults.updateCommit(record, next);
  }

  /** Returns the commit that changes a secret's record. */
  secretUpdate({ record }: FoundSecret, next: SecretRecord): StoreCommit {
    return this.#secrets.updateCommit(record, next);
  }

  /** Returns the commit that changes a key's record. */
  keyUpdate({ record }: FoundKey, next: KeyRecord): StoreCommit {
    return this.#keys.updateCommit(record, next);
  }

  /** Returns the commit that replaces a key's material; the present material stays readable under its generation. */
  keyRotation(found: FoundKey, envelope: string): StoreCommit {
    const { value } = found.record;
    return mergeCommits(this.keyUpdate(found, { ...value, generation: value.generation + 1, envelope }), {
      puts: [{ key: [KEY_GENERATION, value.vault_id, value.id, value.generation], value: value.envelope }],
    });
  }

  /** Returns the commit that plans the deletion of a key for a time (ISO 8601). */
  keyDeletionPlan({ record }: FoundKey, deletesAt: string): StoreCommit {
    return { puts: [{ key: [KEY_DELETION, deletesAt, record.value.vault_id, record.value.id], value: true }] };
  }

  /** Returns the commit that plans the deletion of a secret for a time (ISO 8601). */
  secretDeletionPlan({ record }: FoundSecret, deletesAt: string): StoreCommit {
    return { puts: [{ key: [SECRET_DELETION, deletesAt, record.value.vault_id, record.value.id], value: true }] };
  }

  /** Returns the commit that plans the deletion of a vault for a time (ISO 8601). */
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
   * Returns the commits that carry out the planned deletions of any owner whose time has come, oldest first, at most
   * `limit` each of vaults, secrets and keys. A plan that was withdrawn or moved is only removed.
   * @param now ISO 8601
   */
  dueDeletions(now: string, limit: number): DueDeletion[] {
    const until = { now, limit };
    return [
      ...this.#due(VAULT_DELETION, until, this.#vaults, (record) => this.vaultDeletion({ record })),
      ...this.#due(SECRET_DELETION, until, this.#secrets, (record) => this.#secrets.deleteCommit(record)),
      ...this.#due(KEY_DELETION, until, this.#keys, (record) => this.keyDeletion({ record })),
    ];
  }

  /** A plan's key is the list's name, the time, and the key of the record. */
  #due<Row extends VaultRecord | SecretRecord | KeyRecord>(
    list: string,
    { now, limit }: { readonly now: string; readonly limit: number },
    table: Pick<Table<Row, never, never>, "get">,
    deletion: (record: StoreRecord<Row>) => StoreCommit,
  ): DueDeletion[] {
    return this.#store.range([list], { limit }).flatMap((plan): DueDeletion[] => {
      const [, deletesAt, ...key] = plan.key;
      if (String(deletesAt) > now) return [];
      const record = table.get(key);
      const removal = { deletes: [plan.key] };
      if (record === undefined || record.value.deletes_at !== deletesAt) return [{ commit: removal }];
      return [
        {
          commit: mergeCommits(removal, deletion(record)),
          ...(list === VAULT_DELETION ? { vaultId: record.value.id } : {}),
        },
      ];
    });
  }

  /** Finds a secret in a vault that was found before. Throws `not_found`. */
  findSecret(vaultId: string, secretId: string): FoundSecret {
    const record = this.#secrets.get([vaultId, secretId]);
    if (record === undefined) throw notFound("secret");
    return { record, reference: { secretId, name: record.value.name, type: record.value.type } };
  }

  /** Lists an owner's vaults, or those of one name, oldest first, also those whose deletion is planned. */
  listVaults(owner: Subject, { name }: VaultFilters, page: Page): Listing<VaultRecord> {
    return this.#vaults.list("owner", ownerKey(owner), { page, ...having<VaultRecord>({ name }) });
  }

  /** Lists the keys of a vault that match the filter, oldest first. */
  listKeys(vaultId: string, { spec, type, name }: KeyFilter, page: Page): Listing<KeyRecord> {
    if (spec !== undefined)
      return this.#keys.list("spec", [vaultId, spec], { page, ...having<KeyRecord>({ type, name }) });
    return type === undefined
      ? this.#keys.list("vault", [vaultId], { page, ...having<KeyRecord>({ name }) })
      : this.#keys.list("type", [vaultId, type], { page, ...having<KeyRecord>({ name }) });
  }

  /** Lists the secrets of a vault that match the filter, oldest first. */
  listSecrets(vaultId: string, { type, name }: SecretFilters, page: Page): Listing<SecretRecord> {
    return type === undefined
      ? this.#secrets.list("vault", [vaultId], { page, ...having<SecretRecord>({ name }) })
      : this.#secrets.list("type", [vaultId, type], { page, ...having<SecretRecord>({ name }) });
  }

  /** Returns the commit that writes a vault and its master key, together or not at all. */
  vaultInsertion(vault: VaultRecord, master: KeyRecord): StoreCommit {
    return mergeCommits(this.#vaults.insertCommit(vault), this.#keys.insertCommit(master));
  }

  /** Returns the commit that writes a new key. */
  keyInsertion(key: KeyRecord): StoreCommit {
    return this.#keys.insertCommit(key);
  }

  /** Returns the commit that writes a new secret. */
  secretInsertion(secret: SecretRecord): StoreCommit {
    return this.#secrets.insertCommit(secret);
  }

  /** Returns the commit that deletes a vault with everything that it holds. */
  vaultDeletion({ record }: Pick<FoundVault, "record">): StoreCommit {
    return mergeCommits(this.#vaults.deleteCommit(record), {
      deletePrefixes: VAULT_CONTENT.map((table) => [table, record.value.id]),
    });
  }

  /**
   * Returns the commit that deletes a key, its earlier generations, addresses and used nonces: without the key no nonce
   * can be used again.
   */
  keyDeletion({ record }: Pick<FoundKey, "record">): StoreCommit {
    return mergeCommits(this.#keys.deleteCommit(record), {
      deletePrefixes: KEY_CONTENT.map((table) => [table, record.value.vault_id, record.value.id]),
    });
  }

  /** Returns the commit that deletes a secret. */
  secretDeletion({ record }: FoundSecret): StoreCommit {
    return this.#secrets.deleteCommit(record);
  }

  /** Whether a conflict was about the record of a key, rather than about an index or an address of a wallet. */
  isKeyConflict({ key }: StoreConflict): boolean {
    return this.#keys.isOwnKey(key);
  }
}

function changedMeanwhile(what: "vault" | "key" | "secret", cause: StoreConflict): AppError {
  const message = `the ${what} was changed by another request at the same time; try again`;
  return new AppError("conflict", { message, cause });
}

/** Returns the filter of rows that have the given members; none where no member is given, so that the index counts. */
function having<Row>(members: { readonly [Name in keyof Row]?: string | undefined }): {
  readonly filter?: (row: Row) => boolean;
} {
  const given = (Object.keys(members) as (keyof Row)[]).filter((name) => members[name] !== undefined);
  return given.length === 0 ? {} : { filter: (row) => given.every((name) => row[name] === members[name]) };
}

/** Returns the part of a key's record that goes to the worker. */
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

/** Returns a commit that only fails when the record was deleted or changed meanwhile. */
export function unchanged(record: StoreRecord<unknown>): StoreCommit {
  return { checks: [{ key: record.key, version: record.version }] };
}

/** Returns the commit that marks a nonce of a parent key as used; it conflicts when the nonce is used already. */
export function nonceClaim(parent: KeyRecord, nonce: number): StoreCommit {
  const key: StoreKey = [DERIVE_NONCE, parent.vault_id, parent.id, nonce];
  return { checks: [{ key, version: "absent" }], puts: [{ key, value: true }] };
}

/** Whether a conflict was about a nonce that is used already. */
export function isNonceConflict({ key }: StoreConflict): boolean {
  return key[0] === DERIVE_NONCE;
}

/**
 * Returns the part of a vault's record that goes to the worker. The owner comes from the caller, never from the record:
 * a record that was moved under another owner does not unwrap.
 */
export function vaultReference(owner: Subject, record: VaultRecord, masterEnvelope: string): VaultReference {
  return {
    vaultId: record.id,
    owner: formatSubject(owner),
    masterKeyId: record.master_key_id,
    masterEnvelope,
    generation: record.generation,
  };
}
