/** `proofwright cluster`: makes a cluster, looks at it, ends its upgrades, and makes a single server of a node. */
import { parseArgs } from "node:util";
import { ConfigError, loadConfig, type Config } from "../../platform/config.js";
import { AppError } from "../../platform/errors.js";
import { StartError } from "../../platform/start-error.js";

const ACTIONS = ["init", "status", "finalize", "leave"] as const;
type Action = (typeof ACTIONS)[number];

/** Runs the command. Returns the exit status. @throws StartError with the reason when it cannot be done */
export async function runClusterCommand(args: readonly string[]): Promise<number> {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      ...{ from: text, "database-url": text, "cluster-key-file": text, "data-dir": text, config: text },
      "artifacts-url": text,
      json: { type: "boolean" },
      "without-files": { type: "boolean" },
    },
    allowPositionals: true,
    strict: true,
  });
  const [action, ...more] = positionals;
  if (!isAction(action) || more.length > 0)
    throw new ConfigError("cluster needs `init`, `status`, `finalize` or `leave`; see `proofwright cluster --help`.");
  const { from, json, "without-files": withoutFiles = false, config: file, ...settings } = values;
  if (from !== undefined && action !== "init") throw new ConfigError("--from goes with `cluster init`.");
  if (json === true && action !== "status") throw new ConfigError("--json goes with `cluster status`.");
  if (withoutFiles && action !== "leave") throw new ConfigError("--without-files goes with `cluster leave`.");
  const config = loadConfig({ flags: settings, env: process.env, file });
  try {
    return await run(action, config, { from, isJson: json === true, withoutFiles });
  } catch (error) {
    if (error instanceof AppError) throw new StartError(`${error.message}.`, { cause: error });
    throw error;
  }
}

function isAction(text: string | undefined): text is Action {
  return ACTIONS.some((action) => action === text);
}

async function run(
  action: Action,
  config: Config,
  flags: { readonly from: string | undefined; readonly isJson: boolean; readonly withoutFiles: boolean },
): Promise<number> {
  switch (action) {
    case "init": {
      const { runClusterInit } = await import("./cluster-init.js");
      return await runClusterInit(config, flags.from);
    }
    case "status": {
      const { runClusterStatus } = await import("./cluster-status.js");
      return await runClusterStatus(config, flags);
    }
    case "finalize": {
      const { runClusterFinalize } = await import("./cluster-finalize.js");
      return await runClusterFinalize(config);
    }
    case "leave": {
      const { runClusterLeave } = await import("./cluster-leave.js");
      return await runClusterLeave(config, flags);
    }
  }
}
