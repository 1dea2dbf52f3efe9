/** The HTTP driver of the tests that make a server themselves: the one that PROOFWRIGHT_HTTP names, as for a server. */
import type { HttpDriver } from "../../src/platform/http/drivers/driver.js";
import { chooseDriver, type HttpChoice } from "../../src/platform/http/drivers/select.js";
import { createLog } from "../../src/platform/log.js";

/** Returns the driver of the environment; `auto` takes the faster one where it loads. */
export function driverOfEnvironment(): HttpDriver {
  const choice = (process.env.PROOFWRIGHT_HTTP ?? "auto") as HttpChoice;
  return chooseDriver({ choice, keepAliveSec: 75 }, { log: createLog("silent") });
}

export const testDriver = driverOfEnvironment();
