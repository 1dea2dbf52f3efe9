/** Chooses the HTTP driver when the server starts. */
import type { Log } from "../../log.js";
import { StartError } from "../../start-error.js";
import type { HttpDriver } from "./driver.js";
import { nodeDriver } from "./node.js";
import { UwsUnavailable } from "./uws-library.js";
import { loadUws, UWS_KEEP_ALIVE_SEC } from "./uws.js";

/** `auto` takes uWebSockets.js wherever its binary loads, and Node's own http elsewhere. */
export type HttpChoice = "auto" | "uws" | "node";

export interface ChooseDriverOptions {
  readonly choice: HttpChoice;
  readonly keepAliveSec: number;
}

export interface ChooseDriverDependencies {
  readonly log: Log;
  /** Loads uWebSockets.js, or throws UwsUnavailable. */
  readonly loadUws?: () => HttpDriver;
}

const COST = "it takes about twice the processor time a request";

/**
 * Returns the driver, and says in the log which one it is, why, and what that costs.
 * @throws StartError when uWebSockets.js is asked for and cannot be loaded
 */
export function chooseDriver(
  { choice, keepAliveSec }: ChooseDriverOptions,
  { log, loadUws: load = loadUws }: ChooseDriverDependencies,
): HttpDriver {
  if (choice === "node") {
    log.info(`HTTP is served by Node's own library, as PROOFWRIGHT_HTTP asks; ${COST}`);
    return nodeDriver;
  }
  try {
    const driver = load();
    log.info(
      `HTTP is served by uWebSockets.js; it closes idle connections after ${String(UWS_KEEP_ALIVE_SEC)} s, where PROOFWRIGHT_KEEP_ALIVE_SECONDS is ${String(keepAliveSec)}`,
    );
    return driver;
  } catch (error) {
    if (!(error instanceof UwsUnavailable)) throw error;
    const reason = error.message;
    if (choice === "uws")
      throw new StartError(`PROOFWRIGHT_HTTP=uws: ${reason}; set it to auto or node.`, { cause: error });
    log.warn(`HTTP is served by Node's own library, because ${reason}; ${COST}`);
    return nodeDriver;
  }
}
