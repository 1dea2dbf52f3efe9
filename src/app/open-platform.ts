/** The part of the composition root that opens what all areas share: store, audit log, events, artifacts and jobs. */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createAudit, type Audit } from "../platform/audit/create-audit.js";
import type { Clock } from "../platform/clock.js";
import { openSharedFiles } from "../platform/cluster/files/open-shared-files.js";
import { Signal } from "../platform/concurrency/signal.js";
import type { Config } from "../platform/config.js";
import { EventBus } from "../platform/events/event-bus.js";
import { refuseUnfinishedRestore } from "../platform/files/data-folder.js";
import { Jobs } from "../platform/jobs/jobs.js";
import type { Log } from "../platform/log.js";
import type { NodeRole } from "../platform/nodes/nodes.js";
import { openArtifacts, type Artifacts } from "../platform/store/artifacts.js";
import type { SharedFiles } from "../platform/store/shared-files.js";
import type { ProviderFactory } from "../prover/providers/provider.js";
import { nodeWork, type NodeWork } from "./node-labels.js";
import { openServerStore, type OpenedStore } from "./open-store.js";

export interface AppDependencies {
  readonly log: Log;
  readonly clock: Clock;
  /** What the process is there for: a server unless given. */
  readonly role?: NodeRole;
  /** The providers of provers; those of the server's table unless given. */
  readonly providers?: readonly ProviderFactory[];
}

export interface Platform extends AppDependencies, Omit<OpenedStore, "auditKey"> {
  readonly config: Config;
  /** Absolute path. */
  readonly dataDir: string;
  readonly audit: Audit;
  /** The audit log cannot be written any more. */
  readonly auditUnwritable: Signal;
  readonly events: EventBus;
  readonly artifacts: Artifacts;
  readonly jobs: Jobs;
  readonly work: NodeWork;
}

/**
 * Opens the data folder. Rejects with a sentence when it cannot be used.
 * @param onFatal called with the reason when the store can no longer keep its promises
 */
export async function openPlatform(
  config: Config,
  { log, clock: machineClock, providers, role = "server" }: AppDependencies,
  onFatal: (reason: string) => void,
): Promise<Platform> {
  const dataDir = resolve(config.data_dir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  refuseUnfinishedRestore(dataDir);
  const opened = await openServerStore(config, dataDir, { log, clock: machineClock, role, onFatal });
  const { store, nodes, clock, auditKey: key } = opened;
  const auditUnwritable = new Signal();
  const audit = await createAudit(
    { key, node: opened.membership?.name },
    { store, clock, log, onUnwritable: () => void auditUnwritable.emit() },
  );
  const events = new EventBus(
    {
      eventsMax: config.events_max,
      daysMax: config.events_days,
      streamsMax: config.event_streams,
      streamsPerSubjectMax: config.event_streams_per_subject,
      streamsPerTokenMax: config.event_streams_per_token,
    },
    { store, clock, log, nodes, ...(opened.membership === undefined ? {} : { confirm: opened.membership.confirm }) },
  );
  const artifacts = await openArtifacts(join(dataDir, "artifacts"), await openFiles(config));
  await artifacts.removeTemporaries();
  const work = nodeWork(config, role);
  const jobs = new Jobs({ takes: work.takes }, { store: audit.vaultStore, clock, log, nodes });
  const { secretOf, membership } = opened;
  const shared = { store, nodes, secretOf, membership };
  const parts = { config, dataDir, log, clock, role, ...shared, audit, auditUnwritable, events, artifacts, jobs, work };
  return providers === undefined ? parts : { ...parts, providers };
}

/** The storage of files that the nodes of a cluster share; undefined in a single server. */
async function openFiles({ database_url, artifacts_url }: Config): Promise<SharedFiles | undefined> {
  return database_url === undefined ? undefined : await openSharedFiles({ database_url, artifacts_url });
}
