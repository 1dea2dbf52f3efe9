/**
 * The store of a node: reads from its replica in LMDB, commits by the cluster's log in PostgreSQL. Behind the same port
 * as the store of a single server; `confirm` is what strict reads need beside it.
 */
import { AppError } from "../errors.js";
import { newId } from "../ids.js";
import { workerPath } from "../files/package-root.js";
import { lockFolder } from "../files/folder-lock.js";
import type { Log } from "../log.js";
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
import { discardTorn, isTorn, markUnsynced, mayGoUnsynced, settleUnsynced } from "../store/lmdb/unsynced-folder.js";
import { decodeKey } from "../store/keys.js";
import type { RangeOptions, StoreKey, StoreRecord, StoreValue } from "../store/store.js";
import type { ClusterMembership } from "../store/writer-protocol.js";
import { databaseAddress } from "./database-address.js";
import { distrust, distrustedBecause, setAside } from "./distrusted-replica.js";
import { discardUnfinishedJoin, programSchemaVersion } from "./join-cluster.js";
import { whenReachable } from "./reach-database.js";
import { ReplicaSpent } from "./replica.js";

type WithDefaults = "giveUpMs" | "foldMs" | "incarnation";

export interface OpenNodeOptions extends Omit<OpenStoreOptions, "migrations"> {
  readonly cluster: Omit<ClusterMembership, WithDefaults> & Partial<Pick<ClusterMembership, WithDefaults>>;
  /** For how long the start waits for a database that is away, in milliseconds. 60 s unless given. */
  readonly waitMs?: number;
}

/** About the length of a planned failover of a managed database; requests end later by their own deadlines. */
const GIVE_UP_MS = 10_000;
/** A node that joins reads what was written since then from the log. */
const FOLD_MS = 30_000;

/** A strict read that has waited for so long is refused: the database does not answer. */
const CONFIRM_MS_MAX = 5_000;

/** The store of a node. */
export class NodeStore extends LmdbStore {
  readonly #watchers = new Map<string, Set<(keys: readonly StoreKey[]) => void | Promise<void>>>();
  /** What listeners still do about changes that can be read: a strict read waits for it. */
  readonly #following = new Set<Promise<void>>();
  /** Those that ask in one turn of the event loop are answered by one look at the log. */
  #confirming: Promise<void> | undefined;
  readonly #path: string;
  #checking: Promise<void> | undefined;

  constructor(...[options, dependencies]: ConstructorParameters<typeof LmdbStore>) {
    super(options, dependencies);
    this.#path = options.path;
  }

  /** See Store. */
  override get<T = StoreValue>(key: StoreKey): StoreRecord<T> | undefined {
    return this.#noticing(() => super.get<T>(key));
  }

  /** See Store. */
  override range<T = StoreValue>(prefix: StoreKey, options?: RangeOptions): StoreRecord<T>[] {
    return this.#noticing(() => super.range<T>(prefix, options));
  }

