/**
 * The part of the composition root that opens the store: LMDB alone, or as a node of a cluster; with it the other
 * processes that share it, and the secrets of the server, which are files of a single server and records of a cluster.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { openAuditKey } from "../platform/audit/audit-log.js";
import type { Clock } from "../platform/clock.js";
import { readClusterKey } from "../platform/cluster/cluster-key.js";
import { ClusterNodes } from "../platform/cluster/members/cluster-nodes.js";
import { AUDIT_SECRET, clusterSecret } from "../platform/cluster/cluster-secrets.js";
import { openNodeStore, type NodeStore } from "../platform/cluster/cluster-store.js";
import { databaseAddress, type DatabaseAddress } from "../platform/cluster/database-address.js";
import { waitsForStandbys } from "../platform/cluster/replication.js";
import { nodeFreshness, isRecent } from "../platform/cluster/node-freshness.js";
import { openNodeId } from "../platform/cluster/members/node-id.js";
import type { Config } from "../platform/config.js";
import { secretFile, type SecretFile } from "../platform/files/secret-file.js";
import type { Freshness } from "../platform/http/freshness.js";
import { newId } from "../platform/ids.js";
import type { Log } from "../platform/log.js";
import type { NodeRole, Nodes } from "../platform/nodes/nodes.js";
import { soloNodes } from "../platform/nodes/solo-nodes.js";
import type { ClusterStatusJson } from "../platform/service/schemas.js";
import { StartError } from "../platform/start-error.js";
import { openStore, type DurableStore } from "../platform/store/lmdb/lmdb-store.js";
import { sharedSettings } from "./shared-settings.js";

/** What a node of a cluster has and a single server has not. */
export interface Membership {
  /** Name of this node, for operators. */
  readonly name: string;
  readonly freshness: Freshness;
  /** Whether the node stands near enough to the end of the log, and its clock near enough to the database's. */
  isReady(): boolean;
  /** Resolves when this node has everything that any node had committed at the call. @throws store_unreachable */
  readonly confirm: () => Promise<void>;
  /**
   * Ends the process where this node's replica is damaged: the next start copies it anew. To be called when records
   * cannot be trusted. Never rejects.
   */
  leaveIfDamaged(): Promise<void>;
  /** Tells the other nodes from now on what state the vault of this one is in. */
  reportSeal(sealOf: () => string): void;
  /** What the node knows of itself and of the others. */
  status(): ClusterStatusJson;
  /** Leaves the cluster, so that others take over at once; the store is closed after it. Never rejects. */
  leave(): Promise<void>;
}

export interface OpenedStore {
  readonly store: DurableStore;
  readonly auditKey: Uint8Array;
  readonly nodes: Nodes;
  /** The time: that of the machine, or the one that the nodes of a cluster have in common. */
  readonly clock: Clock;
  /** Returns a secret of the server by the name that its file has in the data folder of a single server. */
  readonly secretOf: (name: string) => SecretFile;
  /** Undefined in a single server. */
  readonly membership: Membership | undefined;
}

export interface OpenStoreParts {
  readonly log: Log;
  readonly clock: Clock;
  /** What the node is there for, where it is one of a cluster. */
  readonly role: NodeRole;
  /** Called with the reason when the store can no longer keep its promises. */
  readonly onFatal: (reason: string) => void;
}

const MIB = 1024 * 1024;

/** Opens the store of a data folder, and joins the cluster where one is configured. */
export async function openServerStore(config: Config, dataDir: string, parts: OpenStoreParts): Promise<OpenedStore> {
  return config.database_url === undefined
    ? await openSingle(config, dataDir, parts)
    : await openNode(config, config.database_url, dataDir, parts);
}

async function openSingle(
  config: Config,
  dataDir: string,
  { log, clock, onFatal }: OpenStoreParts,
): Promise<OpenedStore> {
  const path = join(dataDir, "store");
  const auditKey = await openAuditKey(dataDir);
  const store = await openStore(
    { path, mapBytes: config.store_max_mb * MIB, chainKey: auditKey },
    { log, onFatal: ({ message }) => onFatal(message) },
  );
  const secretOf = (name: string): SecretFile => secretFile(join(dataDir, name));
  return { store, auditKey, nodes: soloNodes(), clock, secretOf, membership: undefined };
}

async function openNode(
  config: Config,
  databaseUrl: string,
  dataDir: string,
  { log, clock, role, onFatal }: OpenStoreParts,
): Promise<OpenedStore> {
  if (config.mode === "development")
    throw new StartError(
      "development mode makes its own seal key, and the nodes of a cluster need one that all are given: set SEAL_UNSEAL_VALIDATION_HASH, or another SEAL_UNSEAL_ setting.",
    );
  const clusterKey = await readClusterKey(config.cluster_key_file);
  const node = await openNodeId(dataDir);
  const incarnation = newId();
  const store = await openNodeStore(
    {
      path: join(dataDir, "store"),
      mapBytes: config.store_max_mb * MIB,
      cluster: { databaseUrl, clusterKey, node, incarnation },
    },
    { log, onFatal: ({ message }) => onFatal(message) },
  );
  try {
    const nodes = await ClusterNodes.join(
      {
        address: databaseAddress(databaseUrl),
        node,
        incarnation,
        name: nodeName(config),
        role,
        settings: await sharedSettings(config, role),
      },
      { store, clock, log },
    );
    const secretOf = (name: string): SecretFile => clusterSecret(name, { store, clusterKey });
    const auditKey = await secretOf(AUDIT_SECRET).read();
    if (auditKey === undefined) throw new StartError("the cluster has no key of its audit log; make it anew.");
    if (!config.database_replicated) await warnOfLosses(databaseAddress(databaseUrl), log);
    const membership = membershipOf(config, { store, nodes });
    return { store, auditKey, nodes, clock: nodes.clock, secretOf, membership };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Warns of a database whose failover may lose commits. What cannot be asked now is not warned of. */
async function warnOfLosses(address: DatabaseAddress, log: Log): Promise<void> {
  if (await waitsForStandbys(address).catch(() => true)) return;
  log.warn(
    "the cluster's database waits for no standby (synchronous_standby_names is empty): a failover may lose what was acknowledged; PROOFWRIGHT_DATABASE_REPLICATED=true says that the service replicates by itself",
  );
}

function nodeName(config: Config): string {
  return config.node_name ?? hostname();
}

function membershipOf(
  config: Config,
  { store, nodes }: { readonly store: NodeStore; readonly nodes: ClusterNodes },
): Membership {
  return {
    name: nodeName(config),
    leaveIfDamaged: () => store.leaveIfDamaged(),
    freshness: nodeFreshness({ reads: config.reads }, { store }),
    isReady: () => isRecent(store) && nodes.isClockRight,
    confirm: () => store.confirm(),
    reportSeal: (sealOf) => {
      nodes.reportSeal(sealOf);
    },
    status: () => ({
      position: store.position,
      unconfirmed_ms: store.unconfirmedMs,
      clock_ahead_ms: Math.round(nodes.clockAheadMs),
      nodes: nodes.members().map(({ name, role, node, build, duties, seal, g, silentSec }) => ({
        ...{ name, role, node, version: build, duties: [...duties], seal, position: g },
        silent_seconds: Math.round(10 * silentSec) / 10,
      })),
    }),
    leave: () => nodes.stop(),
  };
}
