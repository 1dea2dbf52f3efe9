/** The end of the quickstart's server, by a signal where the system has signals. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { stopServer } from "../src/quickstart.js";

const ENDS_WELL = 'process.once("SIGTERM", () => process.exit(0)); console.log("up"); setInterval(() => {}, 1000);';
const IS_KILLED = 'console.log("up"); setInterval(() => {}, 1000);';
const FAILS = ENDS_WELL.replace("exit(0)", "exit(3)");

it.each([
  ["linux", ENDS_WELL, undefined],
  ["linux", IS_KILLED, "stopped with status null"],
  ["linux", FAILS, "stopped with status 3"],
  // As Windows ends every process.
  ["win32", IS_KILLED, undefined],
  ["win32", FAILS, "stopped with status 3"],
] as const)("is waited for on %s", async (platform, program, failure) => {
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const stopped = stopServer(child, platform);
  if (failure === undefined) await stopped;
  else await expect(stopped).rejects.toThrow(failure);
});
