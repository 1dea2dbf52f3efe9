import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import SummaryReporter from "./summary-reporter.js";
import { testFiles } from "./test-kinds.js";

/** Packages of hundreds of modules: Node takes longer to find and open those than to run them. */
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

const { unit, integration } = testFiles();

/**
 * The default suite: everything but the long runs of test/long and test/slow. Forks, because native modules and
 * process-wide state are used. Files share the processes, one after the other, so that modules are read and compiled once
 * for each; a file therefore leaves nothing behind: no server, no changed global, no environment variable.
 */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    globalSetup: ["build", "run-folder"].map((name) => new URL(`../test/support/${name}.ts`, import.meta.url).pathname),
    reporters: ["default", new SummaryReporter()],
    pool: "forks",
    deps: { optimizer: { ssr: { enabled: true, include: JOINED_PACKAGES } } },
    // One more than cores, because some tests wait for a deadline or a disk.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // A busy machine may be many times slower than a quiet one: these end what hangs, and judge nothing.
    expect: { poll: { timeout: 120_000 } },
    projects: [
      { extends: true, test: { name: "unit", include: unit, isolate: false } },
      { extends: true, test: { name: "integration", include: integration, isolate: false } },
    ],
  },
});
