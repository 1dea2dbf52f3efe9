/** The HTTP driver of the tests that make a server themselves: the one that PROOFWRIGHT_HTTP names, as for a server. */
import type { HttpDriver } from "../../src/platform/http/drivers/driver.js";
import { nodeDriver } from "../../src/platform/http/drivers/node.js";
import { chooseDriver, type HttpChoice } from "../../src/platform/http/drivers/select.js";
import { createLog } from "../../src/platform/log.js";

/** Returns the driver of the environment; `auto` takes the faster one where it loads. */
export function driverOfEnvironment(): HttpDriver {
  const choice = (process.env.PROOFWRIGHT_HTTP ?? "auto") as HttpChoice;
  return chooseDriver({ choice, keepAliveSec: 75 }, { log: createLog("silent") });
}

export const testDriver = driverOfEnvironment();

/** Every driver that runs on this system. */
export const DRIVERS: readonly HttpDriver[] = [
  nodeDriver,
  ...[chooseDriver({ choice: "auto", keepAliveSec: 75 }, { log: createLog("silent") })].filter(
    ({ name }) => name === "uws",
  ),
];
