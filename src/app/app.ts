/**
 * Composition root: with the other files of this room, the only code that wires areas, platform, pools and the HTTP
 * front together. Decides nothing but the order of start and stop.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../platform/config.js";
import { REQUEST_HASH_KEY_FILE } from "../platform/files/data-folder.js";
import { chooseDriver } from "../platform/http/drivers/select.js";
import { createMetricsServer } from "../platform/http/metrics-server.js";
import type { LaneFigures } from "../platform/pool/lane.js";
import { startTracing, type Tracing } from "../platform/tracing/open-telemetry.js";
import { serverVersion } from "../platform/service/server-version.js";
import { Metrics } from "../platform/metrics.js";
import { PROOF_JOB_KIND } from "../prover/proof-jobs/proof-jobs.js";
import { openAreas, serverKey, type Areas } from "./open-areas.js";
import { openPlatform, type AppDependencies, type Platform } from "./open-platform.js";
import { createServers, readinessOf, type AppParts } from "./servers.js";
import { ProverOutcomes } from "./prover-outcomes.js";
import { serverFigures } from "./server-figures.js";
import { startNotes } from "./start-notes.js";

export interface Listening {
  /** What is served there, in words. */
  readonly areas: string;
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

export interface App {
  /** Listens and starts the background work. */
  start(): Promise<readonly Listening[]>;
  /**
   * Answers "not ready" and serves on for `delayMs`, then drains and closes everything; safe to call once.
   * @param options.graceMs time that admitted requests get to finish
   */
  stop(options: { readonly delayMs: number; readonly graceMs: number }): Promise<void>;
  /**
   * Called when the server can no longer keep its promises, such as after a failed sync: end the process and start
   * anew.
   */
  onFatal(listener: (reason: string) => void): void;
  /** What the operator should know at start, one sentence a line. */
  readonly notes: readonly string[];
}

/** Opens the data folder and builds the application. Rejects with a sentence when the folder cannot be used. */
export async function createApp(config: Config, dependencies: AppDependencies): Promise<App> {
  const driver = chooseDriver({ choice: config.http, keepAliveSec: config.keep_alive_seconds }, dependencies);
  const tracing = await openTracing(config, dependencies);
  const fatalListeners: ((reason: string) => void)[] = [];
  const onFatal = (reason: string): void => {
    for (const listener of fatalListeners) listener(reason);
  };
  const platform = await openPlatform(config, dependencies, onFatal);
  const areas = await openAreas(platform);
  platform.membership?.reportSeal(() => areas.vault.service.state());
  const lanes = (): Readonly<Record<string, LaneFigures>> => lanesOf(areas, platform);
  const parts: AppParts = {
    ...platform,
    ...areas,
    driver,
    ...(tracing === undefined ? {} : { tracing }),
    lanes,
    onFatal,
    leaving: leavingMark(),
    metrics: new Metrics({
      lanes,
      figures: serverFigures(platform, areas),
      disagreements: () => areas.provers.crossChecks.disagreements,
      wideDiscards: () => areas.kernelForm.discards,
      verifierDisagreements: () => areas.provers.verifierDisagreements(),
    }),
    requestHashKey: await serverKey(platform, REQUEST_HASH_KEY_FILE),
  };
  return {
    notes: startNotes(parts),
    onFatal: (listener) => {
      fatalListeners.push(listener);
    },
    ...runnable(parts),
  };
}

/** Starts traces where they are asked for, before anything that they could show. */
async function openTracing(config: Config, { log }: AppDependencies): Promise<Tracing | undefined> {
  const { traces_url: url, traces_share: share } = config;
  return url === undefined ? undefined : await startTracing({ url, share, serviceVersion: serverVersion() }, { log });
}

function leavingMark(): AppParts["leaving"] {
  let begun = false;
  return {
    get isBegun() {
      return begun;
    },
    begin: () => {
      begun = true;
    },
  };
}

/**
 * Everything that waits in turns of the owners, by the name of its lane. Proofs that wait as jobs have a lane of their
 * own: `prove` is that of the threads, which they enter when their turn has come.
 */
function lanesOf({ pools, vault }: Areas, { jobs }: Platform): Readonly<Record<string, LaneFigures>> {
  const { prompt, bulk } = vault.figures();
  const { [PROOF_JOB_KIND]: proofJobs, ...otherJobs } = jobs.figures();
  return {
    ...pools.figures(),
    ...{ "vault-prompt": prompt, "vault-bulk": bulk },
    ...otherJobs,
    ...(proofJobs === undefined ? {} : { "prove-jobs": proofJobs }),
  };
}