  /**
   * Ends this node's service where its replica is damaged: the next start copies the state anew. To be called when
   * something could not be read that should be sound. Never rejects.
   */
  async leaveIfDamaged(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  /**
   * Resolves when this node has everything that any node had committed at the call: a read after it is strict.
   * @throws store_unreachable when the database does not answer
   */
  confirm(): Promise<void> {
    this.#confirming ??= this.#confirmOnce();
    return this.#confirming;
  }

  /** Number of the last row of the cluster's log that can be read here. */
  get position(): number {
    return this.queue.place?.g ?? 0;
  }

  /** A number that grows with the commits of other nodes that can be read here. */
  get foreignGroups(): number {
    return this.queue.foreignGroups;
  }

  /** How long ago this node has last asked whether it has the whole log, and has had it afterwards, in milliseconds. */
  get unconfirmedMs(): number {
    return Number(process.hrtime.bigint() / 1_000_000n) - (this.queue.place?.confirmedAtMs ?? 0);
  }

  /**
   * Calls the listener after changes of a table by other nodes can be read, with the keys that were put or deleted.
   * Strict reads wait for the promise that it returns, which must not wait for one. Returns a function that ends it.
   */
  onChange(table: string, listener: (keys: readonly StoreKey[]) => void | Promise<void>): () => void {
    const listeners = this.#watchers.get(table) ?? new Set();
    if (listeners.size === 0) this.queue.watch(table);
    this.#watchers.set(table, listeners.add(listener));
    return () => {
      listeners.delete(listener);
    };
  }

  /** See Store. Nobody is told of changes any more, since they could not be read. */
  override close(): Promise<void> {
    this.#watchers.clear();
    return super.close();
  }

  protected override changedElsewhere(keys: readonly Uint8Array[]): void {
    const byTable = new Map<string, StoreKey[]>();
    for (const bytes of keys) {
      const key = decodeKey(bytes);
      const table = String(key[0]);
      byTable.set(table, [...(byTable.get(table) ?? []), key]);
    }
    for (const [table, changed] of byTable)
      for (const listener of this.#watchers.get(table) ?? []) this.#follow(listener(changed));
  }

  #follow(work: void | Promise<void>): void {
    if (work === undefined) return;
    const following = work.finally(() => this.#following.delete(following));
    this.#following.add(following);
  }

  #noticing<R>(read: () => R): R {
    try {
      return read();
    } catch (error) {
      if (error instanceof AppError && error.code === "data_corrupt") void this.leaveIfDamaged();
      throw error;
    }
  }

  async #check(): Promise<void> {
    // Ends without a report when the store is closed meanwhile.
    const report = await this.integrityReport().catch(() => undefined);
    const [damage] = report?.damages ?? [];
    if (damage === undefined) return;
    const spent = new ReplicaSpent(`it is damaged (${damage.reason})`);
    distrust(this.#path, spent.reason);
    this.fatal(spent);
  }

  async #confirmOnce(): Promise<void> {
    // The log is asked after the turn, so that it is asked after the last of those that wait for the answer.
    await new Promise((resolve) => setImmediate(resolve));
    this.#confirming = undefined;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const message = "the cluster's database does not say what was committed; try again later";
        reject(new AppError("store_unreachable", { message, retryAfterSec: 5 }));
      }, CONFIRM_MS_MAX);
    });
    try {
      const confirmed = this.queue.confirm().then(async () => {
        await Promise.all(this.#following);
      });
      await Promise.race([confirmed, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Opens the replica of a folder, which joins the cluster when it is empty, and reads the log to its end. Waits for a
 * database that is away.
 * @throws invalid_request when the database's URL is none
 * @throws conflict when another server uses the folder, or it, the database or the program belongs to something else
 * @throws data_corrupt when the replica has what the log has not; a damaged one is copied anew
 * @throws store_unreachable when the database stays away
 */
export async function openNodeStore(options: OpenNodeOptions, dependencies: OpenStoreDependencies): Promise<NodeStore> {
  // Before anything is touched: on the writer's thread it would look like the end of that thread.
  databaseAddress(options.cluster.databaseUrl);
  const lock = lockFolder(options.path);
  const release = (): void => {
    try {
      settleUnsynced(options.path);
    } finally {
      lock.release();
    }
  };
  try {
    try {
      return await startStore(options, { ...dependencies, release });
    } catch (error) {
      // What the start itself has found to be unusable is copied anew at once.
      if (distrustedBecause(options.path) === undefined) throw error;
      return await startStore(options, { ...dependencies, release });
    }
  } catch (error) {
    release();
    throw error;
  }
}

async function startStore(
  options: OpenNodeOptions,
  dependencies: OpenStoreDependencies & { readonly release: () => void },
): Promise<NodeStore> {
  const environment = openReplica(options.path, dependencies.log);
  try {
    prepareReplica(environment, options.path);
    const cluster = { giveUpMs: GIVE_UP_MS, foldMs: FOLD_MS, incarnation: newId(), ...options.cluster };
    const queue = { ...queueOptionsOf(options), workerPath: workerPath("cluster-writer.worker"), cluster };
    const parts = { ...dependencies, environment };
    return await whenReachable(
      async () => {
        // A store that did not start has ended its thread, and is not closed: the environment serves the next one.
        const store = new NodeStore(queue, parts);
        await store.start();
        return store;
      },
      { log: dependencies.log, ...(options.waitMs === undefined ? {} : { waitMs: options.waitMs }) },
    );
  } catch (error) {
    await environment.close();
    throw error;
  }
}

/** Opens the data file of a replica, or an empty one where that one cannot be used any more. */
function openReplica(path: string, log: Log): Environment {
  const reason = distrustedBecause(path);
  if (reason !== undefined) {
    const aside = setAside(path);
    log.warn(`this node's replica is copied anew: ${reason}; it was set aside, and may be deleted`, { path: aside });
  }
  if (isTorn(path)) {
    log.warn("the machine ended while this node's replica was not on its disk as a whole: it is copied anew");
    discardTorn(path);
  }
  const isUnsynced = mayGoUnsynced();
  if (isUnsynced) markUnsynced(path);
  return openEnvironment(path, { isUnsynced });
}

/** A replica is never migrated nor repaired alone: a damaged one is set aside and made anew. */
function prepareReplica(environment: Environment, path: string): void {
  try {
    requireUsable(environment);
  } catch (error) {
    if (error instanceof AppError && error.code === "data_corrupt")
      distrust(path, error instanceof ReplicaSpent ? error.reason : error.message);
    throw error;
  }
}

function requireUsable(environment: Environment): void {
  discardUnfinishedJoin(environment);
  const meta = readMeta(environment);
  if (meta === undefined) {
    transact(environment, () => {
      writeMeta(environment, emptyMeta(programSchemaVersion()));
    });
    return;
  }
  // An older one is brought along by the log's own rows, once the cluster is migrated.
  if (meta.schema_version > programSchemaVersion())
    throw new AppError("conflict", {
      message: "a newer program wrote this node's replica: upgrade this node, or start it with an empty folder",
    });
  const [damage] = scrubStoreNow(environment).damages;
  if (damage !== undefined) throw new ReplicaSpent(`it is damaged (${damage.reason})`);
}
