/**
 * `proofwright backup`: a consistent copy of a data folder, also while a server runs on it. The snapshot of the store
 * comes first; artifacts are named by content and never change, so that copying them afterwards misses nothing that the
 * snapshot refers to. The keys that sign access and id tokens and the development seal key are left out: a restored
 * server makes new signing keys, which ends all sessions.
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, open, readdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { ConfigError } from "../platform/config.js";
import { openStoreReader } from "../platform/store/lmdb/lmdb-store.js";
import { hashFile } from "./hash-file.js";

interface ManifestEntry {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Copies the store and its artifacts to an empty or new folder, synced to disk, with a manifest of SHA-256 hashes.
 * Returns exit status 0.
 * @throws ConfigError when the folder is not empty or there is no store
 */
export async function runBackup(dataDir: string, target: string): Promise<number> {
  const folder = resolve(target);
  if (existsSync(folder) && (await readdir(folder)).length > 0)
    throw new ConfigError(`${folder} is not empty; name a new folder for the backup.`);
  if (!existsSync(join(dataDir, "store"))) throw new ConfigError(`there is no store in ${resolve(dataDir)}.`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const reader = openStoreReader({ path: join(dataDir, "store") });
  try {
    await reader.backup(join(folder, "store"));
  } finally {
    await reader.close();
  }
  const artifacts = join(dataDir, "artifacts", "sha256");
  const files = existsSync(artifacts)
    ? (await readdir(artifacts, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    : [];
  for (const [index, file] of files.entries()) {
    const from = join(file.parentPath, file.name);
    await copySynced(from, join(folder, "artifacts", "sha256", relative(artifacts, from)));
    if (process.stdout.isTTY) process.stdout.write(`\r  ${String(index + 1)} of ${String(files.length)} artifacts`);
  }
  const manifest = await describe(folder);
  await writeFile(join(folder, "manifest.json"), `${JSON.stringify({ format: 1, files: manifest }, null, 2)}\n`, {
    flag: "wx",
    mode: 0o600,
    flush: true,
  });
  process.stdout.write(
    `${process.stdout.isTTY ? "\r" : ""}Backed up ${String(manifest.length)} files to ${folder}. To restore, copy store and artifacts into an empty data folder and start the server on it.\n`,
  );
  return 0;
}

async function copySynced(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await copyFile(from, to);
  for (const path of [to, dirname(to)]) {
    const handle = await open(path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

async function describe(folder: string): Promise<ManifestEntry[]> {
  const entries: ManifestEntry[] = [];
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    entries.push({ path: relative(folder, path), ...(await hashFile(path)) });
  }
  return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
}
