/** Whether a failover of the cluster's database can lose what was acknowledged. */
import type { SqlRow } from "./log/cluster-schema.js";
import type { DatabaseAddress } from "./database-address.js";
import { connectDatabase } from "./database-client.js";

/**
 * Says whether the database waits for a standby before it acknowledges a commit.
 * @throws what pg throws when the database cannot be asked
 */
export async function waitsForStandbys(address: DatabaseAddress): Promise<boolean> {
  const client = await connectDatabase(address);
  try {
    const { rows } = await client.query<SqlRow>(
      `SELECT current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') <> 'off' AS waits`,
    );
    return rows[0]?.["waits"] === true;
  } finally {
    client.end().catch(() => undefined);
  }
}
