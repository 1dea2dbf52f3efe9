/**
 * The store of a node: reads from its replica in LMDB, commits by the cluster's log in PostgreSQL. Behind the same port
 * as the store of a single server; `confirm` is what strict reads need beside it.
 */
import { AppError } from "../errors.js";
import { workerPath } from "../files/package-root.js";
import { lockFolder } from "../files/folder-lock.js";
import {
  LmdbStore,
  queueOptionsOf,
  type OpenStoreDependencies,
  type OpenStoreOptions,
} from "../store/lmdb/lmdb-store.js";
import {
  emptyMeta,
  openEnvironment,
  readMeta,
  transact,
  writeMeta,
  type Environment,
} from "../store/lmdb/lmdb-environment.js";
import { scrubStoreNow } from "../store/lmdb/lmdb-scrub.js";
import type { ClusterMembership } from "../store/writer-protocol.js";
import { discardUnfinishedJoin, programSchemaVersion } from "./join-cluster.js";

type Timing = "giveUpMs" | "foldMs";

export interface OpenNodeOptions extends Omit<OpenStoreOptions, "migrations"> {
  readonly cluster: Omit<ClusterMembership, Timing> & Partial<Pick<ClusterMembership, Timing>>;
}

/** About the length of a planned failover of a managed database; requests end later by their own deadlines. */
const GIVE_UP_MS = 10_000;
/** A node that joins reads what was written since then from the log. */
const FOLD_MS = 30_000;

/** The store of a node. */
export class NodeStore extends LmdbStore {
  /**
   * Resolves when this node has everything that any node had committed at the call: a read after it is strict.
   * @throws store_unreachable when the database does not answer
   */
  confirm(): Promise<void> {
    return this.queue.confirm();
  }
}

/**
 * Opens the replica of a folder, which joins the cluster when it is empty, and reads the log to its end.
 * @throws conflict when another server uses the folder, or it, the database or the program belongs to something else
 * @throws data_corrupt when the replica is damaged, or differs from the log
 * @throws store_unreachable
 */
export async function openNodeStore(options: OpenNodeOptions, dependencies: OpenStoreDependencies): Promise<NodeStore> {
  const lock = lockFolder(options.path);
  let environment: Environment | undefined;
  try {
    environment = openEnvironment(options.path);
    prepareReplica(environment);
    const cluster = { giveUpMs: GIVE_UP_MS, foldMs: FOLD_MS, ...options.cluster };
    const queue = { ...queueOptionsOf(options), workerPath: workerPath("cluster-writer.worker"), cluster };
    const release = (): void => {
      lock.release();
    };
    const store = new NodeStore(queue, { ...dependencies, environment, release });
    await store.start();
    return store;
  } catch (error) {
    await environment?.close();
    lock.release();
    throw error;
  }
}

/** A replica is never migrated nor repaired alone: it is thrown away and made anew. */
function prepareReplica(environment: Environment): void {
  discardUnfinishedJoin(environment);
  const meta = readMeta(environment);
  if (meta === undefined) {
    transact(environment, () => {
      writeMeta(environment, emptyMeta(programSchemaVersion()));
    });
    return;
  }
  if (meta.schema_version !== programSchemaVersion())
    throw new AppError("conflict", {
      message: "another version of the program wrote this node's replica: start the node with an empty folder",
    });
  const [damage] = scrubStoreNow(environment).damages;
  if (damage !== undefined)
    throw new AppError("data_corrupt", {
      message: `this node's replica is damaged (${damage.reason}): start the node with an empty folder`,
    });
}
