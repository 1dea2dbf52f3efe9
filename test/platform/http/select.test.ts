/** Which HTTP driver a server takes, and what it says about it. */
import { describe, expect, it } from "vitest";
import { nodeDriver } from "../../../src/platform/http/drivers/node.js";
import { chooseDriver, type HttpChoice } from "../../../src/platform/http/drivers/select.js";
import { UwsUnavailable } from "../../../src/platform/http/drivers/uws-library.js";
import { StartError } from "../../../src/platform/start-error.js";
import { recordedLog } from "../../support/silent-log.js";

const uws = { ...nodeDriver, name: "uws" } as const;

function choose(choice: HttpChoice, { loads }: { readonly loads: boolean }): { name: string; lines: string[] } {
  const log = recordedLog();
  const loadUws = (): typeof uws => {
    if (!loads) throw new UwsUnavailable("uWebSockets.js has no binary");
    return uws;
  };
  const { name } = chooseDriver({ choice, keepAliveSec: 75 }, { log, loadUws });
  return { name, lines: log.lines.map(({ level, message }) => `${level}: ${message}`) };
}

describe("the HTTP driver", () => {
  it.each(["auto", "uws"] as const)("is uWebSockets.js where it loads, with %s", (choice) => {
    expect(choose(choice, { loads: true })).toEqual({
      name: "uws",
      lines: [
        "info: HTTP is served by uWebSockets.js; it closes idle connections after 10 s, where PROOFWRIGHT_KEEP_ALIVE_SECONDS is 75",
      ],
    });
  });

  it("is Node's own where uWebSockets.js does not load, and the log says why", () => {
    expect(choose("auto", { loads: false })).toEqual({
      name: "node",
      lines: [
        "warn: HTTP is served by Node's own library, because uWebSockets.js has no binary; it takes about twice the processor time a request",
      ],
    });
  });

  it("is Node's own where that is asked for, without a look at the other", () => {
    const log = recordedLog();
    const loadUws = (): never => {
      throw new Error("looked");
    };
    expect(chooseDriver({ choice: "node", keepAliveSec: 75 }, { log, loadUws }).name).toBe("node");
    expect(log.lines).toHaveLength(1);
  });

  it("stops the start with a sentence where uWebSockets.js is asked for and does not load", () => {
    expect(() => choose("uws", { loads: false })).toThrow(
      new StartError("PROOFWRIGHT_HTTP=uws: uWebSockets.js has no binary; set it to auto or node."),
    );
  });
});
