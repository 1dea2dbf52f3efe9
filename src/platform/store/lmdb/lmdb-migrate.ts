/**
 * Runs the pending migrations of an LMDB store before its writer starts: first a backup, then one transaction for each
 * migration.
 */
import { assert } from "../../errors.js";
import type { Log } from "../../log.js";
import { encodeKey } from "../keys.js";
import { ChainTails } from "./lmdb-chains.js";
import { ChangeSet } from "./lmdb-changes.js";
import { readMeta, transact, writeMeta } from "./lmdb-environment.js";
import type { Environment, StoreMeta } from "./lmdb-environment.js";
import { readRange, readRecord } from "./lmdb-reader.js";
import { transactionSpace } from "./record-space.js";
import { pendingMigrations } from "../migrations.js";
import type { Migration, MigrationStore } from "../migrations.js";

export interface MigrateDependencies {
  readonly migrations: readonly Migration[];
  readonly log: Log;
  /** Copies the store into a folder of this name inside the data folder. */
  readonly backup: (name: string) => Promise<void>;
}

/** Migrates the store to the newest schema version. Throws `conflict` when the store is newer than the program. */
export async function migrate(
  environment: Environment,
  { migrations, log, backup }: MigrateDependencies,
): Promise<void> {
  const from = storedMeta(environment);
  const pending = pendingMigrations(from.schema_version, migrations);
  // The name contains the time, so that a crash between backup and migration does not block the next start.
  if (pending.length > 0 && from.count > 0) await backup(`before-schema-${pending[0]?.to ?? 0}-${Date.now()}`);
  for (const migration of pending) {
    transact(environment, () => {
      const meta = storedMeta(environment);
      assert(migration.to === meta.schema_version + 1, "migrations count up without gaps");
      migration.run(migrationStore(environment, meta));
      meta.schema_version = migration.to;
      writeMeta(environment, meta);
    });
    log.info(`migrated the store: ${migration.title}`, { count: migration.to });
  }
}

/** Returns the meta record of a store that was opened before. */
export function storedMeta(environment: Environment): StoreMeta {
  const meta = readMeta(environment);
  assert(meta !== undefined, "an open store has a meta record");
  return meta;
}

/** Returns the operations of a migration inside a transaction. They update `meta`, which must be written at its end. */
export function migrationStore(environment: Environment, meta: StoreMeta): MigrationStore {
  const change = (key: Parameters<MigrationStore["delete"]>[0], json: Uint8Array | undefined): void => {
    const space = transactionSpace(environment);
    const changes = new ChangeSet(space, new ChainTails(space, undefined));
    changes.plan(encodeKey(key), json);
    changes.write(meta);
  };
  return {
    get: (key) => readRecord(environment, key),
    range: (prefix) => readRange(environment, prefix),
    put: (key, value) => {
      change(key, Buffer.from(JSON.stringify(value)));
    },
    delete: (key) => {
      change(key, undefined);
    },
  };
}
