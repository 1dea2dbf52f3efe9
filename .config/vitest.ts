import { defineConfig } from "vitest/config";
import SummaryReporter from "./summary-reporter.js";

/** The default suite: everything but the long runs of test/slow. Forks, because native modules and process-wide state are used. */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    exclude: ["test/slow/**", "node_modules/**"],
    globalSetup: [new URL("../test/support/build.ts", import.meta.url).pathname],
    reporters: ["default", new SummaryReporter()],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // On a machine of others a pause at the wrong moment must not cost a run; what needed a second try is named at the end.
    retry: process.env.CI === "true" ? 1 : 0,
  },
});
