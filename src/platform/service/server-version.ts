/** The version of this server, as its package names it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_ROOT } from "../files/package-root.js";

/** Returns the version, such as `0.1.0`; reads a file. */
export function serverVersion(): string {
  return (JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as { version: string }).version;
}
