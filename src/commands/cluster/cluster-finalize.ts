/** `proofwright cluster finalize`: after all nodes were upgraded, refuses programs that cannot read what they write. */
import type { Config } from "../../platform/config.js";
import { HEAD_COLUMNS, headOf, type SqlRow } from "../../platform/cluster/log/cluster-schema.js";
import { ROW_FORMAT } from "../../platform/cluster/log/log-row.js";
import { serverVersion } from "../../platform/service/server-version.js";
import { StartError } from "../../platform/start-error.js";
import { withDatabase } from "./cluster-database.js";

/** Raises the format of the cluster's log to that of this program. Returns exit status 0. */
export async function runClusterFinalize(config: Config): Promise<number> {
  return await withDatabase(config, async (client) => {
    const [row] = (await client.query<SqlRow>(`SELECT ${HEAD_COLUMNS} FROM pw_head WHERE id = 1`)).rows;
    if (row === undefined)
      throw new StartError("the database has no cluster; `proofwright cluster init` makes one in it.");
    const { format } = headOf(row);
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
    await client.query("UPDATE pw_head SET format = $1 WHERE id = 1 AND format < $1", [ROW_FORMAT]);
    process.stdout.write(
      format === ROW_FORMAT
        ? `All nodes run ${serverVersion()}, and the log has their format ${String(ROW_FORMAT)}: there is nothing to end.\n`
        : `The log has format ${String(ROW_FORMAT)} from now on; older versions are refused.\n`,
    );
    return 0;
  });
}
