/**
 * The server's process: starts the application, says where it serves, and drains it when the process is told to stop.
 */
import { createApp, type App } from "./app/app.js";
import type { AppDependencies } from "./app/open-platform.js";
import { describeAddress } from "./platform/net/describe-address.js";
import { systemClock } from "./platform/clock.js";
import { applyGcFlags } from "./platform/concurrency/gc-flags.js";
import type { Config } from "./platform/config.js";
import { createLog, type Log } from "./platform/log.js";
import { StartError } from "./platform/start-error.js";
import { stopSignals, untriedSentence } from "./platform/runtime-support.js";

/**
 * Serves until SIGTERM or SIGINT, on Windows one of its console's, and resolves to the exit status. A second signal
 * ends the process at once: every answer given is durable.
 * @param parts.providers instead of those of the server's table
 */
export async function runServer(config: Config, parts: Pick<AppDependencies, "providers"> = {}): Promise<number> {
  return await run(config, parts);
}

async function run(config: Config, parts: Omit<AppDependencies, "log" | "clock">): Promise<number> {
  applyGcFlags();
  const log = createLog(config.log_level);
  const untried = untriedSentence(process.versions);
  if (untried !== undefined) log.warn(untried);
  const app = await createApp(config, { ...parts, log, clock: systemClock });
  const stopped = untilStopped(app, {
    log,
    delayMs: 1000 * config.shutdown_delay,
    graceMs: 1000 * config.shutdown_grace,
  });
  const listening = await app.start();
  const waits = `Proofwright computes for the cluster (${config.labels.replace(",", ", ")}), and takes no requests.`;
  process.stdout.write(greeting(listening, parts.role === "worker" ? [waits, ...app.notes] : app.notes));
  return await stopped;
}

/**
 * Computes for a cluster, without requests, until SIGTERM or SIGINT, and resolves to the exit status.
 * @throws StartError when the settings are none of a worker's
 */
export async function runWorker(config: Config): Promise<number> {
  if (config.database_url === undefined)
    throw new StartError(
      "a worker is a node of a cluster: set PROOFWRIGHT_DATABASE_URL, or start a single server with `proofwright server`.",
    );
  if (config.seal_unseal_provider === undefined && config.seal_unseal_key === undefined)
    throw new StartError(
      "a worker has no address at which it could be unsealed: set SEAL_UNSEAL_PROVIDER, so that it unseals itself.",
    );
  if (config.labels === "none") throw new StartError("PROOFWRIGHT_LABELS leaves this worker nothing to do.");
  return await run(config, { role: "worker" });
}

interface StopOptions {
  readonly log: Log;
  /** How long the server goes on after it said that it is not ready. */
  readonly delayMs: number;
  readonly graceMs: number;
}

function untilStopped(app: App, { log, delayMs, graceMs }: StopOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    const stop = (signal: string): void => {
      if (stopping) process.exit(0);
      stopping = true;
      log.info("stopping", { signal });
      app.stop({ delayMs, graceMs }).then(() => {
        resolve(0);
      }, reject);
    };
    for (const signal of stopSignals(process.platform))
      process.on(signal, () => {
        stop(signal);
      });
    app.onFatal((reason) => {
      log.error("cannot go on", { state: reason });
      if (stopping) return;
      stopping = true;
      app.stop({ delayMs: 0, graceMs: 0 }).then(() => {
        resolve(1);
      }, reject);
    });
  });
}

function greeting(listening: Awaited<ReturnType<App["start"]>>, notes: readonly string[]): string {
  const lines = listening.map(({ areas, ...address }) => `Proofwright serves ${areas} on ${describeAddress(address)}`);
  return `${[...lines, ...notes].join("\n")}\n`;
}
