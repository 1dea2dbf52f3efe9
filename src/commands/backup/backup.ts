/**
 * `proofwright backup`: a consistent copy of a data folder, also while a server runs on it. Artifacts are named by
 * content and never change: they are copied before and after the snapshot of the store, so that the copy has each one
 * that the snapshot refers to, also where one is deleted meanwhile.
 *
 * A node's folder is copied with all files that its records name, those too that only the cluster's storage has.
 *
 * What development mode keeps goes along with its keys, the seal key too. Of a server in production the copy has no key
 * at all: whoever reads it can neither open the vault nor make tokens. The server's own keys go into another folder
 * where the operator names one.
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { isoTimestamp, systemClock } from "../../platform/clock.js";
import { ConfigError, type Config } from "../../platform/config.js";
import { syncPath } from "../../platform/files/durable-files.js";
import { createPrivateFile, readPrivateFile } from "../../platform/files/private-file.js";
import { serverVersion } from "../../platform/service/server-version.js";
import { openStoreReader, type StoreReader } from "../../platform/store/lmdb/lmdb-store.js";
import { SENTINEL_KEY } from "../../vault/seal/sentinel.js";
import { DEVELOPMENT_PHRASE_FILE } from "../../vault/seal/providers/development.js";
import { SEAL_MODE_KEY, type SealModeRecord } from "../../vault/seal/start-mode.js";
import { fetchFiles } from "../cluster/fetch-files.js";
import { hashFile } from "../hash-file.js";
import {
  MANIFEST_FILE,
  MANIFEST_FORMAT,
  SERVER_KEY_FILES,
  describeFiles,
  type BackupManifest,
} from "./backup-manifest.js";

export interface BackupInput {
  readonly dataDir: string;
  /** Where a node's files are that its folder has not got. */
  readonly cluster?: Pick<Config, "database_url" | "artifacts_url">;
  /** A new or empty folder. */
  readonly to: string;
  /** A new or empty folder for the keys of a server in production. */
  readonly keysTo?: string | undefined;
}

/** What is known of the store, from its snapshot. */
type Origin = Pick<BackupManifest, "schema_version" | "store_id"> & { readonly isDevelopment: boolean };

/**
 * Copies the store, its artifacts and, of development mode, the keys to an empty or new folder, synced to disk, with a
 * manifest of SHA-256 hashes. Returns exit status 0.
 * @throws ConfigError when a folder is not empty, there is no store, or `keysTo` is given for development mode
 */
export async function runBackup(input: BackupInput): Promise<number> {
  const dataDir = resolve(input.dataDir);
  if (!existsSync(join(dataDir, "store"))) throw new ConfigError(`there is no store in ${dataDir}.`);
  await fetchFiles(input.cluster ?? {}, dataDir);
  const reader = openStoreReader({ path: join(dataDir, "store") });
  try {
    return await copyAll(input, { dataDir, reader });
  } finally {
    await reader.close();
  }
}

async function copyAll(
  input: BackupInput,
  { dataDir, reader }: { readonly dataDir: string; readonly reader: StoreReader },
): Promise<number> {
  const origin = originOf(reader);
  if (origin.isDevelopment && input.keysTo !== undefined)
    throw new ConfigError("--keys-to is for production: a backup of development mode holds its keys itself.");
  const { folder, keysFolder } = await emptyTargets(input);
  await copyArtifacts(dataDir, folder);
  await reader.backup(join(folder, "store"));
  await copyArtifacts(dataDir, folder);
  if (origin.isDevelopment) await copyKeys(dataDir, folder, [...SERVER_KEY_FILES, DEVELOPMENT_PHRASE_FILE]);
  if (keysFolder !== undefined) await copyKeys(dataDir, keysFolder, SERVER_KEY_FILES);
  if (keysFolder !== undefined) await writeManifest(keysFolder, { ...origin, kind: "keys" });
  const { files, sha256 } = await writeManifest(folder, { ...origin, kind: "backup" });
  process.stdout.write(
    `${process.stdout.isTTY ? "\r" : ""}Backed up ${String(files)} files to ${folder}; SHA-256 of its manifest: ${sha256}\n${consequences(origin, keysFolder)}To restore it: proofwright restore --from=${folder} --data-dir=NEW_FOLDER\n`,
  );
  return 0;
}

