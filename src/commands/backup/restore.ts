/**
 * `proofwright restore`: a data folder from a backup. Everything is copied into a folder within the new data folder and
 * checked there, and moved to its place when all of it is right; a server does not start while that folder exists. So a
 * restore that is refused or killed never leaves something that looks like a data folder.
 */
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { restoreFolder } from "../../platform/files/data-folder.js";
import { replaceFile, syncPath } from "../../platform/files/durable-files.js";
import { StartError } from "../../platform/start-error.js";
import { openStoreReader } from "../../platform/store/lmdb/lmdb-store.js";
import { MIGRATIONS, pendingMigrations } from "../../platform/store/migrations.js";
import { hashFile } from "../hash-file.js";
import { readManifest, type BackupManifest, type ManifestEntry } from "./backup-manifest.js";

export interface RestoreInput {
  /** The folder that `proofwright backup` has made. */
  readonly from: string;
  /** A new or empty folder. */
  readonly dataDir: string;
  /** The folder of `--keys-to`. */
  readonly keysFrom?: string | undefined;
  /** SHA-256 of the manifest, as `proofwright backup` printed it. */
  readonly manifestSha256?: string | undefined;
}

/** One source of files: the backup, or the keys that were kept apart from it. */
interface Source {
  readonly folder: string;
  readonly manifest: BackupManifest;
}

const FILE_MODE = 0o600;
/** What a file system puts into a new volume. */
const OF_THE_VOLUME: ReadonlySet<string> = new Set(["lost+found"]);

/**
 * Restores a backup into an empty or new data folder. Returns exit status 0; when it throws, nothing is left there.
 * @throws StartError when the folder has data, or the backup is incomplete, changed, damaged or of a newer program
 */
export async function runRestore(input: RestoreInput): Promise<number> {
  const sources = await readSources(input);
  const dataDir = resolve(input.dataDir);
  const collected = await beginRestore(dataDir);
  try {
    for (const { folder, manifest } of sources)
      for (const entry of manifest.files) await copyChecked(folder, collected, entry);
    const records = await checkStore(collected);
    await moveToPlace(collected, dataDir);
    process.stdout.write(summary(dataDir, sources, records));
    return 0;
  } catch (error) {
    await rm(collected, { recursive: true, force: true });
    throw error;
  }
}

async function readSources(input: RestoreInput): Promise<Source[]> {
  const folder = resolve(input.from);
  const { manifest, sha256 } = await readManifest(folder);
  const expected = input.manifestSha256?.toLowerCase();
  if (expected !== undefined && expected !== sha256)
    throw new StartError(
      `the manifest of ${folder} has the SHA-256 ${sha256}, and not the one that was expected: it is another backup, or it was changed.`,
    );
  if (manifest.kind === "keys")
    throw new StartError(`${folder} holds keys and no backup; pass it as --keys, and the backup as --from.`);
  if (!manifest.files.some(({ path }) => path === "store/data.mdb"))
    throw new StartError(`the manifest of ${folder} names no store.`);
  refuseNewer(manifest);
  const backup = { folder, manifest };
  if (input.keysFrom === undefined) return [backup];
  const keysFolder = resolve(input.keysFrom);
  const { manifest: keys } = await readManifest(keysFolder);
  if (keys.kind !== "keys") throw new StartError(`${keysFolder} does not hold what \`backup --keys-to\` writes.`);
  if (keys.files.some(({ path }) => !path.startsWith("keys/")))
    throw new StartError(`${keysFolder} holds more than keys.`);
  if (keys.store_id !== manifest.store_id)
    throw new StartError(`the keys in ${keysFolder} are of another server than the backup in ${folder}.`);
  if (manifest.files.some(({ path }) => path.startsWith("keys/")))
    throw new StartError(`the backup in ${folder} has its keys itself; leave --keys out.`);
  return [backup, { folder: keysFolder, manifest: keys }];
}

function refuseNewer({ schema_version: schemaVersion }: BackupManifest): void {
  // It throws for a store that is newer than this program.
  if (schemaVersion !== undefined) pendingMigrations(schemaVersion, MIGRATIONS);
}

