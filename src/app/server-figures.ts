/** What the metrics tell of the areas: read at each scrape, never the id of a record or a subject. */
import { stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Figure, FigureValues } from "../platform/metrics.js";
import { serverVersion } from "../platform/service/server-version.js";
import type { Areas } from "./open-areas.js";
import type { Platform } from "./open-platform.js";
import type { Membership } from "./open-store.js";

const MIB = 1024 * 1024;
const STORE_STATES = ["ready", "full", "failed"] as const;
const SEAL_STATES = ["unconfigured", "sealed", "unsealing", "unsealed", "fault_sealed"] as const;

/** Returns the figures of a server, in the order in which /metrics lists them. */
export function serverFigures(platform: Platform, areas: Pick<Areas, "vault" | "chain">): Figure[] {
  const own = [buildInfo(), ...storeFigures(platform), sealState(areas), ...workFigures(platform, areas)];
  return platform.membership === undefined ? own : [...own, ...clusterFigures(platform.membership)];
}

function buildInfo(): Figure {
  const labels = { version: serverVersion(), node: process.versions.node, arch: `${process.platform}-${process.arch}` };
  return {
    kind: "gauge",
    name: "proofwright_build_info",
    help: "1; the labels say what runs",
    labelNames: Object.keys(labels),
    read: () => [{ labels, value: 1 }],
  };
}

function storeFigures({ store, config, dataDir }: Pick<Platform, "store" | "config" | "dataDir">): Figure[] {
  const file = join(dataDir, "store", "data.mdb");
  return [
    {
      kind: "gauge",
      name: "proofwright_store_state",
      help: "1 for the state that the store is in: ready, full (deletions only) or failed",
      labelNames: ["state"],
      read: () => oneOf(STORE_STATES, store.state),
    },
    {
      kind: "gauge",
      name: "proofwright_store_bytes",
      help: "Length of the store's data file, which never shrinks: freed pages are used again",
      read: async () => (await stat(file)).size,
    },
    {
      kind: "gauge",
      name: "proofwright_store_max_bytes",
      help: "Length up to which the data file may grow",
      read: () => config.store_max_mb * MIB,
    },
    {
      kind: "gauge",
      name: "proofwright_data_free_bytes",
      help: "Free bytes of the file system that holds the data folder",
      read: async () => {
        const { bavail, bsize } = await statfs(dataDir);
        return bavail * bsize;
      },
    },
  ];
}

function clusterFigures(membership: Membership): Figure[] {
  return [
    {
      kind: "gauge",
      name: "proofwright_cluster_nodes",
      help: "Nodes of the cluster that live, as this one knows",
      read: () => membership.status().nodes.length,
    },
    {
      kind: "gauge",
      name: "proofwright_cluster_position",
      help: "Number of the last commit of the cluster that this node has",
      read: () => membership.status().position,
    },
    {
      kind: "gauge",
      name: "proofwright_cluster_unconfirmed_seconds",
      help: "Seconds since this node has had every commit of the cluster",
      read: () => membership.status().unconfirmed_ms / 1000,
    },
    {
      kind: "gauge",
      name: "proofwright_cluster_clock_ahead_seconds",
      help: "How far the database's clock is ahead of this machine's",
      read: () => membership.status().clock_ahead_ms / 1000,
    },
  ];
}

function sealState({ vault }: Pick<Areas, "vault">): Figure {
  return {
    kind: "gauge",
    name: "proofwright_vault_seal_state",
    help: "1 for the state that the vault's seal is in",
    labelNames: ["state"],
    read: () => oneOf(SEAL_STATES, vault.service.state()),
  };
}

function workFigures(
  { events, config }: Pick<Platform, "events" | "config">,
  { chain }: Pick<Areas, "chain">,
): Figure[] {
  return [
    {
      kind: "gauge",
      name: "proofwright_event_streams",
      help: "Open event streams and subscribed WebSockets",
      read: () => events.streams,
    },
    {
      kind: "gauge",
      name: "proofwright_event_streams_max",
      help: "Event streams that may be open",
      read: () => config.event_streams,
    },
    {
      kind: "gauge",
      name: "proofwright_chain_nodes",
      help: "Nodes of the networks that were asked lately, by how they fare",
      labelNames: ["state"],
      read: () => Object.entries(chain.figures().nodes).map(([state, value]) => ({ labels: { state }, value })),
    },
    {
      kind: "gauge",
      name: "proofwright_transactions_open",
      help: "Transactions whose end is not known yet: they wait to be sent, or for their block",
      read: () => chain.figures().openTransactions,
    },
  ];
}

/** A state as Prometheus has it: 1 for the present one, 0 for each other that is known. */
function oneOf(known: readonly string[], present: string): FigureValues {
  const states = new Set([...known, present]);
  return [...states].map((state) => ({ labels: { state }, value: state === present ? 1 : 0 }));
}
