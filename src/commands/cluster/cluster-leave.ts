/** `proofwright cluster leave`: makes the data folder of a stopped node the store of a single server. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readClusterKey } from "../../platform/cluster/cluster-key.js";
import { leaveCluster } from "../../platform/cluster/leave-cluster.js";
import type { Config } from "../../platform/config.js";
import { replacePrivateFile } from "../../platform/files/private-file.js";
import { StartError } from "../../platform/start-error.js";
import { fetchFiles } from "./fetch-files.js";

/**
 * Makes the folder a single server's: its files first, its keys, the store last. Returns exit status 0.
 * @param options.withoutFiles leaves out what only the cluster's storage has, which is lost to the folder then
 */
export async function runClusterLeave(
  config: Config,
  { withoutFiles }: { readonly withoutFiles: boolean },
): Promise<number> {
  const dataDir = resolve(config.data_dir);
  if (!existsSync(join(dataDir, "store"))) throw new StartError(`there is no store in ${dataDir}.`);
  const clusterKey = await readClusterKey(config.cluster_key_file);
  if (!withoutFiles) await fetchFiles(config, dataDir);
  const { cluster, g } = await leaveCluster({
    path: join(dataDir, "store"),
    clusterKey,
    // A server that was started here without the cluster may have left keys before it was refused.
    keep: async (name, content) => {
      await replacePrivateFile(join(dataDir, name), content);
    },
  });
  process.stdout.write(
    `${dataDir} is the store of a single server now, as the cluster ${cluster} was at commit ${String(g)}.
Start it without PROOFWRIGHT_DATABASE_URL. What other nodes committed afterwards is not in it.
`,
  );
  return 0;
}
