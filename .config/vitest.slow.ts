import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.js";

const { projects: _default, ...shared } = base.test ?? {};

/**
 * The runs of minutes and hours (test/slow), and those with a browser (test/browser) or a PostgreSQL server
 * (test/cluster): one file at a time, with no time limit worth speaking of. The long ones (test/long) run beside each
 * other, with `--file-parallelism`.
 */
export default mergeConfig(
  { test: shared },
  defineConfig({
    test: {
      include: ["long", "slow", "browser", "cluster"].map((folder) => `test/${folder}/**/*.test.ts`),
      fileParallelism: false,
      testTimeout: 3_600_000,
      hookTimeout: 600_000,
      // A busy machine needs longer than the second that is the default.
      expect: { poll: { timeout: 120_000 } },
    },
  }),
);
