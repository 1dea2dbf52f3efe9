/**
 * Changes of what the records mean, numbered, forward only, each in one transaction with the new number, so that a
 * crash leaves the store before it or after it. A store that is newer than the program is refused: it would be misread.
 */
import { AppError } from "../errors.js";
import type { StoreKey, StoreRecord, StoreValue } from "./store.js";

/** What a migration may do; all of it inside its transaction. */
export interface MigrationStore {
  get(key: StoreKey): StoreRecord | undefined;
  range(prefix: StoreKey): Iterable<StoreRecord>;
  put(key: StoreKey, value: StoreValue): void;
  delete(key: StoreKey): void;
}

export interface Migration {
  /** The schema version that it leads to; the list counts up without gaps. */
  readonly to: number;
  /** What it does, for the log. */
  readonly title: string;
  run(store: MigrationStore): void;
}

/** The version that new stores have, before any of MIGRATIONS. */
export const FIRST_SCHEMA_VERSION = 1;

/** All migrations, oldest first. A released one never changes. */
export const MIGRATIONS: readonly Migration[] = [];

/**
 * The migrations that a store still needs. Throws `conflict` with a sentence for the operator when the store is newer.
 */
export function pendingMigrations(schemaVersion: number, migrations: readonly Migration[]): readonly Migration[] {
  const newest = migrations.at(-1)?.to ?? FIRST_SCHEMA_VERSION;
  if (schemaVersion > newest) {
    throw new AppError("conflict", {
      message: `the data folder has schema version ${schemaVersion}, this program knows ${newest}: it was written by a newer version, use that one`,
    });
  }
  return migrations.filter((migration) => migration.to > schemaVersion);
}