/** Makes the folder that collects, which also keeps another restore, and a server, from this data folder. */
async function beginRestore(dataDir: string): Promise<string> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const present = (await readdir(dataDir)).filter((name) => !OF_THE_VOLUME.has(name));
  if (present.length > 0)
    throw new StartError(
      `${dataDir} is not empty (${present.slice(0, 3).join(", ")}): a backup is restored into an empty or new folder only.`,
    );
  const folder = restoreFolder(dataDir);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    throw new StartError(`${folder} cannot be made; another restore may run.`, { cause: error });
  }
  await syncPath(dataDir);
  return folder;
}

/** Copies a file and checks the copy, so that nothing can change between the check and the use. */
async function copyChecked(from: string, to: string, { path, bytes, sha256 }: ManifestEntry): Promise<void> {
  const copy = join(to, path);
  await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
  await copyFile(join(from, path), copy);
  await chmod(copy, FILE_MODE);
  const found = await hashFile(copy);
  const nameMatches = !path.startsWith("artifacts/") || path.endsWith(`/${sha256}`);
  if (found.bytes !== bytes || found.sha256 !== sha256 || !nameMatches)
    throw new StartError(
      `${join(from, path)} is not as it was backed up (${String(found.bytes)} bytes of ${String(bytes)}): it was cut off, damaged or changed. Take another copy of the backup.`,
    );
  await syncPath(copy);
  await syncPath(dirname(copy));
}

/** Reads every record. Returns their number. */
async function checkStore(collected: string): Promise<number> {
  const path = join(collected, "store");
  const reader = openStoreReader({ path });
  try {
    pendingMigrations(reader.schemaVersion, MIGRATIONS);
    const report = await reader.integrityReport();
    if (!report.sound)
      throw new StartError(
        `the store of the backup is damaged (${report.damages[0]?.reason ?? "unknown damage"}): take an older backup.`,
      );
    return report.records;
  } finally {
    await reader.close();
    // LMDB makes it again; one of another process must not stay.
    await rm(join(path, "lock.mdb"), { force: true });
  }
}

/** Moves all parts to their places; the folder that collected them goes last, and with it the mark of the restore. */
async function moveToPlace(collected: string, dataDir: string): Promise<void> {
  const keys = await readdir(join(collected, "keys")).catch(() => []);
  const parts = (await readdir(collected)).filter((name) => name !== "keys");
  const moves = [...keys.map((name) => join("keys", name)), ...parts].map((path) => ({
    from: join(collected, path),
    to: join(dataDir, basename(path)),
  }));
  const moved: string[] = [];
  try {
    for (const { from, to } of moves) {
      if (existsSync(to))
        throw new StartError(`${to} appeared while the backup was restored; another program made it.`);
      await replaceFile(from, to);
      moved.push(to);
    }
  } catch (error) {
    for (const path of moved) await rm(path, { recursive: true, force: true });
    throw error;
  }
  await syncPath(dataDir);
  await rm(collected, { recursive: true });
  await syncPath(dataDir);
}

function summary(dataDir: string, sources: readonly Source[], records: number): string {
  const files = sources.flatMap(({ manifest }) => manifest.files);
  const [backup] = sources;
  const hasKeys = files.some(({ path }) => path.startsWith("keys/"));
  const seal =
    backup?.manifest.holds_seal_key === true
      ? "The seal key of development mode came with it: the server unseals itself."
      : "The vault is sealed until the server gets the seal key that it had: the 24 words, or its seal provider.";
  const keys = hasKeys
    ? ""
    : "\nThe server's own keys did not come with it: it makes new ones at the start, all sessions have ended, and the audit log goes on in a new section.";
  return `Restored ${String(files.length)} files with ${String(records)} records to ${dataDir}, all as they were backed up. ${seal}${keys}
Start the server on it with the settings that it had, and never beside the one that was backed up: both would send transactions from the same accounts.\n`;
}
