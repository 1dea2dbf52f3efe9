/** `proofwright cluster init`: makes a cluster, empty or with what a stopped server has. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { AUDIT_KEY_FILE } from "../../platform/audit/audit-log.js";
import { openClusterKey } from "../../platform/cluster/cluster-key.js";
import { AUDIT_SECRET } from "../../platform/cluster/cluster-secrets.js";
import { initCluster } from "../../platform/cluster/init-cluster.js";
import type { Config } from "../../platform/config.js";
import { refuseUnfinishedRestore } from "../../platform/files/data-folder.js";
import { readPrivateFile } from "../../platform/files/private-file.js";
import { StartError } from "../../platform/start-error.js";
import { DEVELOPMENT_PHRASE_FILE } from "../../vault/seal/providers/development.js";
import { SERVER_KEY_FILES } from "../backup/backup-manifest.js";
import { requireDatabaseUrl } from "./cluster-database.js";

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