/** Makes the folders, each empty, and neither within the other nor within the data folder. */
async function emptyTargets(input: BackupInput): Promise<{ folder: string; keysFolder: string | undefined }> {
  const folder = resolve(input.to);
  const keysFolder = input.keysTo === undefined ? undefined : resolve(input.keysTo);
  const artifacts = join(resolve(input.dataDir), "artifacts");
  if (contains(artifacts, folder) || contains(join(resolve(input.dataDir), "store"), folder))
    throw new ConfigError(`${folder} lies within what is backed up; name another folder.`);
  if (keysFolder !== undefined && (contains(folder, keysFolder) || contains(keysFolder, folder)))
    throw new ConfigError("--keys-to must not lie within --to, nor the other way round: keep the keys apart.");
  for (const path of [folder, keysFolder]) {
    if (path === undefined) continue;
    if (existsSync(path) && (await readdir(path)).length > 0)
      throw new ConfigError(`${path} is not empty; name a new folder for the backup.`);
    await mkdir(path, { recursive: true, mode: 0o700 });
  }
  return { folder, keysFolder };
}

function contains(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(`${outer}${sep}`);
}

function originOf(reader: StoreReader): Origin {
  const mode = reader.get<SealModeRecord>(SEAL_MODE_KEY)?.value.mode;
  return {
    schema_version: reader.schemaVersion,
    store_id: reader.get<{ readonly store_id: string }>(SENTINEL_KEY)?.value.store_id ?? null,
    // Where development mode has a seal key of the operator's, the store says nothing: its keys stay apart as well.
    isDevelopment: mode === "development",
  };
}

/** Copies the artifacts that the backup does not have yet. One that is deleted meanwhile is no longer needed. */
async function copyArtifacts(dataDir: string, folder: string): Promise<void> {
  const root = join(dataDir, "artifacts", "sha256");
  if (!existsSync(root)) return;
  const files = (await readdir(root, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  for (const [index, file] of files.entries()) {
    const from = join(file.parentPath, file.name);
    const to = join(folder, "artifacts", "sha256", relative(root, from));
    if (!existsSync(to)) await copySynced(from, to);
    if (process.stdout.isTTY) process.stdout.write(`\r  ${String(index + 1)} of ${String(files.length)} artifacts`);
  }
}

async function copySynced(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  try {
    await copyFile(from, to);
  } catch (error) {
    if (!existsSync(from)) return;
    throw error;
  }
  await syncPath(to);
  await syncPath(dirname(to));
}

async function copyKeys(dataDir: string, folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const content = await readPrivateFile(join(dataDir, name));
    if (content === undefined) continue;
    try {
      await createPrivateFile(join(folder, "keys", name), content);
    } finally {
      content.fill(0);
    }
  }
}

async function writeManifest(
  folder: string,
  { isDevelopment, ...origin }: Origin & Pick<BackupManifest, "kind">,
): Promise<{ files: number; sha256: string }> {
  const manifest: BackupManifest = {
    format: MANIFEST_FORMAT,
    ...origin,
    created_at: isoTimestamp(systemClock.nowMs()),
    program: serverVersion(),
    holds_seal_key: isDevelopment && existsSync(join(folder, "keys", DEVELOPMENT_PHRASE_FILE)),
    files: await describeFiles(folder),
  };
  const path = join(folder, MANIFEST_FILE);
  await createPrivateFile(path, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  return { files: manifest.files.length, sha256: (await hashFile(path)).sha256 };
}

function consequences({ isDevelopment }: Origin, keysFolder: string | undefined): string {
  if (isDevelopment)
    return "It is of development mode and holds the seal key and all other keys: whoever reads it can open the vault.\n";
  const sealed =
    "It holds nothing that unseals the vault: keep the 24 words, or the access to the seal provider, elsewhere; without them the keys in it are lost.\n";
  return keysFolder === undefined
    ? `${sealed}The server's own keys are not in it: without them a restored server makes new ones, which ends all sessions, and the audit log needs its old key to be verified. --keys-to=FOLDER saves them apart.\n`
    : `${sealed}The server's own keys are in ${keysFolder}: who has them can make tokens, so keep them apart from the backup, and pass them to restore with --keys.\n`;
}
