/** `proofwright cluster init`: makes a cluster, empty or with what a stopped server has. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { AUDIT_KEY_FILE } from "../../platform/audit/audit-log.js";
import { openClusterKey } from "../../platform/cluster/cluster-key.js";
import { FILE_TABLES } from "../../platform/cluster/files/file-tables.js";
import { openSharedFiles } from "../../platform/cluster/files/open-shared-files.js";
import { AUDIT_SECRET } from "../../platform/cluster/cluster-secrets.js";
import { initCluster } from "../../platform/cluster/init-cluster.js";
import type { Config } from "../../platform/config.js";
import { lockFolder } from "../../platform/files/folder-lock.js";
import { refuseUnfinishedRestore } from "../../platform/files/data-folder.js";
import { readPrivateFile } from "../../platform/files/private-file.js";
import { StartError } from "../../platform/start-error.js";
import { uploadArtifacts } from "../../platform/store/upload-artifacts.js";
import { ProgressLine } from "../../progress-line.js";
import { DEVELOPMENT_PHRASE_FILE } from "../../vault/seal/providers/development.js";
import { SERVER_KEY_FILES } from "../backup/backup-manifest.js";
import { requireDatabaseUrl, withDatabase } from "./cluster-database.js";

const AUDIT_KEY_BYTES = 32;

/**
 * Makes the cluster. Returns exit status 0.
 * @param from data folder of a stopped server
 */
export async function runClusterInit(config: Config, from: string | undefined): Promise<number> {
  const databaseUrl = requireDatabaseUrl(config);
  if (config.cluster_key_file === undefined)
    throw new StartError(
      "--cluster-key-file is missing: the file for the cluster's key, which is made unless it is there.",
    );
  const dataDir = from === undefined ? undefined : resolve(from);
  const secrets =
    dataDir === undefined ? new Map([[AUDIT_SECRET, randomBytes(AUDIT_KEY_BYTES)]]) : await secretsOf(dataDir);
  if (dataDir !== undefined) await shareFiles({ ...config, database_url: databaseUrl }, dataDir);
  const clusterKey = await openClusterKey(config.cluster_key_file);
  const cluster = await initCluster({
    databaseUrl,
    clusterKey,
    secrets,
    ...(dataDir === undefined ? {} : { from: join(dataDir, "store") }),
  });
  process.stdout.write(
    `The cluster ${cluster} is made${dataDir === undefined ? "" : ` with what ${dataDir} has`}.
Its key is in ${resolve(config.cluster_key_file)}: give every node a copy, and keep one apart from the database's backups.
Each node starts with an empty data folder: proofwright server --database-url=... --cluster-key-file=...
`,
  );
  return 0;
}

/**
 * Brings the files where the nodes share them, before the cluster is made: what was cut off is run again.
 * @throws StartError when the database holds a cluster already
 */
async function shareFiles(config: Config & { readonly database_url: string }, dataDir: string): Promise<void> {
  await withDatabase(config, async (client) => {
    const { rows } = await client.query("SELECT to_regclass('pw_head') AS head");
    const [{ head }] = rows as [{ readonly head: unknown }];
    if (head !== null) throw new StartError("the database holds a cluster already.");
    for (const table of FILE_TABLES) await client.query(table);
  });
  const lock = lockFolder(join(dataDir, "store"));
  const shared = await openSharedFiles(config);
  try {
    await new ProgressLine(process.stderr).step("files for all nodes", async (report) => {
      await uploadArtifacts(join(dataDir, "artifacts"), shared, ({ files, filesTotal, bytes, bytesTotal }) => {
        report(bytesTotal === 0 ? 1 : bytes / bytesTotal, `${String(files)} of ${String(filesTotal)}`);
      });
    });
  } finally {
    await shared.close();
    lock.release();
  }
}

/** Reads the server's own keys, which the cluster keeps sealed. */
async function secretsOf(dataDir: string): Promise<Map<string, Buffer>> {
  if (!existsSync(join(dataDir, "store"))) throw new StartError(`there is no store in ${dataDir}.`);
  refuseUnfinishedRestore(dataDir);
  if (existsSync(join(dataDir, DEVELOPMENT_PHRASE_FILE)))
    throw new StartError(
      `the seal key of ${dataDir} was made by development mode, and nodes need one that all of them can be given: set one with \`proofwright rekey\` first.`,
    );
  const secrets = new Map<string, Buffer>();
  for (const name of SERVER_KEY_FILES) {
    const content = await readPrivateFile(join(dataDir, name));
    if (content !== undefined) secrets.set(name, content);
  }
  if (!secrets.has(AUDIT_KEY_FILE))
    throw new StartError(`${dataDir} has no ${AUDIT_KEY_FILE}, which its audit log needs.`);
  return secrets;
}
