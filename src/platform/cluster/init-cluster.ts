/** Makes an empty cluster in a database: its tables, its id and the start of its log. */
import { randomUUID } from "node:crypto";
import { AppError } from "../errors.js";
import { emptyMeta } from "../store/lmdb/lmdb-environment.js";
import { CLUSTER_TABLES, sumText } from "./cluster-schema.js";
import { databaseAddress } from "./database-address.js";
import { connectDatabase } from "./database-client.js";
import { programSchemaVersion } from "./join-cluster.js";
import { ROW_FORMAT, logKeyOf, startMac } from "./log-row.js";

/**
 * Makes the cluster, in one transaction. Returns its id.
 * @param options.clusterKey 32 bytes, which every node needs and the database never sees
 * @throws conflict when the database holds a cluster already
 */
export async function initCluster(options: {
  readonly databaseUrl: string;
  readonly clusterKey: Uint8Array;
}): Promise<string> {
  const logKey = logKeyOf(options.clusterKey);
  const cluster = randomUUID();
  const { schema_version, sequence: version, count, tag_sum: tagSum } = emptyMeta(programSchemaVersion());
  const mac = startMac(logKey, cluster, { version, count, tagSum });
  const client = await connectDatabase(databaseAddress(options.databaseUrl));
  try {
    await client.query("BEGIN");
    for (const table of CLUSTER_TABLES) await client.query(table);
    const made = await client.query(
      `INSERT INTO pw_head (id, cluster, epoch, format, schema_version, g, version, count, tag_sum, mac)
        VALUES (1, $1, 1, $2, $3, 0, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
      [cluster, ROW_FORMAT, schema_version, version, count, sumText(tagSum), mac],
    );
    if (made.rowCount !== 1) throw new AppError("conflict", { message: "the database holds a cluster already" });
    await client.query("INSERT INTO pw_fold (id, g, version, count, tag_sum, mac) VALUES (1, 0, $1, $2, $3, $4)", [
      version,
      count,
      sumText(tagSum),
      mac,
    ]);
    await client.query("COMMIT");
    return cluster;
  } finally {
    await client.end();
  }
}
