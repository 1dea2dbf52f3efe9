/** Brings the files into a node's folder that only the cluster's storage has: the folder is a cache of it. */
import { join } from "node:path";
import { openSharedFiles } from "../../platform/cluster/files/open-shared-files.js";
import type { Config } from "../../platform/config.js";
import { StartError } from "../../platform/start-error.js";
import { openArtifacts } from "../../platform/store/artifacts.js";
import { isReplicaFolder, openStoreReader } from "../../platform/store/lmdb/lmdb-store.js";
import { referencedFiles } from "../../prover/referenced-files.js";
import { ProgressLine } from "../../progress-line.js";

type Cluster = Partial<Pick<Config, "database_url" | "artifacts_url">>;

/**
 * Fetches what the records of a node's folder name and the folder has not got. Does nothing in the folder of a single
 * server.
 * @throws StartError when files are missing, and the settings do not say where the cluster has them
 * @throws artifact_corrupt when the cluster has not got them either
 */
export async function fetchFiles(config: Cluster, dataDir: string): Promise<void> {
  const path = join(dataDir, "store");
  if (!isReplicaFolder({ path })) return;
  const reader = openStoreReader({ path });
  const named = referencedFiles(reader);
  await reader.close();
  const folder = join(dataDir, "artifacts");
  const here = await openArtifacts(folder);
  const missing = [...named].filter((sha256) => !here.has(sha256));
  await here.close();
  if (missing.length === 0) return;
  const { database_url: databaseUrl, artifacts_url: artifactsUrl } = config;
  if (databaseUrl === undefined)
    throw new StartError(
      `${String(missing.length)} files that the records name are in the cluster's storage, and not in ${dataDir}: set PROOFWRIGHT_DATABASE_URL, and PROOFWRIGHT_ARTIFACTS_URL where the cluster has it, so that they are fetched.`,
    );
  const shared = await openSharedFiles({ database_url: databaseUrl, artifacts_url: artifactsUrl });
  const artifacts = await openArtifacts(folder, shared);
  try {
    await new ProgressLine(process.stderr).step("files of the cluster", async (report) => {
      for (const [index, sha256] of missing.entries()) {
        await artifacts.resolve(sha256);
        report((index + 1) / missing.length, `${String(index + 1)} of ${String(missing.length)}`);
      }
    });
  } finally {
    await artifacts.close();
  }
}
