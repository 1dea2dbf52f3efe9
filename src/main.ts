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
import { untriedSentence } from "./platform/runtime-support.js";

/** Time that admitted requests get to finish after SIGTERM; with the rest of the stop it stays under 25 s. */
const GRACE_MS = 20_000;

/**
 * Serves until SIGTERM or SIGINT and resolves to the exit status. A second signal ends the process at once: every
 * answer given is durable.
 * @param parts.providers instead of those of the server's table
 */
export async function runServer(config: Config, parts: Pick<AppDependencies, "providers"> = {}): Promise<number> {
  applyGcFlags();
  const log = createLog(config.log_level);
  const untried = untriedSentence(process.versions);
  if (untried !== undefined) log.warn(untried);
  const app = await createApp(config, { ...parts, log, clock: systemClock });
  const stopped = untilStopped(app, log);
  const listening = await app.start();
  process.stdout.write(greeting(config, listening, app.notes));
  return await stopped;
}

function untilStopped(app: App, log: Log): Promise<number> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    const stop = (signal: string): void => {
      if (stopping) process.exit(0);
      stopping = true;
      log.info("stopping", { signal });
      app.stop({ graceMs: GRACE_MS }).then(() => {
        resolve(0);
      }, reject);
    };
    process.on("SIGTERM", () => {
      stop("SIGTERM");
    });
    process.on("SIGINT", () => {
      stop("SIGINT");
    });
    app.onFatal((reason) => {
      log.error("cannot go on", { state: reason });
      if (stopping) return;
      stopping = true;
      app.stop({ graceMs: 0 }).then(() => {
        resolve(1);
      }, reject);
    });
  });
}

function greeting(config: Config, listening: Awaited<ReturnType<App["start"]>>, notes: readonly string[]): string {
  const lines = listening.map(
    ({ areas, host, port }) =>
      `Proofwright serves ${areas} on ${describeAddress({ host, port, isTls: config.tls_cert !== undefined })}`,
  );
  return `${[...lines, ...notes].join("\n")}\n`;
}
