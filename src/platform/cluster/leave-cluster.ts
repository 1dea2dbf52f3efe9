/**
 * Makes a node's replica the store of a single server. The secrets are written out first, and everything in the store
 * that says "node" goes in one transaction, so that a run that was cut off can be repeated.
 */
import { AppError } from "../errors.js";
import { lockFolder } from "../files/folder-lock.js";
import {
  REPLICA_PLACE_KEY,
  openEnvironment,
  transact,
  writeMeta,
  type Environment,
} from "../store/lmdb/lmdb-environment.js";
import { migrationStore, storedMeta } from "../store/lmdb/lmdb-migrate.js";
import { readRange } from "../store/lmdb/lmdb-reader.js";
import { scrubStoreNow } from "../store/lmdb/lmdb-scrub.js";
import { refuseTorn, settleUnsynced } from "../store/lmdb/unsynced-folder.js";
import { CLUSTER_SECRET_TABLE, openClusterSecret, type SealedSecret } from "./cluster-secrets.js";
import { programSchemaVersion } from "./join-cluster.js";
import { DUTY_TABLE, MEMBER_TABLE } from "./members/member-records.js";
import { Replica } from "./replica.js";

export interface LeaveClusterOptions {
  /** Folder of the replica, whose node is stopped. */
  readonly path: string;
  readonly clusterKey: Uint8Array;
  /** Called with each secret that a single server keeps as a file. */
  readonly keep: (name: string, content: Buffer) => Promise<void>;
}

/**
 * Makes the folder a single server's. Returns where it left the cluster's log.
 * @throws conflict when a server uses the folder, or it is no replica
 * @throws data_corrupt when it is damaged, or another cluster key sealed its secrets
 */
export async function leaveCluster({
  path,
  clusterKey,
  keep,
}: LeaveClusterOptions): Promise<{ readonly cluster: string; readonly g: number }> {
  const lock = lockFolder(path);
  let environment: Environment | undefined;
  try {
    refuseTorn(path);
    // Its commits are synced from here on.
    settleUnsynced(path);
    const opened = openEnvironment(path);
    environment = opened;
    const place = new Replica(opened, undefined).place();
    if (place === undefined)
      throw new AppError("conflict", { message: "the folder is the store of a single server already" });
    if (storedMeta(opened).schema_version !== programSchemaVersion())
      throw new AppError("conflict", {
        message: "another version of the program wrote the replica: start the node with this version once",
      });
    const [damage] = scrubStoreNow(opened).damages;
    if (damage !== undefined)
      throw new AppError("data_corrupt", { message: `the replica is damaged (${damage.reason}): take another node's` });
    for (const { key, value } of readRange<SealedSecret>(opened, [CLUSTER_SECRET_TABLE])) {
      const name = String(key[1]);
      await keep(name, openClusterSecret(clusterKey, name, value));
    }
    transact(opened, () => {
      const meta = storedMeta(opened);
      const store = migrationStore(opened, meta);
      for (const table of [CLUSTER_SECRET_TABLE, MEMBER_TABLE, DUTY_TABLE])
        for (const { key } of store.range([table])) store.delete(key);
      writeMeta(opened, meta);
      void opened.remove(REPLICA_PLACE_KEY);
    });
    return place;
  } finally {
    await environment?.close();
    lock.release();
  }
}
