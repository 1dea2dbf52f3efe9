/** Lets a command change a cluster while its nodes run: as a node of its own, for as long as the command takes. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readClusterKey } from "../../platform/cluster/cluster-key.js";
import { ClusterNodes } from "../../platform/cluster/members/cluster-nodes.js";
import { NO_SETTINGS } from "../../platform/cluster/members/member-settings.js";
import { AUDIT_SECRET, clusterSecret } from "../../platform/cluster/cluster-secrets.js";
import { openNodeStore, type NodeStore } from "../../platform/cluster/cluster-store.js";
import { databaseAddress } from "../../platform/cluster/database-address.js";
import { systemClock } from "../../platform/clock.js";
import type { Config } from "../../platform/config.js";
import type { SecretFile } from "../../platform/files/secret-file.js";
import type { Log } from "../../platform/log.js";
import { StartError } from "../../platform/start-error.js";
import { requireDatabaseUrl } from "./cluster-database.js";

export interface CommandNode {
  readonly store: NodeStore;
  readonly auditKey: Uint8Array;
  /** Returns a secret that the nodes share, by the name that its file has in the data folder of a single server. */
  readonly secretOf: (name: string) => SecretFile;
}

type Cluster = Pick<Config, "database_url" | "cluster_key_file" | "store_max_mb">;

const MIB = 1024 * 1024;

/**
 * Joins with a replica in a temporary folder, which takes as long as copying the state does, runs the work, and leaves.
 * What the work has committed holds on all nodes.
 * @param options.name of the command, as operators see it among the nodes meanwhile
 */
export async function asNode<R>(
  config: Cluster,
  { name, log }: { readonly name: string; readonly log: Log },
  work: (node: CommandNode) => Promise<R>,
): Promise<R> {
  const databaseUrl = requireDatabaseUrl(config);
  const clusterKey = await readClusterKey(config.cluster_key_file);
  const folder = await mkdtemp(join(tmpdir(), "proofwright-command-"));
  try {
    const [node, incarnation] = [randomUUID(), randomUUID()];
    const cluster = { databaseUrl, clusterKey, node, incarnation };
    const store = await openNodeStore({ path: folder, mapBytes: config.store_max_mb * MIB, cluster }, { log });
    try {
      const member = { address: databaseAddress(databaseUrl), node, incarnation, name, settings: NO_SETTINGS };
      const nodes = await ClusterNodes.join({ ...member, role: "worker" }, { store, clock: systemClock, log });
      try {
        const secretOf = (secret: string): SecretFile => clusterSecret(secret, { store, clusterKey });
        const auditKey = await secretOf(AUDIT_SECRET).read();
        if (auditKey === undefined) throw new StartError("the cluster has no key of its audit log; make it anew.");
        return await work({ store, auditKey, secretOf });
      } finally {
        await nodes.stop();
      }
    } finally {
      await store.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
