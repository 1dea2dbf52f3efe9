/**
 * Changes of the meaning of records: numbered, forward only, each in one transaction with the new number, so that a
 * crash leaves the store before or after it. A store that is newer than the program is rejected, because the program
 * would misread it.
 */
import { AppError } from "../errors.js";
import type { StoreKey, StoreRecord, StoreValue } from "./store.js";

/** The operations of a migration, all inside its transaction. */
export interface MigrationStore {
  get(key: StoreKey): StoreRecord | undefined;
  range(prefix: StoreKey): Iterable<StoreRecord>;
  put(key: StoreKey, value: StoreValue): void;
  delete(key: StoreKey): void;
}

export interface Migration {
  /** The schema version after it; the list counts up without gaps. */
  readonly to: number;
  /** Description for the log. */
  readonly title: string;
  run(store: MigrationStore): void;
}

/** What the second version needs of a transaction of the first. */
type TransactionBefore2 = {
  readonly id: string;
  readonly created_at: string;
  readonly network_id: string;
  readonly hash: string | null;
};

/** The schema version before the first of MIGRATIONS. */
export const FIRST_SCHEMA_VERSION = 1;

/** All migrations, oldest first. A released one never changes. */
export const MIGRATIONS: readonly Migration[] = [
  {
    to: 2,
    title: "finds transactions by their hash",
    run: (store) => {
      for (const { key, value } of [...store.range(["chain_transaction"])]) {
        const { hash, network_id: network, created_at: created, id } = value as TransactionBefore2;
        const [, ...record] = key;
        if (hash !== null)
          store.put(["chain_transaction#hash", ...record.slice(0, -1), network, hash, created, id], record);
      }
    },
  },
];

/**
 * Returns the migrations that a store still needs.
 * @throws conflict when the store is newer than the program
 */
export function pendingMigrations(schemaVersion: number, migrations: readonly Migration[]): readonly Migration[] {
  const newest = migrations.at(-1)?.to ?? FIRST_SCHEMA_VERSION;
  if (schemaVersion > newest) {
    throw new AppError("conflict", {
      message: `the data folder has schema version ${schemaVersion}, and this program supports ${newest}: use the newer version of the program that wrote it`,
    });
  }
  return migrations.filter((migration) => migration.to > schemaVersion);
}
