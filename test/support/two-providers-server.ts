/**
 * A server with the provider `sigma` beside those of the table, as a program of its own (joined by `two-providers.ts`).
 * When SIGMA_STOP_AT names a step of provisioning, that step begins, says so, and never ends.
 */
import { runServer } from "../../src/main.js";
import { loadConfig } from "../../src/platform/config.js";
import { PROVIDERS } from "../../src/prover/providers/table.js";
import { untilAborted } from "./aborted.js";
import { sigmaProvider } from "./sigma-provider.js";

const stopAt = process.env.SIGMA_STOP_AT;
const flags = process.argv.slice(3).map((flag) => /^--([a-z-]+)=(.*)$/.exec(flag) ?? []);
const config = loadConfig({
  flags: Object.fromEntries(flags.map(([, name = "", value = ""]) => [name, value])),
  env: process.env,
});
const second = sigmaProvider({
  onStep: async (step, signal) => {
    if (step !== stopAt || signal === undefined) return;
    process.stdout.write(`stopped at ${step}\n`);
    await untilAborted(signal);
  },
});

process.exit(await runServer(config, { providers: [...PROVIDERS, () => second] }));