function proverOutcomes({ events, provers, metrics }: AppParts): ProverOutcomes {
  return new ProverOutcomes({
    events: events.log,
    createdAt: (owner, id) => provers.service.get(owner, id).created_at,
    onEnded: (ended, { owner, id }) => {
      metrics.proverEnded(ended);
      if (ended.outcome === "provisioned" && owner !== undefined) provers.warming.add(owner, id);
    },
  });
}

/**
 * Has one node send the messages of webhooks, this one or when its turn comes. Resolves when it has begun, or is
 * another node's.
 * @throws what it throws at the start; later the server ends with it
 */
async function startWebhooks({ nodes, log, webhooks, leaving, onFatal }: AppParts): Promise<void> {
  let isStarting = true;
  let begun: Promise<void> | undefined;
  const begin = (): void => {
    // The duty can come to a node that is about to leave, which gives it free then.
    if (leaving.isBegun) return;
    begun = webhooks.start();
    if (isStarting) return;
    begun.catch((error: unknown) => {
      log.error("the webhooks of the cluster could not be begun here", { error });
      onFatal("the webhooks of the cluster could not be begun");
    });
  };
  nodes.take("webhooks", begin, async () => {
    await begun?.catch(() => undefined);
    await webhooks.stop();
  });
  isStarting = false;
  await begun;
}

/** Begins what a server does beside its requests and jobs. */
async function startUpkeep({ provers, identityParts }: AppParts): Promise<void> {
  await provers.removeOrphans();
  provers.orphans.start();
  await provers.imports.start();
  await provers.ceremonies.start();
  await provers.proofJobs.sweep.start();
  identityParts.keys.startWatching();
  identityParts.idTokenKeys.startWatching();
}

/** Starts the threads that prove, and opens keys that were in use. Never rejects. */
async function warm({ pools, provers }: AppParts): Promise<void> {
  await pools.warm();
  await provers.warming.start();
}

/** Ends what `startUpkeep` and `warm` have begun. */
function stopUpkeep({ provers, identityParts }: AppParts): void {
  provers.warming.stop();
  provers.orphans.stop();
  provers.powersFolders.stop();
  provers.imports.stop();
  provers.ceremonies.stop();
  provers.proofJobs.sweep.stop();
  identityParts.keys.stopWatching();
  identityParts.idTokenKeys.stopWatching();
}

function runnable(parts: AppParts): Pick<App, "start" | "stop"> {
  const { config, log, metrics, driver, identityParts, pools } = parts;
  const isWorker = parts.role === "worker";
  const servers = isWorker ? [] : createServers(parts);
  const isTls = config.tls_cert !== undefined;
  const metricsServer =
    config.metrics_port === undefined
      ? undefined
      : createMetricsServer(
          { host: config.metrics_host, port: config.metrics_port },
          { metrics, log, driver, readiness: () => readinessOf(parts) },
        );
  const outcomes = proverOutcomes(parts);
  return {
    start: async () => {
      parts.events.start();
      outcomes.start();
      const listening = await Promise.all(
        servers.map(async ({ areas, host, server }) => ({ areas, host, port: (await server.listen()).port, isTls })),
      );
      const metricsAt = await metricsServer?.listen();
      if (!isWorker) await startUpkeep(parts);
      await parts.provers.powersFolders.start();
      await parts.jobs.start();
      if (!isWorker) {
        parts.chain.start();
        await startWebhooks(parts);
      }
      if (parts.provers.hasProvers()) void warm(parts);
      return metricsAt === undefined
        ? listening
        : [...listening, { areas: "metrics", host: config.metrics_host, port: metricsAt.port, isTls: false }];
    },
    stop: async ({ delayMs, graceMs }) => {
      parts.leaving.begin();
      for (const { server } of servers) server.leave();
      if (delayMs > 0) await delay(delayMs);
      await Promise.all(servers.map(async ({ server }) => await server.stop({ graceMs })));
      metricsServer?.stop();
      stopUpkeep(parts);
      await identityParts.identity.services.outbox.stop();
      await parts.webhooks.stop();
      await parts.jobs.stop();
      await parts.chain.stop();
      await pools.stop();
      await parts.vault.stop();
      parts.audit.refusals.flush();
      outcomes.stop();
      await parts.events.stop();
      await parts.artifacts.close();
      await parts.membership?.leave();
      await parts.store.close();
      await parts.tracing?.stop();
    },
  };
}
