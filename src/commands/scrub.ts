/** `proofwright scrub`: reads every record and every artifact of a data folder and reports damage. Changes nothing. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ConfigError } from "../platform/config.js";
import { openArtifacts } from "../platform/store/artifacts.js";
import { openStoreReader } from "../platform/store/lmdb/lmdb-store.js";

/**
 * Checks all records and artifacts. Returns exit status 0, or 1 when something is damaged.
 * @throws ConfigError when there is no store
 */
export async function runScrub(dataDir: string): Promise<number> {
  if (!existsSync(join(dataDir, "store"))) throw new ConfigError(`there is no store in ${resolve(dataDir)}.`);
  const reader = openStoreReader({ path: join(dataDir, "store") });
  try {
    const report = await reader.integrityReport();
    for (const { reason, key } of report.damages)
      process.stdout.write(`record ${key === undefined ? "(key unreadable)" : JSON.stringify(key)}: ${reason}\n`);
    const damagedFiles = await scrubArtifacts(join(dataDir, "artifacts"));
    const sound = report.sound && damagedFiles.damaged === 0;
    process.stdout.write(
      `${String(report.records)} records and ${String(damagedFiles.files)} artifacts read: ${sound ? "all sound" : "damage found; restore a backup"}.\n`,
    );
    return sound ? 0 : 1;
  } finally {
    await reader.close();
  }
}

async function scrubArtifacts(folder: string): Promise<{ files: number; damaged: number }> {
  const root = join(folder, "sha256");
  if (!existsSync(root)) return { files: 0, damaged: 0 };
  const artifacts = await openArtifacts(folder);
  let files = 0;
  let damaged = 0;
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    files += 1;
    try {
      await artifacts.verify(entry.name);
    } catch {
      damaged += 1;
      process.stdout.write(`artifact ${entry.name}: does not have the content that its name says\n`);
    }
  }
  return { files, damaged };
}
