import { defineConfig } from "vitest/config";
import SummaryReporter from "./summary-reporter.js";

/**
 * Packages of hundreds of modules: Node takes longer to find and open those than to run them, and each test file is a
 * process of its own.
 */
const JOINED_PACKAGES = [
  "jose",
  "typebox",
  "typebox/compile",
  "typebox/format",
  "typebox/value",
  "viem",
  "viem/accounts",
  "viem/utils",
];

/**
 * The default suite: everything but the long runs of test/slow. Forks, because native modules and process-wide state
 * are used.
 */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    exclude: ["test/slow/**", "node_modules/**"],
    globalSetup: [new URL("../test/support/build.ts", import.meta.url).pathname],
    reporters: ["default", new SummaryReporter()],
    pool: "forks",
    deps: { optimizer: { ssr: { enabled: true, include: JOINED_PACKAGES } } },
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // On a machine of others a pause at the wrong moment must not cost a run; what needed a second try is named at the
    // end.
    retry: process.env.CI === "true" ? 1 : 0,
  },
});
