/**
 * `proofwright cluster finalize` ends an upgrade: it migrates the records where this program has others, and refuses
 * programs from then on that cannot read what the nodes write.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { readClusterKey } from "../../platform/cluster/cluster-key.js";
import type { Config } from "../../platform/config.js";
import { HEAD_COLUMNS, headOf, type SqlRow } from "../../platform/cluster/log/cluster-schema.js";
import { migrateCluster } from "../../platform/cluster/migrate-cluster.js";
import { programSchemaVersion } from "../../platform/cluster/join-cluster.js";
import { ROW_FORMAT } from "../../platform/cluster/log/log-row.js";
import { serverVersion } from "../../platform/service/server-version.js";
import { StartError } from "../../platform/start-error.js";
import { requireDatabaseUrl, withDatabase } from "./cluster-database.js";

/** As long as others wait before they give a silent node up. */
const SILENT_SECONDS = 15;

/** Migrates, and raises the format of the cluster's log to that of this program. Returns exit status 0. */
export async function runClusterFinalize(config: Config): Promise<number> {
  return await withDatabase(config, async (client) => {
    const [row] = (await client.query<SqlRow>(`SELECT ${HEAD_COLUMNS} FROM pw_head WHERE id = 1`)).rows;
    if (row === undefined)
      throw new StartError("the database has no cluster; `proofwright cluster init` makes one in it.");
    const { format, schemaVersion } = headOf(row);
    if (format > ROW_FORMAT)
      throw new StartError(
        `the cluster has format ${String(format)}, and this program ${String(ROW_FORMAT)}: use the nodes' version.`,
      );
    const others = await client.query<SqlRow>("SELECT name, build FROM pw_node WHERE build <> $1 ORDER BY name", [
      serverVersion(),
    ]);
    const [other] = others.rows;
    if (other !== undefined)
      throw new StartError(
        `the node ${String(other["name"])} runs version ${String(other["build"])}, and this program is ${serverVersion()}: upgrade all nodes first.`,
      );
    if (schemaVersion < programSchemaVersion()) await migrate(config, client);
    await client.query("UPDATE pw_head SET format = $1 WHERE id = 1 AND format < $1", [ROW_FORMAT]);
    process.stdout.write(
      format === ROW_FORMAT
        ? `All nodes run ${serverVersion()}, and the log has their format ${String(ROW_FORMAT)}: there is nothing to end.\n`
        : `The log has format ${String(ROW_FORMAT)} from now on; older versions are refused.\n`,
    );
    return 0;
  });
}

/** Migrates the records of a cluster without nodes. */
async function migrate(config: Config, client: pg.Client): Promise<void> {
  const { rows } = await client.query<SqlRow>(
    `SELECT name FROM pw_node WHERE seen_at > clock_timestamp() - interval '${String(SILENT_SECONDS)} seconds' ORDER BY name`,
  );
  if (rows.length > 0)
    throw new StartError(
      `this version changes the cluster's records, for which all nodes must be stopped: ${rows.map(({ name }) => String(name)).join(", ")} gave a sign within ${String(SILENT_SECONDS)} seconds.`,
    );
  const clusterKey = await readClusterKey(config.cluster_key_file);
  const folder = await mkdtemp(join(tmpdir(), "proofwright-migrate-"));
  try {
    const titles = await migrateCluster({ databaseUrl: requireDatabaseUrl(config), clusterKey, folder });
    for (const title of titles) process.stdout.write(`Migrated the cluster: ${title}.\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
