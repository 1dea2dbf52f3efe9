import { defineConfig, mergeConfig } from "vitest/config";
import { testFiles } from "./test-kinds.js";
import base from "./vitest.js";

const { projects: _default, ...shared } = base.test ?? {};
/** What tests the front by itself. The tests of `drivers` and `raw-requests` have both drivers in them. */
const FRONT = /^test\/platform\/(http\/(?!driver|raw-requests)|events\/streams)/;

/** The tests of the front once more, on Node's own http in place of uWebSockets.js. */
export default mergeConfig(
  { test: shared },
  defineConfig({
    test: {
      include: testFiles().integration.filter((file) => FRONT.test(file)),
      env: { PROOFWRIGHT_HTTP: "node" },
    },
  }),
);
