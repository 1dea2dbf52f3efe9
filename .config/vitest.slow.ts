import { defineConfig } from "vitest/config";
import base from "./vitest.js";

/** The long runs: one at a time, no time limit worth speaking of. */
export default defineConfig({
  test: {
    ...base.test,
    include: ["test/slow/**/*.test.ts"],
    exclude: ["node_modules/**"],
    fileParallelism: false,
    testTimeout: 3_600_000,
    hookTimeout: 600_000,
  },
});
